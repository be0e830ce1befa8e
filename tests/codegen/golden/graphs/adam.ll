declare float @llvm.fabs.f32(float)
declare <8 x float> @llvm.fabs.v8f32(<8 x float>)
declare <8 x float> @llvm.sqrt.v8f32(<8 x float>)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = getelementptr ptr, ptr %buffers, i64 2
  %t6 = load ptr, ptr %t5, align 8
  %t7 = call float @llvm.fabs.f32(float 0x3FB99999A0000000)
  %t8 = fcmp olt float %t7, 0x3FE0000000000000
  %t9 = fsub float 0x3FF0000000000000, 0x3FB99999A0000000
  %t31 = insertelement <8 x float> poison, float %t9, i64 0
  %t32 = shufflevector <8 x float> %t31, <8 x float> poison, <8 x i32> zeroinitializer
  %t37 = insertelement <8 x i1> poison, i1 %t8, i64 0
  %t38 = shufflevector <8 x i1> %t37, <8 x i1> poison, <8 x i32> zeroinitializer
  br label %loop10
loop10:
  %t12 = phi i64 [ 0, %entry ], [ %t53, %loop10 ]
  %t13 = getelementptr float, ptr %t2, i64 %t12
  %t14 = load <8 x float>, ptr %t13, align 4
  %t15 = getelementptr float, ptr %t13, i64 8
  %t16 = load <8 x float>, ptr %t15, align 4
  %t17 = getelementptr float, ptr %t4, i64 %t12
  %t18 = load <8 x float>, ptr %t17, align 4
  %t19 = getelementptr float, ptr %t17, i64 8
  %t20 = load <8 x float>, ptr %t19, align 4
  %t21 = getelementptr float, ptr %t6, i64 %t12
  %t22 = load <8 x float>, ptr %t21, align 4
  %t23 = getelementptr float, ptr %t21, i64 8
  %t24 = load <8 x float>, ptr %t23, align 4
  %t25 = fsub <8 x float> %t22, %t18
  %t26 = fsub <8 x float> %t24, %t20
  %t27 = fmul <8 x float> splat (float 0x3FB99999A0000000), %t25
  %t28 = fmul <8 x float> splat (float 0x3FB99999A0000000), %t26
  %t29 = fadd <8 x float> %t18, %t27
  %t30 = fadd <8 x float> %t20, %t28
  %t33 = fmul <8 x float> %t25, %t32
  %t34 = fmul <8 x float> %t26, %t32
  %t35 = fsub <8 x float> %t22, %t33
  %t36 = fsub <8 x float> %t24, %t34
  %t39 = select <8 x i1> %t38, <8 x float> %t29, <8 x float> %t35
  %t40 = select <8 x i1> %t38, <8 x float> %t30, <8 x float> %t36
  %t41 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %t22)
  %t42 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %t24)
  %t43 = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %t41)
  %t44 = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %t42)
  %t45 = fadd <8 x float> %t43, splat (float 0x3E45798EE0000000)
  %t46 = fadd <8 x float> %t44, splat (float 0x3E45798EE0000000)
  %t47 = fdiv <8 x float> %t39, %t45
  %t48 = fdiv <8 x float> %t40, %t46
  %t49 = fmul <8 x float> %t47, splat (float 0x3F847AE140000000)
  %t50 = fmul <8 x float> %t48, splat (float 0x3F847AE140000000)
  %t51 = fsub <8 x float> %t14, %t49
  %t52 = fsub <8 x float> %t16, %t50
  store <8 x float> %t51, ptr %t13, align 4
  store <8 x float> %t52, ptr %t15, align 4
  %t53 = add nuw nsw i64 %t12, 16
  %t54 = icmp slt i64 %t53, 32
  br i1 %t54, label %loop10, label %after11
after11:
  %t55 = getelementptr float, ptr %t2, i64 32
  %t56 = load <8 x float>, ptr %t55, align 4
  %t57 = getelementptr float, ptr %t4, i64 32
  %t58 = load <8 x float>, ptr %t57, align 4
  %t59 = getelementptr float, ptr %t6, i64 32
  %t60 = load <8 x float>, ptr %t59, align 4
  %t61 = fsub <8 x float> %t60, %t58
  %t62 = fmul <8 x float> splat (float 0x3FB99999A0000000), %t61
  %t63 = fadd <8 x float> %t58, %t62
  %t64 = fmul <8 x float> %t61, %t32
  %t65 = fsub <8 x float> %t60, %t64
  %t66 = select <8 x i1> %t38, <8 x float> %t63, <8 x float> %t65
  %t67 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %t60)
  %t68 = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %t67)
  %t69 = fadd <8 x float> %t68, splat (float 0x3E45798EE0000000)
  %t70 = fdiv <8 x float> %t66, %t69
  %t71 = fmul <8 x float> %t70, splat (float 0x3F847AE140000000)
  %t72 = fsub <8 x float> %t56, %t71
  store <8 x float> %t72, ptr %t55, align 4
  ret i32 0
}
