declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare float @llvm.maximum.f32(float, float)
declare <2 x float> @llvm.maximum.v2f32(<2 x float>, <2 x float>)
declare <4 x float> @llvm.maximum.v4f32(<4 x float>, <4 x float>)
declare <8 x float> @llvm.maximum.v8f32(<8 x float>, <8 x float>)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t8 = alloca float, align 64
  %t9 = alloca <8 x float>, align 64
  %t10 = alloca <8 x float>, align 64
  %t11 = alloca <8 x float>, align 64
  %t12 = alloca <8 x float>, align 64
  %t52 = alloca float, align 64
  %t53 = alloca <8 x float>, align 64
  %t54 = alloca <8 x float>, align 64
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t196, %after179 ]
  store float 0xFFF0000000000000, ptr %t8, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t9, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t10, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t11, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t12, align 64
  %t13 = mul nsw i64 %t7, 40
  %t14 = getelementptr float, ptr %t2, i64 %t13
  %t15 = load <8 x float>, ptr %t14, align 4
  %t16 = getelementptr float, ptr %t14, i64 8
  %t17 = load <8 x float>, ptr %t16, align 4
  %t18 = getelementptr float, ptr %t14, i64 16
  %t19 = load <8 x float>, ptr %t18, align 4
  %t20 = getelementptr float, ptr %t14, i64 24
  %t21 = load <8 x float>, ptr %t20, align 4
  %t22 = load <8 x float>, ptr %t9, align 64
  %t23 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t15, <8 x float> %t22)
  store <8 x float> %t23, ptr %t9, align 64
  %t24 = load <8 x float>, ptr %t10, align 64
  %t25 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t17, <8 x float> %t24)
  store <8 x float> %t25, ptr %t10, align 64
  %t26 = load <8 x float>, ptr %t11, align 64
  %t27 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t19, <8 x float> %t26)
  store <8 x float> %t27, ptr %t11, align 64
  %t28 = load <8 x float>, ptr %t12, align 64
  %t29 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t21, <8 x float> %t28)
  store <8 x float> %t29, ptr %t12, align 64
  %t30 = getelementptr float, ptr %t14, i64 32
  %t31 = load <8 x float>, ptr %t30, align 4
  %t32 = load <8 x float>, ptr %t9, align 64
  %t33 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t31, <8 x float> %t32)
  store <8 x float> %t33, ptr %t9, align 64
  %t34 = load <8 x float>, ptr %t9, align 64
  %t35 = load <8 x float>, ptr %t10, align 64
  %t36 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t35, <8 x float> %t34)
  %t37 = load <8 x float>, ptr %t11, align 64
  %t38 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t37, <8 x float> %t36)
  %t39 = load <8 x float>, ptr %t12, align 64
  %t40 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t39, <8 x float> %t38)
  %t41 = shufflevector <8 x float> %t40, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t42 = shufflevector <8 x float> %t40, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t43 = call nsz <4 x float> @llvm.maximum.v4f32(<4 x float> %t42, <4 x float> %t41)
  %t44 = shufflevector <4 x float> %t43, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t45 = shufflevector <4 x float> %t43, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t46 = call nsz <2 x float> @llvm.maximum.v2f32(<2 x float> %t45, <2 x float> %t44)
  %t47 = extractelement <2 x float> %t46, i64 0
  %t48 = extractelement <2 x float> %t46, i64 1
  %t49 = call nsz float @llvm.maximum.f32(float %t48, float %t47)
  %t50 = load float, ptr %t8, align 64
  %t51 = call nsz float @llvm.maximum.f32(float %t50, float %t49)
  store float 0x0000000000000000, ptr %t52, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t53, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t54, align 64
  %t58 = mul nsw i64 %t7, 40
  %t59 = getelementptr float, ptr %t2, i64 %t58
  %t64 = insertelement <8 x float> poison, float %t51, i64 0
  %t65 = shufflevector <8 x float> %t64, <8 x float> poison, <8 x i32> zeroinitializer
  %t122 = getelementptr float, ptr %t4, i64 %t58
  br label %loop55
