declare i64 @llvm.smin.i64(i64, i64)
declare float @llvm.sqrt.f32(float)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = getelementptr ptr, ptr %buffers, i64 2
  %t6 = load ptr, ptr %t5, align 8
  %t7 = getelementptr ptr, ptr %buffers, i64 3
  %t8 = load ptr, ptr %t7, align 8
  %t12 = alloca float, align 64
  %t13 = alloca <8 x float>, align 64
  %t14 = alloca <8 x float>, align 64
  %t15 = alloca <8 x float>, align 64
  %t16 = alloca <8 x float>, align 64
  %t57 = alloca float, align 64
  %t58 = alloca <8 x float>, align 64
  %t59 = alloca <8 x float>, align 64
  %t60 = alloca <8 x float>, align 64
  %t61 = alloca <8 x float>, align 64
  br label %loop9
loop9:
  %t11 = phi i64 [ 0, %entry ], [ %t146, %after112 ]
  store float 0x0000000000000000, ptr %t12, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t13, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t14, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t15, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t16, align 64
  %t17 = mul nsw i64 %t11, 40
  %t18 = getelementptr float, ptr %t2, i64 %t17
  %t19 = load <8 x float>, ptr %t18, align 4
  %t20 = getelementptr float, ptr %t18, i64 8
  %t21 = load <8 x float>, ptr %t20, align 4
  %t22 = getelementptr float, ptr %t18, i64 16
  %t23 = load <8 x float>, ptr %t22, align 4
  %t24 = getelementptr float, ptr %t18, i64 24
  %t25 = load <8 x float>, ptr %t24, align 4
  %t26 = load <8 x float>, ptr %t13, align 64
  %t27 = fadd <8 x float> %t26, %t19
  store <8 x float> %t27, ptr %t13, align 64
  %t28 = load <8 x float>, ptr %t14, align 64
  %t29 = fadd <8 x float> %t28, %t21
  store <8 x float> %t29, ptr %t14, align 64
  %t30 = load <8 x float>, ptr %t15, align 64
  %t31 = fadd <8 x float> %t30, %t23
  store <8 x float> %t31, ptr %t15, align 64
  %t32 = load <8 x float>, ptr %t16, align 64
  %t33 = fadd <8 x float> %t32, %t25
  store <8 x float> %t33, ptr %t16, align 64
  %t34 = getelementptr float, ptr %t18, i64 32
  %t35 = load <8 x float>, ptr %t34, align 4
  %t36 = load <8 x float>, ptr %t13, align 64
  %t37 = fadd <8 x float> %t36, %t35
  store <8 x float> %t37, ptr %t13, align 64
  %t38 = load <8 x float>, ptr %t13, align 64
  %t39 = load <8 x float>, ptr %t14, align 64
  %t40 = fadd <8 x float> %t38, %t39
  %t41 = load <8 x float>, ptr %t15, align 64
  %t42 = fadd <8 x float> %t40, %t41
  %t43 = load <8 x float>, ptr %t16, align 64
  %t44 = fadd <8 x float> %t42, %t43
  %t45 = shufflevector <8 x float> %t44, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t46 = shufflevector <8 x float> %t44, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t47 = fadd <4 x float> %t45, %t46
  %t48 = shufflevector <4 x float> %t47, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t49 = shufflevector <4 x float> %t47, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t50 = fadd <2 x float> %t48, %t49
  %t51 = extractelement <2 x float> %t50, i64 0
  %t52 = extractelement <2 x float> %t50, i64 1
  %t53 = fadd float %t51, %t52
  %t54 = load float, ptr %t12, align 64
  %t55 = fadd float %t53, %t54
  %t56 = fdiv float %t55, 0x4044000000000000
  store float 0x0000000000000000, ptr %t57, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t58, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t59, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t60, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t61, align 64
  %t62 = load <8 x float>, ptr %t18, align 4
  %t63 = load <8 x float>, ptr %t20, align 4
  %t64 = load <8 x float>, ptr %t22, align 4
  %t65 = load <8 x float>, ptr %t24, align 4
  %t66 = insertelement <8 x float> poison, float %t56, i64 0
  %t67 = shufflevector <8 x float> %t66, <8 x float> poison, <8 x i32> zeroinitializer
  %t68 = fsub <8 x float> %t62, %t67
  %t69 = fsub <8 x float> %t63, %t67
  %t70 = fsub <8 x float> %t64, %t67
  %t71 = fsub <8 x float> %t65, %t67
  %t72 = fmul <8 x float> %t68, %t68
  %t73 = fmul <8 x float> %t69, %t69
  %t74 = fmul <8 x float> %t70, %t70
  %t75 = fmul <8 x float> %t71, %t71
  %t76 = load <8 x float>, ptr %t58, align 64
  %t77 = fadd <8 x float> %t76, %t72
  store <8 x float> %t77, ptr %t58, align 64
  %t78 = load <8 x float>, ptr %t59, align 64
  %t79 = fadd <8 x float> %t78, %t73
  store <8 x float> %t79, ptr %t59, align 64
  %t80 = load <8 x float>, ptr %t60, align 64
  %t81 = fadd <8 x float> %t80, %t74
  store <8 x float> %t81, ptr %t60, align 64
  %t82 = load <8 x float>, ptr %t61, align 64
  %t83 = fadd <8 x float> %t82, %t75
  store <8 x float> %t83, ptr %t61, align 64
  %t84 = load <8 x float>, ptr %t34, align 4
  %t85 = fsub <8 x float> %t84, %t67
  %t86 = fmul <8 x float> %t85, %t85
  %t87 = load <8 x float>, ptr %t58, align 64
  %t88 = fadd <8 x float> %t87, %t86
  store <8 x float> %t88, ptr %t58, align 64
  %t89 = load <8 x float>, ptr %t58, align 64
  %t90 = load <8 x float>, ptr %t59, align 64
  %t91 = fadd <8 x float> %t89, %t90
  %t92 = load <8 x float>, ptr %t60, align 64
  %t93 = fadd <8 x float> %t91, %t92
  %t94 = load <8 x float>, ptr %t61, align 64
  %t95 = fadd <8 x float> %t93, %t94
  %t96 = shufflevector <8 x float> %t95, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t97 = shufflevector <8 x float> %t95, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t98 = fadd <4 x float> %t96, %t97
  %t99 = shufflevector <4 x float> %t98, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t100 = shufflevector <4 x float> %t98, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t101 = fadd <2 x float> %t99, %t100
  %t102 = extractelement <2 x float> %t101, i64 0
  %t103 = extractelement <2 x float> %t101, i64 1
  %t104 = fadd float %t102, %t103
  %t105 = load float, ptr %t57, align 64
  %t106 = fadd float %t104, %t105
  %t107 = fdiv float %t106, 0x4044000000000000
  %t108 = fadd float %t107, 0x3EE4F8B580000000
  %t109 = call float @llvm.sqrt.f32(float %t108)
  %t110 = fdiv float 0x3FF0000000000000, %t109
  %t115 = mul nsw i64 %t11, 40
  %t116 = getelementptr float, ptr %t2, i64 %t115
  %t121 = insertelement <8 x float> poison, float %t56, i64 0
  %t122 = shufflevector <8 x float> %t121, <8 x float> poison, <8 x i32> zeroinitializer
  %t125 = insertelement <8 x float> poison, float %t110, i64 0
  %t126 = shufflevector <8 x float> %t125, <8 x float> poison, <8 x i32> zeroinitializer
  %t141 = getelementptr float, ptr %t8, i64 %t115
  br label %loop111
