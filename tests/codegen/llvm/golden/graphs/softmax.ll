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
  %t55 = alloca <8 x float>, align 64
  %t56 = alloca <8 x float>, align 64
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t255, %after238 ]
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
  store <8 x float> splat (float 0x0000000000000000), ptr %t55, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t56, align 64
  %t57 = load <8 x float>, ptr %t14, align 4
  %t58 = load <8 x float>, ptr %t16, align 4
  %t59 = load <8 x float>, ptr %t18, align 4
  %t60 = load <8 x float>, ptr %t20, align 4
  %t61 = insertelement <8 x float> poison, float %t51, i64 0
  %t62 = shufflevector <8 x float> %t61, <8 x float> poison, <8 x i32> zeroinitializer
  %t63 = fsub <8 x float> %t57, %t62
  %t64 = fsub <8 x float> %t58, %t62
  %t65 = fsub <8 x float> %t59, %t62
  %t66 = fsub <8 x float> %t60, %t62
  %t67 = fcmp olt <8 x float> %t63, splat (float 0xC05A000000000000)
  %t68 = select <8 x i1> %t67, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t63
  %t69 = fcmp ogt <8 x float> %t68, splat (float 0x4056400000000000)
  %t70 = select <8 x i1> %t69, <8 x float> splat (float 0x4056400000000000), <8 x float> %t68
  %t71 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t70, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t72 = fsub <8 x float> %t71, splat (float 0x4168000000000000)
  %t73 = bitcast <8 x float> %t71 to <8 x i32>
  %t74 = sub <8 x i32> %t73, splat (i32 1262485504)
  %t75 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t72, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t70)
  %t76 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t72, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t75)
  %t77 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t76, <8 x float> splat (float 0x3F812397A0000000))
  %t78 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t77, <8 x float> %t76, <8 x float> splat (float 0x3FA5558AC0000000))
  %t79 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t78, <8 x float> %t76, <8 x float> splat (float 0x3FC5554920000000))
  %t80 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t79, <8 x float> %t76, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t81 = fmul <8 x float> %t76, %t76
  %t82 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t80, <8 x float> %t81, <8 x float> %t76)
  %t83 = fadd <8 x float> %t82, splat (float 0x3FF0000000000000)
  %t84 = ashr <8 x i32> %t74, splat (i32 1)
  %t85 = sub <8 x i32> %t74, %t84
  %t86 = add <8 x i32> %t84, splat (i32 127)
  %t87 = shl <8 x i32> %t86, splat (i32 23)
  %t88 = bitcast <8 x i32> %t87 to <8 x float>
  %t89 = fmul <8 x float> %t83, %t88
  %t90 = add <8 x i32> %t85, splat (i32 127)
  %t91 = shl <8 x i32> %t90, splat (i32 23)
  %t92 = bitcast <8 x i32> %t91 to <8 x float>
  %t93 = fmul <8 x float> %t89, %t92
  %t94 = fcmp olt <8 x float> %t64, splat (float 0xC05A000000000000)
  %t95 = select <8 x i1> %t94, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t64
  %t96 = fcmp ogt <8 x float> %t95, splat (float 0x4056400000000000)
  %t97 = select <8 x i1> %t96, <8 x float> splat (float 0x4056400000000000), <8 x float> %t95
  %t98 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t97, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t99 = fsub <8 x float> %t98, splat (float 0x4168000000000000)
  %t100 = bitcast <8 x float> %t98 to <8 x i32>
  %t101 = sub <8 x i32> %t100, splat (i32 1262485504)
  %t102 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t99, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t97)
  %t103 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t99, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t102)
  %t104 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t103, <8 x float> splat (float 0x3F812397A0000000))
  %t105 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t104, <8 x float> %t103, <8 x float> splat (float 0x3FA5558AC0000000))
  %t106 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t105, <8 x float> %t103, <8 x float> splat (float 0x3FC5554920000000))
  %t107 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t106, <8 x float> %t103, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t108 = fmul <8 x float> %t103, %t103
  %t109 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t107, <8 x float> %t108, <8 x float> %t103)
  %t110 = fadd <8 x float> %t109, splat (float 0x3FF0000000000000)
  %t111 = ashr <8 x i32> %t101, splat (i32 1)
  %t112 = sub <8 x i32> %t101, %t111
  %t113 = add <8 x i32> %t111, splat (i32 127)
  %t114 = shl <8 x i32> %t113, splat (i32 23)
  %t115 = bitcast <8 x i32> %t114 to <8 x float>
  %t116 = fmul <8 x float> %t110, %t115
  %t117 = add <8 x i32> %t112, splat (i32 127)
  %t118 = shl <8 x i32> %t117, splat (i32 23)
  %t119 = bitcast <8 x i32> %t118 to <8 x float>
  %t120 = fmul <8 x float> %t116, %t119
  %t121 = fcmp olt <8 x float> %t65, splat (float 0xC05A000000000000)
  %t122 = select <8 x i1> %t121, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t65
  %t123 = fcmp ogt <8 x float> %t122, splat (float 0x4056400000000000)
  %t124 = select <8 x i1> %t123, <8 x float> splat (float 0x4056400000000000), <8 x float> %t122
  %t125 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t124, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t126 = fsub <8 x float> %t125, splat (float 0x4168000000000000)
  %t127 = bitcast <8 x float> %t125 to <8 x i32>
  %t128 = sub <8 x i32> %t127, splat (i32 1262485504)
  %t129 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t126, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t124)
  %t130 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t126, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t129)
  %t131 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t130, <8 x float> splat (float 0x3F812397A0000000))
  %t132 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t131, <8 x float> %t130, <8 x float> splat (float 0x3FA5558AC0000000))
  %t133 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t132, <8 x float> %t130, <8 x float> splat (float 0x3FC5554920000000))
  %t134 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t133, <8 x float> %t130, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t135 = fmul <8 x float> %t130, %t130
  %t136 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t134, <8 x float> %t135, <8 x float> %t130)
  %t137 = fadd <8 x float> %t136, splat (float 0x3FF0000000000000)
  %t138 = ashr <8 x i32> %t128, splat (i32 1)
  %t139 = sub <8 x i32> %t128, %t138
  %t140 = add <8 x i32> %t138, splat (i32 127)
  %t141 = shl <8 x i32> %t140, splat (i32 23)
  %t142 = bitcast <8 x i32> %t141 to <8 x float>
  %t143 = fmul <8 x float> %t137, %t142
  %t144 = add <8 x i32> %t139, splat (i32 127)
  %t145 = shl <8 x i32> %t144, splat (i32 23)
  %t146 = bitcast <8 x i32> %t145 to <8 x float>
  %t147 = fmul <8 x float> %t143, %t146
  %t148 = fcmp olt <8 x float> %t66, splat (float 0xC05A000000000000)
  %t149 = select <8 x i1> %t148, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t66
  %t150 = fcmp ogt <8 x float> %t149, splat (float 0x4056400000000000)
  %t151 = select <8 x i1> %t150, <8 x float> splat (float 0x4056400000000000), <8 x float> %t149
  %t152 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t151, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t153 = fsub <8 x float> %t152, splat (float 0x4168000000000000)
  %t154 = bitcast <8 x float> %t152 to <8 x i32>
  %t155 = sub <8 x i32> %t154, splat (i32 1262485504)
  %t156 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t153, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t151)
  %t157 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t153, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t156)
  %t158 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t157, <8 x float> splat (float 0x3F812397A0000000))
  %t159 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t158, <8 x float> %t157, <8 x float> splat (float 0x3FA5558AC0000000))
  %t160 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t159, <8 x float> %t157, <8 x float> splat (float 0x3FC5554920000000))
  %t161 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t160, <8 x float> %t157, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t162 = fmul <8 x float> %t157, %t157
  %t163 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t161, <8 x float> %t162, <8 x float> %t157)
  %t164 = fadd <8 x float> %t163, splat (float 0x3FF0000000000000)
  %t165 = ashr <8 x i32> %t155, splat (i32 1)
  %t166 = sub <8 x i32> %t155, %t165
  %t167 = add <8 x i32> %t165, splat (i32 127)
  %t168 = shl <8 x i32> %t167, splat (i32 23)
  %t169 = bitcast <8 x i32> %t168 to <8 x float>
  %t170 = fmul <8 x float> %t164, %t169
  %t171 = add <8 x i32> %t166, splat (i32 127)
  %t172 = shl <8 x i32> %t171, splat (i32 23)
  %t173 = bitcast <8 x i32> %t172 to <8 x float>
  %t174 = fmul <8 x float> %t170, %t173
  %t175 = getelementptr float, ptr %t4, i64 %t13
  store <8 x float> %t93, ptr %t175, align 4
  %t176 = getelementptr float, ptr %t175, i64 8
  store <8 x float> %t120, ptr %t176, align 4
  %t177 = getelementptr float, ptr %t175, i64 16
  store <8 x float> %t147, ptr %t177, align 4
  %t178 = getelementptr float, ptr %t175, i64 24
  store <8 x float> %t174, ptr %t178, align 4
  %t179 = load <8 x float>, ptr %t53, align 64
  %t180 = fadd <8 x float> %t179, %t93
  store <8 x float> %t180, ptr %t53, align 64
  %t181 = load <8 x float>, ptr %t54, align 64
  %t182 = fadd <8 x float> %t181, %t120
  store <8 x float> %t182, ptr %t54, align 64
  %t183 = load <8 x float>, ptr %t55, align 64
  %t184 = fadd <8 x float> %t183, %t147
  store <8 x float> %t184, ptr %t55, align 64
  %t185 = load <8 x float>, ptr %t56, align 64
  %t186 = fadd <8 x float> %t185, %t174
  store <8 x float> %t186, ptr %t56, align 64
  %t187 = load <8 x float>, ptr %t30, align 4
  %t188 = fsub <8 x float> %t187, %t62
  %t189 = fcmp olt <8 x float> %t188, splat (float 0xC05A000000000000)
  %t190 = select <8 x i1> %t189, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t188
  %t191 = fcmp ogt <8 x float> %t190, splat (float 0x4056400000000000)
  %t192 = select <8 x i1> %t191, <8 x float> splat (float 0x4056400000000000), <8 x float> %t190
  %t193 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t192, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t194 = fsub <8 x float> %t193, splat (float 0x4168000000000000)
  %t195 = bitcast <8 x float> %t193 to <8 x i32>
  %t196 = sub <8 x i32> %t195, splat (i32 1262485504)
  %t197 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t194, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t192)
  %t198 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t194, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t197)
  %t199 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t198, <8 x float> splat (float 0x3F812397A0000000))
  %t200 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t199, <8 x float> %t198, <8 x float> splat (float 0x3FA5558AC0000000))
  %t201 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t200, <8 x float> %t198, <8 x float> splat (float 0x3FC5554920000000))
  %t202 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t201, <8 x float> %t198, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t203 = fmul <8 x float> %t198, %t198
  %t204 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t202, <8 x float> %t203, <8 x float> %t198)
  %t205 = fadd <8 x float> %t204, splat (float 0x3FF0000000000000)
  %t206 = ashr <8 x i32> %t196, splat (i32 1)
  %t207 = sub <8 x i32> %t196, %t206
  %t208 = add <8 x i32> %t206, splat (i32 127)
  %t209 = shl <8 x i32> %t208, splat (i32 23)
  %t210 = bitcast <8 x i32> %t209 to <8 x float>
  %t211 = fmul <8 x float> %t205, %t210
  %t212 = add <8 x i32> %t207, splat (i32 127)
  %t213 = shl <8 x i32> %t212, splat (i32 23)
  %t214 = bitcast <8 x i32> %t213 to <8 x float>
  %t215 = fmul <8 x float> %t211, %t214
  %t216 = getelementptr float, ptr %t175, i64 32
  store <8 x float> %t215, ptr %t216, align 4
  %t217 = load <8 x float>, ptr %t53, align 64
  %t218 = fadd <8 x float> %t217, %t215
  store <8 x float> %t218, ptr %t53, align 64
  %t219 = load <8 x float>, ptr %t53, align 64
  %t220 = load <8 x float>, ptr %t54, align 64
  %t221 = fadd <8 x float> %t219, %t220
  %t222 = load <8 x float>, ptr %t55, align 64
  %t223 = fadd <8 x float> %t221, %t222
  %t224 = load <8 x float>, ptr %t56, align 64
  %t225 = fadd <8 x float> %t223, %t224
  %t226 = shufflevector <8 x float> %t225, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t227 = shufflevector <8 x float> %t225, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t228 = fadd <4 x float> %t226, %t227
  %t229 = shufflevector <4 x float> %t228, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t230 = shufflevector <4 x float> %t228, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t231 = fadd <2 x float> %t229, %t230
  %t232 = extractelement <2 x float> %t231, i64 0
  %t233 = extractelement <2 x float> %t231, i64 1
  %t234 = fadd float %t232, %t233
  %t235 = load float, ptr %t52, align 64
  %t236 = fadd float %t234, %t235
  %t240 = mul nsw i64 %t7, 40
  %t241 = getelementptr float, ptr %t4, i64 %t240
  %t246 = insertelement <8 x float> poison, float %t236, i64 0
  %t247 = shufflevector <8 x float> %t246, <8 x float> poison, <8 x i32> zeroinitializer
  br label %loop237
loop237:
  %t239 = phi i64 [ 0, %loop5 ], [ %t250, %loop237 ]
  %t242 = getelementptr float, ptr %t241, i64 %t239
  %t243 = load <8 x float>, ptr %t242, align 4
  %t244 = getelementptr float, ptr %t242, i64 8
  %t245 = load <8 x float>, ptr %t244, align 4
  %t248 = fdiv <8 x float> %t243, %t247
  %t249 = fdiv <8 x float> %t245, %t247
  store <8 x float> %t248, ptr %t242, align 4
  store <8 x float> %t249, ptr %t244, align 4
  %t250 = add nuw nsw i64 %t239, 16
  %t251 = icmp slt i64 %t250, 32
  br i1 %t251, label %loop237, label %after238
after238:
  %t252 = getelementptr float, ptr %t241, i64 32
  %t253 = load <8 x float>, ptr %t252, align 4
  %t254 = fdiv <8 x float> %t253, %t247
  store <8 x float> %t254, ptr %t252, align 4
  %t255 = add nuw nsw i64 %t7, 1
  %t256 = icmp slt i64 %t255, 4
  br i1 %t256, label %loop5, label %after6
after6:
  ret i32 0
}