loop55:
  %t57 = phi i64 [ 0, %loop5 ], [ %t129, %loop55 ]
  %t60 = getelementptr float, ptr %t59, i64 %t57
  %t61 = load <8 x float>, ptr %t60, align 4
  %t62 = getelementptr float, ptr %t60, i64 8
  %t63 = load <8 x float>, ptr %t62, align 4
  %t66 = fsub <8 x float> %t61, %t65
  %t67 = fsub <8 x float> %t63, %t65
  %t68 = fcmp olt <8 x float> %t66, splat (float 0xC05A000000000000)
  %t69 = select <8 x i1> %t68, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t66
  %t70 = fcmp ogt <8 x float> %t69, splat (float 0x4056400000000000)
  %t71 = select <8 x i1> %t70, <8 x float> splat (float 0x4056400000000000), <8 x float> %t69
  %t72 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t71, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t73 = fsub <8 x float> %t72, splat (float 0x4168000000000000)
  %t74 = bitcast <8 x float> %t72 to <8 x i32>
  %t75 = sub <8 x i32> %t74, splat (i32 1262485504)
  %t76 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t73, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t71)
  %t77 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t73, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t76)
  %t78 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t77, <8 x float> splat (float 0x3F812397A0000000))
  %t79 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t78, <8 x float> %t77, <8 x float> splat (float 0x3FA5558AC0000000))
  %t80 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t79, <8 x float> %t77, <8 x float> splat (float 0x3FC5554920000000))
  %t81 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t80, <8 x float> %t77, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t82 = fmul <8 x float> %t77, %t77
  %t83 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t81, <8 x float> %t82, <8 x float> %t77)
  %t84 = fadd <8 x float> %t83, splat (float 0x3FF0000000000000)
  %t85 = ashr <8 x i32> %t75, splat (i32 1)
  %t86 = sub <8 x i32> %t75, %t85
  %t87 = add <8 x i32> %t85, splat (i32 127)
  %t88 = shl <8 x i32> %t87, splat (i32 23)
  %t89 = bitcast <8 x i32> %t88 to <8 x float>
  %t90 = fmul <8 x float> %t84, %t89
  %t91 = add <8 x i32> %t86, splat (i32 127)
  %t92 = shl <8 x i32> %t91, splat (i32 23)
  %t93 = bitcast <8 x i32> %t92 to <8 x float>
  %t94 = fmul <8 x float> %t90, %t93
  %t95 = fcmp olt <8 x float> %t67, splat (float 0xC05A000000000000)
  %t96 = select <8 x i1> %t95, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t67
  %t97 = fcmp ogt <8 x float> %t96, splat (float 0x4056400000000000)
  %t98 = select <8 x i1> %t97, <8 x float> splat (float 0x4056400000000000), <8 x float> %t96
  %t99 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t98, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t100 = fsub <8 x float> %t99, splat (float 0x4168000000000000)
  %t101 = bitcast <8 x float> %t99 to <8 x i32>
  %t102 = sub <8 x i32> %t101, splat (i32 1262485504)
  %t103 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t100, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t98)
  %t104 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t100, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t103)
  %t105 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t104, <8 x float> splat (float 0x3F812397A0000000))
  %t106 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t105, <8 x float> %t104, <8 x float> splat (float 0x3FA5558AC0000000))
  %t107 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t106, <8 x float> %t104, <8 x float> splat (float 0x3FC5554920000000))
  %t108 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t107, <8 x float> %t104, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t109 = fmul <8 x float> %t104, %t104
  %t110 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t108, <8 x float> %t109, <8 x float> %t104)
  %t111 = fadd <8 x float> %t110, splat (float 0x3FF0000000000000)
  %t112 = ashr <8 x i32> %t102, splat (i32 1)
  %t113 = sub <8 x i32> %t102, %t112
  %t114 = add <8 x i32> %t112, splat (i32 127)
  %t115 = shl <8 x i32> %t114, splat (i32 23)
  %t116 = bitcast <8 x i32> %t115 to <8 x float>
  %t117 = fmul <8 x float> %t111, %t116
  %t118 = add <8 x i32> %t113, splat (i32 127)
  %t119 = shl <8 x i32> %t118, splat (i32 23)
  %t120 = bitcast <8 x i32> %t119 to <8 x float>
  %t121 = fmul <8 x float> %t117, %t120
  %t123 = getelementptr float, ptr %t122, i64 %t57
  store <8 x float> %t94, ptr %t123, align 4
  %t124 = getelementptr float, ptr %t123, i64 8
  store <8 x float> %t121, ptr %t124, align 4
  %t125 = load <8 x float>, ptr %t53, align 64
  %t126 = fadd <8 x float> %t125, %t94
  store <8 x float> %t126, ptr %t53, align 64
  %t127 = load <8 x float>, ptr %t54, align 64
  %t128 = fadd <8 x float> %t127, %t121
  store <8 x float> %t128, ptr %t54, align 64
  %t129 = add nuw nsw i64 %t57, 16
  %t130 = icmp slt i64 %t129, 32
  br i1 %t130, label %loop55, label %after56
