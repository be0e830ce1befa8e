declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, <8 x i1>, <8 x float>)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = getelementptr ptr, ptr %buffers, i64 2
  %t6 = load ptr, ptr %t5, align 8
  %t7 = icmp slt i64 %begin, %end
  br i1 %t7, label %do8, label %done9
do8:
  %t24 = mul <8 x i64> splat (i64 32), <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  br label %loop10
loop10:
  %t12 = phi i64 [ %begin, %do8 ], [ %t32, %after14 ]
  %t17 = mul nsw i64 %t12, 8
  %t18 = getelementptr float, ptr %t2, i64 %t17
  %t21 = mul nsw i64 %t12, 256
  %t22 = getelementptr float, ptr %t4, i64 %t21
  %t28 = getelementptr float, ptr %t6, i64 %t17
  br label %loop13
loop13:
  %t15 = phi i64 [ 0, %loop10 ], [ %t30, %loop13 ]
  %t16 = mul nsw i64 %t15, 24
  %t19 = getelementptr float, ptr %t18, i64 %t16
  %t20 = load <8 x float>, ptr %t19, align 4
  %t23 = getelementptr float, ptr %t22, i64 %t15
  %t25 = getelementptr float, ptr %t23, <8 x i64> %t24
  %t26 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> align 4 %t25, <8 x i1> splat (i1 true), <8 x float> splat (float 0x0000000000000000))
  %t27 = fadd <8 x float> %t20, %t26
  %t29 = getelementptr float, ptr %t28, i64 %t16
  store <8 x float> %t27, ptr %t29, align 4
  %t30 = add nuw nsw i64 %t15, 1
  %t31 = icmp slt i64 %t30, 32
  br i1 %t31, label %loop13, label %after14
after14:
  %t32 = add nuw nsw i64 %t12, 1
  %t33 = icmp slt i64 %t32, %end
  br i1 %t33, label %loop10, label %after11
after11:
  br label %done9
done9:
  ret i32 0
}
