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
  %t15 = alloca float, align 64
  %t16 = alloca <8 x float>, align 64
  %t17 = alloca <8 x float>, align 64
  %t18 = alloca <8 x float>, align 64
  %t19 = alloca <8 x float>, align 64
  %t60 = alloca float, align 64
  %t61 = alloca <8 x float>, align 64
  %t62 = alloca <8 x float>, align 64
  %t63 = alloca <8 x float>, align 64
  %t64 = alloca <8 x float>, align 64
  %t9 = icmp slt i64 %begin, %end
  br i1 %t9, label %do10, label %done11
do10:
  br label %loop12
loop12:
  %t14 = phi i64 [ %begin, %do10 ], [ %t149, %after115 ]
  store float 0x0000000000000000, ptr %t15, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t16, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t17, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t18, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t19, align 64
  %t20 = mul nsw i64 %t14, 40
  %t21 = getelementptr float, ptr %t2, i64 %t20
  %t22 = load <8 x float>, ptr %t21, align 4
  %t23 = getelementptr float, ptr %t21, i64 8
  %t24 = load <8 x float>, ptr %t23, align 4
  %t25 = getelementptr float, ptr %t21, i64 16
  %t26 = load <8 x float>, ptr %t25, align 4
  %t27 = getelementptr float, ptr %t21, i64 24
  %t28 = load <8 x float>, ptr %t27, align 4
  %t29 = load <8 x float>, ptr %t16, align 64
  %t30 = fadd <8 x float> %t29, %t22
  store <8 x float> %t30, ptr %t16, align 64
  %t31 = load <8 x float>, ptr %t17, align 64
  %t32 = fadd <8 x float> %t31, %t24
  store <8 x float> %t32, ptr %t17, align 64
  %t33 = load <8 x float>, ptr %t18, align 64
  %t34 = fadd <8 x float> %t33, %t26
  store <8 x float> %t34, ptr %t18, align 64
  %t35 = load <8 x float>, ptr %t19, align 64
  %t36 = fadd <8 x float> %t35, %t28
  store <8 x float> %t36, ptr %t19, align 64
  %t37 = getelementptr float, ptr %t21, i64 32
  %t38 = load <8 x float>, ptr %t37, align 4
  %t39 = load <8 x float>, ptr %t16, align 64
  %t40 = fadd <8 x float> %t39, %t38
  store <8 x float> %t40, ptr %t16, align 64
  %t41 = load <8 x float>, ptr %t16, align 64
  %t42 = load <8 x float>, ptr %t17, align 64
  %t43 = fadd <8 x float> %t41, %t42
  %t44 = load <8 x float>, ptr %t18, align 64
  %t45 = fadd <8 x float> %t43, %t44
  %t46 = load <8 x float>, ptr %t19, align 64
  %t47 = fadd <8 x float> %t45, %t46
  %t48 = shufflevector <8 x float> %t47, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t49 = shufflevector <8 x float> %t47, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t50 = fadd <4 x float> %t48, %t49
  %t51 = shufflevector <4 x float> %t50, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t52 = shufflevector <4 x float> %t50, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t53 = fadd <2 x float> %t51, %t52
  %t54 = extractelement <2 x float> %t53, i64 0
  %t55 = extractelement <2 x float> %t53, i64 1
  %t56 = fadd float %t54, %t55
  %t57 = load float, ptr %t15, align 64
  %t58 = fadd float %t56, %t57
  %t59 = fdiv float %t58, 0x4044000000000000
  store float 0x0000000000000000, ptr %t60, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t61, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t62, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t63, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t64, align 64
  %t65 = load <8 x float>, ptr %t21, align 4
  %t66 = load <8 x float>, ptr %t23, align 4
  %t67 = load <8 x float>, ptr %t25, align 4
  %t68 = load <8 x float>, ptr %t27, align 4
  %t69 = insertelement <8 x float> poison, float %t59, i64 0
  %t70 = shufflevector <8 x float> %t69, <8 x float> poison, <8 x i32> zeroinitializer
  %t71 = fsub <8 x float> %t65, %t70
  %t72 = fsub <8 x float> %t66, %t70
  %t73 = fsub <8 x float> %t67, %t70
  %t74 = fsub <8 x float> %t68, %t70
  %t75 = fmul <8 x float> %t71, %t71
  %t76 = fmul <8 x float> %t72, %t72
  %t77 = fmul <8 x float> %t73, %t73
  %t78 = fmul <8 x float> %t74, %t74
  %t79 = load <8 x float>, ptr %t61, align 64
  %t80 = fadd <8 x float> %t79, %t75
  store <8 x float> %t80, ptr %t61, align 64
  %t81 = load <8 x float>, ptr %t62, align 64
  %t82 = fadd <8 x float> %t81, %t76
  store <8 x float> %t82, ptr %t62, align 64
  %t83 = load <8 x float>, ptr %t63, align 64
  %t84 = fadd <8 x float> %t83, %t77
  store <8 x float> %t84, ptr %t63, align 64
  %t85 = load <8 x float>, ptr %t64, align 64
  %t86 = fadd <8 x float> %t85, %t78
  store <8 x float> %t86, ptr %t64, align 64
  %t87 = load <8 x float>, ptr %t37, align 4
  %t88 = fsub <8 x float> %t87, %t70
  %t89 = fmul <8 x float> %t88, %t88
  %t90 = load <8 x float>, ptr %t61, align 64
  %t91 = fadd <8 x float> %t90, %t89
  store <8 x float> %t91, ptr %t61, align 64
  %t92 = load <8 x float>, ptr %t61, align 64
  %t93 = load <8 x float>, ptr %t62, align 64
  %t94 = fadd <8 x float> %t92, %t93
  %t95 = load <8 x float>, ptr %t63, align 64
  %t96 = fadd <8 x float> %t94, %t95
  %t97 = load <8 x float>, ptr %t64, align 64
  %t98 = fadd <8 x float> %t96, %t97
  %t99 = shufflevector <8 x float> %t98, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t100 = shufflevector <8 x float> %t98, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t101 = fadd <4 x float> %t99, %t100
  %t102 = shufflevector <4 x float> %t101, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t103 = shufflevector <4 x float> %t101, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t104 = fadd <2 x float> %t102, %t103
  %t105 = extractelement <2 x float> %t104, i64 0
  %t106 = extractelement <2 x float> %t104, i64 1
  %t107 = fadd float %t105, %t106
  %t108 = load float, ptr %t60, align 64
  %t109 = fadd float %t107, %t108
  %t110 = fdiv float %t109, 0x4044000000000000
  %t111 = fadd float %t110, 0x3EE4F8B580000000
  %t112 = call float @llvm.sqrt.f32(float %t111)
  %t113 = fdiv float 0x3FF0000000000000, %t112
  %t118 = mul nsw i64 %t14, 40
  %t119 = getelementptr float, ptr %t2, i64 %t118
  %t124 = insertelement <8 x float> poison, float %t59, i64 0
  %t125 = shufflevector <8 x float> %t124, <8 x float> poison, <8 x i32> zeroinitializer
  %t128 = insertelement <8 x float> poison, float %t113, i64 0
  %t129 = shufflevector <8 x float> %t128, <8 x float> poison, <8 x i32> zeroinitializer
  %t144 = getelementptr float, ptr %t8, i64 %t118
  br label %loop114
