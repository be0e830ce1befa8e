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
  %t27 = mul <4 x i64> splat (i64 11), <i64 0, i64 1, i64 2, i64 3>
  br label %loop8
loop8:
  %t10 = phi i64 [ %begin, %do6 ], [ %t29, %loop8 ]
  %t11 = getelementptr float, ptr %t2, i64 %t10
  %t13 = getelementptr float, ptr %t11, i64 0
  %t14 = load float, ptr %t13, align 4
  %t15 = insertelement <4 x float> poison, float %t14, i64 0
  %t16 = getelementptr float, ptr %t11, i64 3
  %t17 = load float, ptr %t16, align 4
  %t18 = insertelement <4 x float> %t15, float %t17, i64 1
  %t19 = getelementptr float, ptr %t11, i64 6
  %t20 = load float, ptr %t19, align 4
  %t21 = insertelement <4 x float> %t18, float %t20, i64 2
  %t22 = getelementptr float, ptr %t11, i64 9
  %t23 = load float, ptr %t22, align 4
  %t24 = insertelement <4 x float> %t21, float %t23, i64 3
  %t25 = getelementptr float, ptr %t4, i64 %t10
  %t26 = getelementptr float, ptr %t25, i64 8
  %t28 = getelementptr float, ptr %t26, <4 x i64> %t27
  call void @llvm.masked.scatter.v4f32.v4p0(<4 x float> %t24, <4 x ptr> align 4 %t28, <4 x i1> splat (i1 true))
  %t29 = add nuw nsw i64 %t10, 1
  %t30 = icmp slt i64 %t29, %end
  br i1 %t30, label %loop8, label %after9
after9:
  br label %done7
done7:
  ret i32 0
}