loop111:
  %t113 = phi i64 [ 0, %loop9 ], [ %t144, %loop111 ]
  %t114 = call i64 @llvm.smin.i64(i64 %t113, i64 24)
  %t117 = getelementptr float, ptr %t116, i64 %t114
  %t118 = load <8 x float>, ptr %t117, align 4
  %t119 = getelementptr float, ptr %t117, i64 8
  %t120 = load <8 x float>, ptr %t119, align 4
  %t123 = fsub <8 x float> %t118, %t122
  %t124 = fsub <8 x float> %t120, %t122
  %t127 = fmul <8 x float> %t123, %t126
  %t128 = fmul <8 x float> %t124, %t126
  %t129 = getelementptr float, ptr %t4, i64 %t114
  %t130 = load <8 x float>, ptr %t129, align 4
  %t131 = getelementptr float, ptr %t129, i64 8
  %t132 = load <8 x float>, ptr %t131, align 4
  %t133 = fmul <8 x float> %t127, %t130
  %t134 = fmul <8 x float> %t128, %t132
  %t135 = getelementptr float, ptr %t6, i64 %t114
  %t136 = load <8 x float>, ptr %t135, align 4
  %t137 = getelementptr float, ptr %t135, i64 8
  %t138 = load <8 x float>, ptr %t137, align 4
  %t139 = fadd <8 x float> %t133, %t136
  %t140 = fadd <8 x float> %t134, %t138
  %t142 = getelementptr float, ptr %t141, i64 %t114
  store <8 x float> %t139, ptr %t142, align 4
  %t143 = getelementptr float, ptr %t142, i64 8
  store <8 x float> %t140, ptr %t143, align 4
  %t144 = add nuw nsw i64 %t113, 16
  %t145 = icmp slt i64 %t144, 40
  br i1 %t145, label %loop111, label %after112
after112:
  %t146 = add nuw nsw i64 %t11, 1
  %t147 = icmp slt i64 %t146, 4
  br i1 %t147, label %loop9, label %after10
after10:
  ret i32 0
}
