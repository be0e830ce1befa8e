define i32 @kernel(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = alloca float, align 64
  %t6 = alloca <8 x float>, align 64
  %t7 = alloca <8 x float>, align 64
  store float 0xFFF0000000000000, ptr %t5, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t6, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t7, align 64
  br label %loop8
loop8:
  %t10 = phi i64 [ 0, %entry ], [ %t25, %loop8 ]
  %t11 = getelementptr float, ptr %t2, i64 %t10
  %t12 = load <8 x float>, ptr %t11, align 4
  %t13 = getelementptr float, ptr %t11, i64 8
  %t14 = load <8 x float>, ptr %t13, align 4
  %t15 = load <8 x float>, ptr %t6, align 64
  %t16 = fcmp ogt <8 x float> %t12, %t15
  %t17 = select <8 x i1> %t16, <8 x float> %t12, <8 x float> %t15
  %t18 = fcmp uno <8 x float> %t12, %t12
  %t19 = select <8 x i1> %t18, <8 x float> %t12, <8 x float> %t17
  store <8 x float> %t19, ptr %t6, align 64
  %t20 = load <8 x float>, ptr %t7, align 64
  %t21 = fcmp ogt <8 x float> %t14, %t20
  %t22 = select <8 x i1> %t21, <8 x float> %t14, <8 x float> %t20
  %t23 = fcmp uno <8 x float> %t14, %t14
  %t24 = select <8 x i1> %t23, <8 x float> %t14, <8 x float> %t22
  store <8 x float> %t24, ptr %t7, align 64
  %t25 = add nuw nsw i64 %t10, 16
  %t26 = icmp slt i64 %t25, 32
  br i1 %t26, label %loop8, label %after9
after9:
  %t27 = getelementptr float, ptr %t2, i64 32
  %t28 = load <8 x float>, ptr %t27, align 4
  %t29 = load <8 x float>, ptr %t6, align 64
  %t30 = fcmp ogt <8 x float> %t28, %t29
  %t31 = select <8 x i1> %t30, <8 x float> %t28, <8 x float> %t29
  %t32 = fcmp uno <8 x float> %t28, %t28
  %t33 = select <8 x i1> %t32, <8 x float> %t28, <8 x float> %t31
  store <8 x float> %t33, ptr %t6, align 64
  %t34 = load <8 x float>, ptr %t6, align 64
  %t35 = load <8 x float>, ptr %t7, align 64
  %t36 = fcmp ogt <8 x float> %t35, %t34
  %t37 = select <8 x i1> %t36, <8 x float> %t35, <8 x float> %t34
  %t38 = fcmp uno <8 x float> %t35, %t35
  %t39 = select <8 x i1> %t38, <8 x float> %t35, <8 x float> %t37
  %t40 = shufflevector <8 x float> %t39, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t41 = shufflevector <8 x float> %t39, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t42 = fcmp ogt <4 x float> %t41, %t40
  %t43 = select <4 x i1> %t42, <4 x float> %t41, <4 x float> %t40
  %t44 = fcmp uno <4 x float> %t41, %t41
  %t45 = select <4 x i1> %t44, <4 x float> %t41, <4 x float> %t43
  %t46 = shufflevector <4 x float> %t45, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t47 = shufflevector <4 x float> %t45, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t48 = fcmp ogt <2 x float> %t47, %t46
  %t49 = select <2 x i1> %t48, <2 x float> %t47, <2 x float> %t46
  %t50 = fcmp uno <2 x float> %t47, %t47
  %t51 = select <2 x i1> %t50, <2 x float> %t47, <2 x float> %t49
  %t52 = extractelement <2 x float> %t51, i64 0
  %t53 = extractelement <2 x float> %t51, i64 1
  %t54 = fcmp ogt float %t53, %t52
  %t55 = select i1 %t54, float %t53, float %t52
  %t56 = fcmp uno float %t53, %t53
  %t57 = select i1 %t56, float %t53, float %t55
  %t58 = load float, ptr %t5, align 64
  %t59 = fcmp ogt float %t58, %t57
  %t60 = select i1 %t59, float %t58, float %t57
  %t61 = fcmp uno float %t58, %t58
  %t62 = select i1 %t61, float %t58, float %t60
  store float %t62, ptr %t4, align 4
  ret i32 0
}
