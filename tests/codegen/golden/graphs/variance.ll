define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t11 = alloca float, align 64
  %t12 = alloca <8 x float>, align 64
  %t13 = alloca <8 x float>, align 64
  %t14 = alloca <8 x float>, align 64
  %t15 = alloca <8 x float>, align 64
  %t56 = alloca float, align 64
  %t57 = alloca <8 x float>, align 64
  %t58 = alloca <8 x float>, align 64
  %t59 = alloca <8 x float>, align 64
  %t60 = alloca <8 x float>, align 64
  %t5 = icmp slt i64 %begin, %end
  br i1 %t5, label %do6, label %done7
do6:
  br label %loop8
loop8:
  %t10 = phi i64 [ %begin, %do6 ], [ %t108, %loop8 ]
  store float 0x0000000000000000, ptr %t11, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t12, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t13, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t14, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t15, align 64
  %t16 = mul nsw i64 %t10, 40
  %t17 = getelementptr float, ptr %t2, i64 %t16
  %t18 = load <8 x float>, ptr %t17, align 4
  %t19 = getelementptr float, ptr %t17, i64 8
  %t20 = load <8 x float>, ptr %t19, align 4
  %t21 = getelementptr float, ptr %t17, i64 16
  %t22 = load <8 x float>, ptr %t21, align 4
  %t23 = getelementptr float, ptr %t17, i64 24
  %t24 = load <8 x float>, ptr %t23, align 4
  %t25 = load <8 x float>, ptr %t12, align 64
  %t26 = fadd <8 x float> %t25, %t18
  store <8 x float> %t26, ptr %t12, align 64
  %t27 = load <8 x float>, ptr %t13, align 64
  %t28 = fadd <8 x float> %t27, %t20
  store <8 x float> %t28, ptr %t13, align 64
  %t29 = load <8 x float>, ptr %t14, align 64
  %t30 = fadd <8 x float> %t29, %t22
  store <8 x float> %t30, ptr %t14, align 64
  %t31 = load <8 x float>, ptr %t15, align 64
  %t32 = fadd <8 x float> %t31, %t24
  store <8 x float> %t32, ptr %t15, align 64
  %t33 = getelementptr float, ptr %t17, i64 32
  %t34 = load <8 x float>, ptr %t33, align 4
  %t35 = load <8 x float>, ptr %t12, align 64
  %t36 = fadd <8 x float> %t35, %t34
  store <8 x float> %t36, ptr %t12, align 64
  %t37 = load <8 x float>, ptr %t12, align 64
  %t38 = load <8 x float>, ptr %t13, align 64
  %t39 = fadd <8 x float> %t37, %t38
  %t40 = load <8 x float>, ptr %t14, align 64
  %t41 = fadd <8 x float> %t39, %t40
  %t42 = load <8 x float>, ptr %t15, align 64
  %t43 = fadd <8 x float> %t41, %t42
  %t44 = shufflevector <8 x float> %t43, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t45 = shufflevector <8 x float> %t43, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t46 = fadd <4 x float> %t44, %t45
  %t47 = shufflevector <4 x float> %t46, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t48 = shufflevector <4 x float> %t46, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t49 = fadd <2 x float> %t47, %t48
  %t50 = extractelement <2 x float> %t49, i64 0
  %t51 = extractelement <2 x float> %t49, i64 1
  %t52 = fadd float %t50, %t51
  %t53 = load float, ptr %t11, align 64
  %t54 = fadd float %t52, %t53
  %t55 = fdiv float %t54, 0x4044000000000000
  store float 0x0000000000000000, ptr %t56, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t57, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t58, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t59, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t60, align 64
  %t61 = load <8 x float>, ptr %t17, align 4
  %t62 = load <8 x float>, ptr %t19, align 4
  %t63 = load <8 x float>, ptr %t21, align 4
  %t64 = load <8 x float>, ptr %t23, align 4
  %t65 = insertelement <8 x float> poison, float %t55, i64 0
  %t66 = shufflevector <8 x float> %t65, <8 x float> poison, <8 x i32> zeroinitializer
  %t67 = fsub <8 x float> %t61, %t66
  %t68 = fsub <8 x float> %t62, %t66
  %t69 = fsub <8 x float> %t63, %t66
  %t70 = fsub <8 x float> %t64, %t66
  %t71 = fmul <8 x float> %t67, %t67
  %t72 = fmul <8 x float> %t68, %t68
  %t73 = fmul <8 x float> %t69, %t69
  %t74 = fmul <8 x float> %t70, %t70
  %t75 = load <8 x float>, ptr %t57, align 64
  %t76 = fadd <8 x float> %t75, %t71
  store <8 x float> %t76, ptr %t57, align 64
  %t77 = load <8 x float>, ptr %t58, align 64
  %t78 = fadd <8 x float> %t77, %t72
  store <8 x float> %t78, ptr %t58, align 64
  %t79 = load <8 x float>, ptr %t59, align 64
  %t80 = fadd <8 x float> %t79, %t73
  store <8 x float> %t80, ptr %t59, align 64
  %t81 = load <8 x float>, ptr %t60, align 64
  %t82 = fadd <8 x float> %t81, %t74
  store <8 x float> %t82, ptr %t60, align 64
  %t83 = load <8 x float>, ptr %t33, align 4
  %t84 = fsub <8 x float> %t83, %t66
  %t85 = fmul <8 x float> %t84, %t84
  %t86 = load <8 x float>, ptr %t57, align 64
  %t87 = fadd <8 x float> %t86, %t85
  store <8 x float> %t87, ptr %t57, align 64
  %t88 = load <8 x float>, ptr %t57, align 64
  %t89 = load <8 x float>, ptr %t58, align 64
  %t90 = fadd <8 x float> %t88, %t89
  %t91 = load <8 x float>, ptr %t59, align 64
  %t92 = fadd <8 x float> %t90, %t91
  %t93 = load <8 x float>, ptr %t60, align 64
  %t94 = fadd <8 x float> %t92, %t93
  %t95 = shufflevector <8 x float> %t94, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t96 = shufflevector <8 x float> %t94, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t97 = fadd <4 x float> %t95, %t96
  %t98 = shufflevector <4 x float> %t97, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t99 = shufflevector <4 x float> %t97, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t100 = fadd <2 x float> %t98, %t99
  %t101 = extractelement <2 x float> %t100, i64 0
  %t102 = extractelement <2 x float> %t100, i64 1
  %t103 = fadd float %t101, %t102
  %t104 = load float, ptr %t56, align 64
  %t105 = fadd float %t103, %t104
  %t106 = fdiv float %t105, 0x4043800000000000
  %t107 = getelementptr float, ptr %t4, i64 %t10
  store float %t106, ptr %t107, align 4
  %t108 = add nuw nsw i64 %t10, 1
  %t109 = icmp slt i64 %t108, %end
  br i1 %t109, label %loop8, label %after9
after9:
  br label %done7
done7:
  ret i32 0
}
