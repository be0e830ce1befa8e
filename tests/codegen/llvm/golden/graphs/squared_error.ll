define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = getelementptr ptr, ptr %buffers, i64 2
  %t6 = load ptr, ptr %t5, align 8
  %t7 = alloca float, align 64
  %t8 = alloca <8 x float>, align 64
  %t9 = alloca <8 x float>, align 64
  %t10 = alloca <8 x float>, align 64
  %t11 = alloca <8 x float>, align 64
  store float 0x0000000000000000, ptr %t7, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t8, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t9, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t10, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t11, align 64
  %t12 = load <8 x float>, ptr %t2, align 4
  %t13 = getelementptr float, ptr %t2, i64 8
  %t14 = load <8 x float>, ptr %t13, align 4
  %t15 = getelementptr float, ptr %t2, i64 16
  %t16 = load <8 x float>, ptr %t15, align 4
  %t17 = getelementptr float, ptr %t2, i64 24
  %t18 = load <8 x float>, ptr %t17, align 4
  %t19 = load <8 x float>, ptr %t4, align 4
  %t20 = getelementptr float, ptr %t4, i64 8
  %t21 = load <8 x float>, ptr %t20, align 4
  %t22 = getelementptr float, ptr %t4, i64 16
  %t23 = load <8 x float>, ptr %t22, align 4
  %t24 = getelementptr float, ptr %t4, i64 24
  %t25 = load <8 x float>, ptr %t24, align 4
  %t26 = fsub <8 x float> %t12, %t19
  %t27 = fsub <8 x float> %t14, %t21
  %t28 = fsub <8 x float> %t16, %t23
  %t29 = fsub <8 x float> %t18, %t25
  %t30 = fmul <8 x float> %t26, %t26
  %t31 = fmul <8 x float> %t27, %t27
  %t32 = fmul <8 x float> %t28, %t28
  %t33 = fmul <8 x float> %t29, %t29
  %t34 = load <8 x float>, ptr %t8, align 64
  %t35 = fadd <8 x float> %t34, %t30
  store <8 x float> %t35, ptr %t8, align 64
  %t36 = load <8 x float>, ptr %t9, align 64
  %t37 = fadd <8 x float> %t36, %t31
  store <8 x float> %t37, ptr %t9, align 64
  %t38 = load <8 x float>, ptr %t10, align 64
  %t39 = fadd <8 x float> %t38, %t32
  store <8 x float> %t39, ptr %t10, align 64
  %t40 = load <8 x float>, ptr %t11, align 64
  %t41 = fadd <8 x float> %t40, %t33
  store <8 x float> %t41, ptr %t11, align 64
  %t42 = getelementptr float, ptr %t2, i64 32
  %t43 = load <8 x float>, ptr %t42, align 4
  %t44 = getelementptr float, ptr %t4, i64 32
  %t45 = load <8 x float>, ptr %t44, align 4
  %t46 = fsub <8 x float> %t43, %t45
  %t47 = fmul <8 x float> %t46, %t46
  %t48 = load <8 x float>, ptr %t8, align 64
  %t49 = fadd <8 x float> %t48, %t47
  store <8 x float> %t49, ptr %t8, align 64
  %t50 = load <8 x float>, ptr %t8, align 64
  %t51 = load <8 x float>, ptr %t9, align 64
  %t52 = fadd <8 x float> %t50, %t51
  %t53 = load <8 x float>, ptr %t10, align 64
  %t54 = fadd <8 x float> %t52, %t53
  %t55 = load <8 x float>, ptr %t11, align 64
  %t56 = fadd <8 x float> %t54, %t55
  %t57 = shufflevector <8 x float> %t56, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t58 = shufflevector <8 x float> %t56, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t59 = fadd <4 x float> %t57, %t58
  %t60 = shufflevector <4 x float> %t59, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t61 = shufflevector <4 x float> %t59, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t62 = fadd <2 x float> %t60, %t61
  %t63 = extractelement <2 x float> %t62, i64 0
  %t64 = extractelement <2 x float> %t62, i64 1
  %t65 = fadd float %t63, %t64
  %t66 = load float, ptr %t7, align 64
  %t67 = fadd float %t65, %t66
  %t68 = fdiv float %t67, 0x4044000000000000
  store float %t68, ptr %t6, align 4
  ret i32 0
}
