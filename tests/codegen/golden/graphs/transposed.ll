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
  %t12 = phi i64 [ %begin, %do8 ], [ %t54, %after14 ]
  %t17 = mul nsw i64 %t12, 8
  %t18 = getelementptr float, ptr %t2, i64 %t17
  %t21 = mul nsw i64 %t12, 256
  %t22 = getelementptr float, ptr %t4, i64 %t21
  %t50 = getelementptr float, ptr %t6, i64 %t17
  br label %loop13
loop13:
  %t15 = phi i64 [ 0, %loop10 ], [ %t52, %loop13 ]
  %t16 = mul nsw i64 %t15, 24
  %t19 = getelementptr float, ptr %t18, i64 %t16
  %t20 = load <8 x float>, ptr %t19, align 4
  %t23 = getelementptr float, ptr %t22, i64 %t15
  %t25 = getelementptr float, ptr %t23, i64 0
  %t26 = load float, ptr %t25, align 4
  %t27 = insertelement <8 x float> poison, float %t26, i64 0
  %t28 = getelementptr float, ptr %t23, i64 32
  %t29 = load float, ptr %t28, align 4
  %t30 = insertelement <8 x float> %t27, float %t29, i64 1
  %t31 = getelementptr float, ptr %t23, i64 64
  %t32 = load float, ptr %t31, align 4
  %t33 = insertelement <8 x float> %t30, float %t32, i64 2
  %t34 = getelementptr float, ptr %t23, i64 96
  %t35 = load float, ptr %t34, align 4
  %t36 = insertelement <8 x float> %t33, float %t35, i64 3
  %t37 = getelementptr float, ptr %t23, i64 128
  %t38 = load float, ptr %t37, align 4
  %t39 = insertelement <8 x float> %t36, float %t38, i64 4
  %t40 = getelementptr float, ptr %t23, i64 160
  %t41 = load float, ptr %t40, align 4
  %t42 = insertelement <8 x float> %t39, float %t41, i64 5
  %t43 = getelementptr float, ptr %t23, i64 192
  %t44 = load float, ptr %t43, align 4
  %t45 = insertelement <8 x float> %t42, float %t44, i64 6
  %t46 = getelementptr float, ptr %t23, i64 224
  %t47 = load float, ptr %t46, align 4
  %t48 = insertelement <8 x float> %t45, float %t47, i64 7
  %t49 = fadd <8 x float> %t20, %t48
  %t51 = getelementptr float, ptr %t50, i64 %t16
  store <8 x float> %t49, ptr %t51, align 4
  %t52 = add nuw nsw i64 %t15, 1
  %t53 = icmp slt i64 %t52, 32
  br i1 %t53, label %loop13, label %after14
after14:
  %t54 = add nuw nsw i64 %t12, 1
  %t55 = icmp slt i64 %t54, %end
  br i1 %t55, label %loop10, label %after11
after11:
  br label %done9
done9:
  ret i32 0
}
