declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = alloca float, align 64
  %t6 = alloca <8 x float>, align 64
  %t7 = alloca <8 x float>, align 64
  %t8 = alloca <8 x float>, align 64
  %t9 = alloca <8 x float>, align 64
  store float 0x0000000000000000, ptr %t5, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t6, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t7, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t8, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t9, align 64
  br label %loop10
loop10:
  %t12 = phi i64 [ 0, %entry ], [ %t29, %loop10 ]
  %t13 = getelementptr float, ptr %t2, i64 %t12
  %t14 = load <8 x float>, ptr %t13, align 4
  %t15 = getelementptr float, ptr %t13, i64 8
  %t16 = load <8 x float>, ptr %t15, align 4
  %t17 = getelementptr float, ptr %t13, i64 16
  %t18 = load <8 x float>, ptr %t17, align 4
  %t19 = getelementptr float, ptr %t13, i64 24
  %t20 = load <8 x float>, ptr %t19, align 4
  %t21 = load <8 x float>, ptr %t6, align 64
  %t22 = fadd <8 x float> %t21, %t14
  store <8 x float> %t22, ptr %t6, align 64
  %t23 = load <8 x float>, ptr %t7, align 64
  %t24 = fadd <8 x float> %t23, %t16
  store <8 x float> %t24, ptr %t7, align 64
  %t25 = load <8 x float>, ptr %t8, align 64
  %t26 = fadd <8 x float> %t25, %t18
  store <8 x float> %t26, ptr %t8, align 64
  %t27 = load <8 x float>, ptr %t9, align 64
  %t28 = fadd <8 x float> %t27, %t20
  store <8 x float> %t28, ptr %t9, align 64
  %t29 = add nuw nsw i64 %t12, 32
  %t30 = icmp slt i64 %t29, 96
  br i1 %t30, label %loop10, label %after11
after11:
  %t31 = getelementptr float, ptr %t2, i64 96
  %t32 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %t31, <8 x i1> <i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false>, <8 x float> splat (float 0x0000000000000000))
  %t33 = load <8 x float>, ptr %t6, align 64
  %t34 = select <8 x i1> <i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false>, <8 x float> %t32, <8 x float> splat (float 0x0000000000000000)
  %t35 = fadd <8 x float> %t33, %t34
  store <8 x float> %t35, ptr %t6, align 64
  %t36 = load <8 x float>, ptr %t6, align 64
  %t37 = load <8 x float>, ptr %t7, align 64
  %t38 = fadd <8 x float> %t36, %t37
  %t39 = load <8 x float>, ptr %t8, align 64
  %t40 = fadd <8 x float> %t38, %t39
  %t41 = load <8 x float>, ptr %t9, align 64
  %t42 = fadd <8 x float> %t40, %t41
  %t43 = shufflevector <8 x float> %t42, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t44 = shufflevector <8 x float> %t42, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t45 = fadd <4 x float> %t43, %t44
  %t46 = shufflevector <4 x float> %t45, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t47 = shufflevector <4 x float> %t45, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t48 = fadd <2 x float> %t46, %t47
  %t49 = extractelement <2 x float> %t48, i64 0
  %t50 = extractelement <2 x float> %t48, i64 1
  %t51 = fadd float %t49, %t50
  %t52 = load float, ptr %t5, align 64
  %t53 = fadd float %t51, %t52
  store float %t53, ptr %t4, align 4
  ret i32 0
}