loop114:
  %t116 = phi i64 [ 0, %loop12 ], [ %t147, %loop114 ]
  %t117 = call i64 @llvm.smin.i64(i64 %t116, i64 24)
  %t120 = getelementptr float, ptr %t119, i64 %t117
  %t121 = load <8 x float>, ptr %t120, align 4
  %t122 = getelementptr float, ptr %t120, i64 8
  %t123 = load <8 x float>, ptr %t122, align 4
  %t126 = fsub <8 x float> %t121, %t125
  %t127 = fsub <8 x float> %t123, %t125
  %t130 = fmul <8 x float> %t126, %t129
  %t131 = fmul <8 x float> %t127, %t129
  %t132 = getelementptr float, ptr %t4, i64 %t117
  %t133 = load <8 x float>, ptr %t132, align 4
  %t134 = getelementptr float, ptr %t132, i64 8
  %t135 = load <8 x float>, ptr %t134, align 4
  %t136 = fmul <8 x float> %t130, %t133
  %t137 = fmul <8 x float> %t131, %t135
  %t138 = getelementptr float, ptr %t6, i64 %t117
  %t139 = load <8 x float>, ptr %t138, align 4
  %t140 = getelementptr float, ptr %t138, i64 8
  %t141 = load <8 x float>, ptr %t140, align 4
  %t142 = fadd <8 x float> %t136, %t139
  %t143 = fadd <8 x float> %t137, %t141
  %t145 = getelementptr float, ptr %t144, i64 %t117
  store <8 x float> %t142, ptr %t145, align 4
  %t146 = getelementptr float, ptr %t145, i64 8
  store <8 x float> %t143, ptr %t146, align 4
  %t147 = add nuw nsw i64 %t116, 16
  %t148 = icmp slt i64 %t147, 40
  br i1 %t148, label %loop114, label %after115
after115:
  %t149 = add nuw nsw i64 %t14, 1
  %t150 = icmp slt i64 %t149, %end
  br i1 %t150, label %loop12, label %after13
after13:
  br label %done11
done11:
  ret i32 0
}
