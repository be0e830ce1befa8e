define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = getelementptr ptr, ptr %buffers, i64 2
  %t6 = load ptr, ptr %t5, align 8
  %t21 = mul <8 x i64> splat (i64 32), <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  br label %loop7
loop7:
  %t9 = phi i64 [ 0, %entry ], [ %t51, %after11 ]
  %t14 = mul nsw i64 %t9, 8
  %t15 = getelementptr float, ptr %t2, i64 %t14
  %t18 = mul nsw i64 %t9, 256
  %t19 = getelementptr float, ptr %t4, i64 %t18
  %t47 = getelementptr float, ptr %t6, i64 %t14
  br label %loop10
loop10:
  %t12 = phi i64 [ 0, %loop7 ], [ %t49, %loop10 ]
  %t13 = mul nsw i64 %t12, 24
  %t16 = getelementptr float, ptr %t15, i64 %t13
  %t17 = load <8 x float>, ptr %t16, align 4
  %t20 = getelementptr float, ptr %t19, i64 %t12
  %t22 = getelementptr float, ptr %t20, i64 0
  %t23 = load float, ptr %t22, align 4
  %t24 = insertelement <8 x float> poison, float %t23, i64 0
  %t25 = getelementptr float, ptr %t20, i64 32
  %t26 = load float, ptr %t25, align 4
  %t27 = insertelement <8 x float> %t24, float %t26, i64 1
  %t28 = getelementptr float, ptr %t20, i64 64
  %t29 = load float, ptr %t28, align 4
  %t30 = insertelement <8 x float> %t27, float %t29, i64 2
  %t31 = getelementptr float, ptr %t20, i64 96
  %t32 = load float, ptr %t31, align 4
  %t33 = insertelement <8 x float> %t30, float %t32, i64 3
  %t34 = getelementptr float, ptr %t20, i64 128
  %t35 = load float, ptr %t34, align 4
  %t36 = insertelement <8 x float> %t33, float %t35, i64 4
  %t37 = getelementptr float, ptr %t20, i64 160
  %t38 = load float, ptr %t37, align 4
  %t39 = insertelement <8 x float> %t36, float %t38, i64 5
  %t40 = getelementptr float, ptr %t20, i64 192
  %t41 = load float, ptr %t40, align 4
  %t42 = insertelement <8 x float> %t39, float %t41, i64 6
  %t43 = getelementptr float, ptr %t20, i64 224
  %t44 = load float, ptr %t43, align 4
  %t45 = insertelement <8 x float> %t42, float %t44, i64 7
  %t46 = fadd <8 x float> %t17, %t45
  %t48 = getelementptr float, ptr %t47, i64 %t13
  store <8 x float> %t46, ptr %t48, align 4
  %t49 = add nuw nsw i64 %t12, 1
  %t50 = icmp slt i64 %t49, 32
  br i1 %t50, label %loop10, label %after11
after11:
  %t51 = add nuw nsw i64 %t9, 1
  %t52 = icmp slt i64 %t51, 3
  br i1 %t52, label %loop7, label %after8
after8:
  ret i32 0
}
