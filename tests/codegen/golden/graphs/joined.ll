define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = icmp slt i64 %begin, %end
  br i1 %t5, label %do6, label %done7
do6:
  br label %loop8
loop8:
  %t10 = phi i64 [ %begin, %do6 ], [ %t17, %loop8 ]
  %t11 = mul nsw i64 %t10, 8
  %t12 = getelementptr float, ptr %t2, i64 %t11
  %t13 = load <8 x float>, ptr %t12, align 4
  %t14 = fadd <8 x float> %t13, splat (float 0x3FF0000000000000)
  %t15 = mul nsw i64 %t10, 11
  %t16 = getelementptr float, ptr %t4, i64 %t15
  store <8 x float> %t14, ptr %t16, align 4
  %t17 = add nuw nsw i64 %t10, 1
  %t18 = icmp slt i64 %t17, %end
  br i1 %t18, label %loop8, label %after9
after9:
  br label %done7
done7:
  ret i32 0
}

declare <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr>, <4 x i1>, <4 x float>)
declare void @llvm.masked.scatter.v4f32.v4p0(<4 x float>, <4 x ptr>, <4 x i1>)
define i32 @k1(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = icmp slt i64 %begin, %end
  br i1 %t5, label %do6, label %done7
do6:
  %t12 = mul <4 x i64> splat (i64 3), <i64 0, i64 1, i64 2, i64 3>
  %t17 = mul <4 x i64> splat (i64 11), <i64 0, i64 1, i64 2, i64 3>
  br label %loop8
loop8:
  %t10 = phi i64 [ %begin, %do6 ], [ %t19, %loop8 ]
  %t11 = getelementptr float, ptr %t2, i64 %t10
  %t13 = getelementptr float, ptr %t11, <4 x i64> %t12
  %t14 = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> align 4 %t13, <4 x i1> splat (i1 true), <4 x float> splat (float 0x0000000000000000))
  %t15 = getelementptr float, ptr %t4, i64 %t10
  %t16 = getelementptr float, ptr %t15, i64 8
  %t18 = getelementptr float, ptr %t16, <4 x i64> %t17
  call void @llvm.masked.scatter.v4f32.v4p0(<4 x float> %t14, <4 x ptr> align 4 %t18, <4 x i1> splat (i1 true))
  %t19 = add nuw nsw i64 %t10, 1
  %t20 = icmp slt i64 %t19, %end
  br i1 %t20, label %loop8, label %after9
after9:
  br label %done7
done7:
  ret i32 0
}