after56:
  %t131 = getelementptr float, ptr %t59, i64 32
  %t132 = load <8 x float>, ptr %t131, align 4
  %t133 = fsub <8 x float> %t132, %t65
  %t134 = fcmp olt <8 x float> %t133, splat (float 0xC05A000000000000)
  %t135 = select <8 x i1> %t134, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t133
  %t136 = fcmp ogt <8 x float> %t135, splat (float 0x4056400000000000)
  %t137 = select <8 x i1> %t136, <8 x float> splat (float 0x4056400000000000), <8 x float> %t135
  %t138 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t137, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t139 = fsub <8 x float> %t138, splat (float 0x4168000000000000)
  %t140 = bitcast <8 x float> %t138 to <8 x i32>
  %t141 = sub <8 x i32> %t140, splat (i32 1262485504)
  %t142 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t139, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t137)
  %t143 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t139, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t142)
  %t144 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t143, <8 x float> splat (float 0x3F812397A0000000))
  %t145 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t144, <8 x float> %t143, <8 x float> splat (float 0x3FA5558AC0000000))
  %t146 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t145, <8 x float> %t143, <8 x float> splat (float 0x3FC5554920000000))
  %t147 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t146, <8 x float> %t143, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t148 = fmul <8 x float> %t143, %t143
  %t149 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t147, <8 x float> %t148, <8 x float> %t143)
  %t150 = fadd <8 x float> %t149, splat (float 0x3FF0000000000000)
  %t151 = ashr <8 x i32> %t141, splat (i32 1)
  %t152 = sub <8 x i32> %t141, %t151
  %t153 = add <8 x i32> %t151, splat (i32 127)
  %t154 = shl <8 x i32> %t153, splat (i32 23)
  %t155 = bitcast <8 x i32> %t154 to <8 x float>
  %t156 = fmul <8 x float> %t150, %t155
  %t157 = add <8 x i32> %t152, splat (i32 127)
  %t158 = shl <8 x i32> %t157, splat (i32 23)
  %t159 = bitcast <8 x i32> %t158 to <8 x float>
  %t160 = fmul <8 x float> %t156, %t159
  %t161 = getelementptr float, ptr %t122, i64 32
  store <8 x float> %t160, ptr %t161, align 4
  %t162 = load <8 x float>, ptr %t53, align 64
  %t163 = fadd <8 x float> %t162, %t160
  store <8 x float> %t163, ptr %t53, align 64
  %t164 = load <8 x float>, ptr %t53, align 64
  %t165 = load <8 x float>, ptr %t54, align 64
  %t166 = fadd <8 x float> %t164, %t165
  %t167 = shufflevector <8 x float> %t166, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t168 = shufflevector <8 x float> %t166, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t169 = fadd <4 x float> %t167, %t168
  %t170 = shufflevector <4 x float> %t169, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t171 = shufflevector <4 x float> %t169, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t172 = fadd <2 x float> %t170, %t171
  %t173 = extractelement <2 x float> %t172, i64 0
  %t174 = extractelement <2 x float> %t172, i64 1
  %t175 = fadd float %t173, %t174
  %t176 = load float, ptr %t52, align 64
  %t177 = fadd float %t175, %t176
  %t181 = mul nsw i64 %t7, 40
  %t182 = getelementptr float, ptr %t4, i64 %t181
  %t187 = insertelement <8 x float> poison, float %t177, i64 0
  %t188 = shufflevector <8 x float> %t187, <8 x float> poison, <8 x i32> zeroinitializer
  br label %loop178
loop178:
  %t180 = phi i64 [ 0, %after56 ], [ %t191, %loop178 ]
  %t183 = getelementptr float, ptr %t182, i64 %t180
  %t184 = load <8 x float>, ptr %t183, align 4
  %t185 = getelementptr float, ptr %t183, i64 8
  %t186 = load <8 x float>, ptr %t185, align 4
  %t189 = fdiv <8 x float> %t184, %t188
  %t190 = fdiv <8 x float> %t186, %t188
  store <8 x float> %t189, ptr %t183, align 4
  store <8 x float> %t190, ptr %t185, align 4
  %t191 = add nuw nsw i64 %t180, 16
  %t192 = icmp slt i64 %t191, 32
  br i1 %t192, label %loop178, label %after179
after179:
  %t193 = getelementptr float, ptr %t182, i64 32
  %t194 = load <8 x float>, ptr %t193, align 4
  %t195 = fdiv <8 x float> %t194, %t188
  store <8 x float> %t195, ptr %t193, align 4
  %t196 = add nuw nsw i64 %t7, 1
  %t197 = icmp slt i64 %t196, 4
  br i1 %t197, label %loop5, label %after6
after6:
  ret i32 0
}
