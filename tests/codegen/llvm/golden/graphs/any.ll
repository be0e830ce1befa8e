define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = alloca i1, align 64
  %t6 = alloca <8 x i1>, align 64
  %t7 = alloca <8 x i1>, align 64
  %t8 = alloca <8 x i1>, align 64
  %t9 = alloca <8 x i1>, align 64
  store i1 false, ptr %t5, align 64
  store <8 x i1> splat (i1 false), ptr %t6, align 64
  store <8 x i1> splat (i1 false), ptr %t7, align 64
  store <8 x i1> splat (i1 false), ptr %t8, align 64
  store <8 x i1> splat (i1 false), ptr %t9, align 64
  %t10 = load <8 x float>, ptr %t2, align 4
  %t11 = getelementptr float, ptr %t2, i64 8
  %t12 = load <8 x float>, ptr %t11, align 4
  %t13 = getelementptr float, ptr %t2, i64 16
  %t14 = load <8 x float>, ptr %t13, align 4
  %t15 = getelementptr float, ptr %t2, i64 24
  %t16 = load <8 x float>, ptr %t15, align 4
  %t17 = fcmp ogt <8 x float> %t10, splat (float 0x4000000000000000)
  %t18 = fcmp ogt <8 x float> %t12, splat (float 0x4000000000000000)
  %t19 = fcmp ogt <8 x float> %t14, splat (float 0x4000000000000000)
  %t20 = fcmp ogt <8 x float> %t16, splat (float 0x4000000000000000)
  %t21 = load <8 x i1>, ptr %t6, align 64
  %t22 = or <8 x i1> %t21, %t17
  store <8 x i1> %t22, ptr %t6, align 64
  %t23 = load <8 x i1>, ptr %t7, align 64
  %t24 = or <8 x i1> %t23, %t18
  store <8 x i1> %t24, ptr %t7, align 64
  %t25 = load <8 x i1>, ptr %t8, align 64
  %t26 = or <8 x i1> %t25, %t19
  store <8 x i1> %t26, ptr %t8, align 64
  %t27 = load <8 x i1>, ptr %t9, align 64
  %t28 = or <8 x i1> %t27, %t20
  store <8 x i1> %t28, ptr %t9, align 64
  %t29 = getelementptr float, ptr %t2, i64 32
  %t30 = load <8 x float>, ptr %t29, align 4
  %t31 = fcmp ogt <8 x float> %t30, splat (float 0x4000000000000000)
  %t32 = load <8 x i1>, ptr %t6, align 64
  %t33 = or <8 x i1> %t32, %t31
  store <8 x i1> %t33, ptr %t6, align 64
  %t34 = load <8 x i1>, ptr %t6, align 64
  %t35 = load <8 x i1>, ptr %t7, align 64
  %t36 = or <8 x i1> %t34, %t35
  %t37 = load <8 x i1>, ptr %t8, align 64
  %t38 = or <8 x i1> %t36, %t37
  %t39 = load <8 x i1>, ptr %t9, align 64
  %t40 = or <8 x i1> %t38, %t39
  %t41 = shufflevector <8 x i1> %t40, <8 x i1> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t42 = shufflevector <8 x i1> %t40, <8 x i1> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t43 = or <4 x i1> %t41, %t42
  %t44 = shufflevector <4 x i1> %t43, <4 x i1> poison, <2 x i32> <i32 0, i32 1>
  %t45 = shufflevector <4 x i1> %t43, <4 x i1> poison, <2 x i32> <i32 2, i32 3>
  %t46 = or <2 x i1> %t44, %t45
  %t47 = extractelement <2 x i1> %t46, i64 0
  %t48 = extractelement <2 x i1> %t46, i64 1
  %t49 = or i1 %t47, %t48
  %t50 = load i1, ptr %t5, align 64
  %t51 = or i1 %t49, %t50
  %t52 = zext i1 %t51 to i8
  store i8 %t52, ptr %t4, align 1
  ret i32 0
}
