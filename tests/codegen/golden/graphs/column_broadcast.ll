declare i64 @llvm.smin.i64(i64, i64)
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
  br label %loop10
loop10:
  %t12 = phi i64 [ %begin, %do8 ], [ %t34, %after16 ]
  %t13 = getelementptr float, ptr %t4, i64 %t12
  %t14 = load float, ptr %t13, align 4
  %t19 = mul nsw i64 %t12, 24
  %t20 = getelementptr float, ptr %t2, i64 %t19
  %t25 = insertelement <8 x float> poison, float %t14, i64 0
  %t26 = shufflevector <8 x float> %t25, <8 x float> poison, <8 x i32> zeroinitializer
  %t29 = getelementptr float, ptr %t6, i64 %t19
  br label %loop15
loop15:
  %t17 = phi i64 [ 0, %loop10 ], [ %t32, %loop15 ]
  %t18 = call i64 @llvm.smin.i64(i64 %t17, i64 8)
  %t21 = getelementptr float, ptr %t20, i64 %t18
  %t22 = load <8 x float>, ptr %t21, align 4
  %t23 = getelementptr float, ptr %t21, i64 8
  %t24 = load <8 x float>, ptr %t23, align 4
  %t27 = fmul <8 x float> %t22, %t26
  %t28 = fmul <8 x float> %t24, %t26
  %t30 = getelementptr float, ptr %t29, i64 %t18
  store <8 x float> %t27, ptr %t30, align 4
  %t31 = getelementptr float, ptr %t30, i64 8
  store <8 x float> %t28, ptr %t31, align 4
  %t32 = add nuw nsw i64 %t17, 16
  %t33 = icmp slt i64 %t32, 24
  br i1 %t33, label %loop15, label %after16
after16:
  %t34 = add nuw nsw i64 %t12, 1
  %t35 = icmp slt i64 %t34, %end
  br i1 %t35, label %loop10, label %after11
after11:
  br label %done9
done9:
  ret i32 0
}
