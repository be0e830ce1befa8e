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
  %t11 = alloca float, align 64
  %t12 = alloca <8 x float>, align 64
  %t13 = alloca <8 x float>, align 64
  %t14 = alloca <8 x float>, align 64
  %t15 = alloca <8 x float>, align 64
  %t55 = alloca float, align 64
  %t56 = alloca <8 x float>, align 64
  %t57 = alloca <8 x float>, align 64
  %t58 = alloca <8 x float>, align 64
  %t59 = alloca <8 x float>, align 64
  %t5 = icmp slt i64 %begin, %end
  br i1 %t5, label %do6, label %done7
do6:
  br label %loop8
loop8:
  %t10 = phi i64 [ %begin, %do6 ], [ %t258, %after241 ]
  store float 0xFFF0000000000000, ptr %t11, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t12, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t13, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t14, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t15, align 64
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
  %t26 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t18, <8 x float> %t25)
  store <8 x float> %t26, ptr %t12, align 64
  %t27 = load <8 x float>, ptr %t13, align 64
  %t28 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t20, <8 x float> %t27)
  store <8 x float> %t28, ptr %t13, align 64
  %t29 = load <8 x float>, ptr %t14, align 64
  %t30 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t22, <8 x float> %t29)
  store <8 x float> %t30, ptr %t14, align 64
  %t31 = load <8 x float>, ptr %t15, align 64
  %t32 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t24, <8 x float> %t31)
  store <8 x float> %t32, ptr %t15, align 64
  %t33 = getelementptr float, ptr %t17, i64 32
  %t34 = load <8 x float>, ptr %t33, align 4
  %t35 = load <8 x float>, ptr %t12, align 64
  %t36 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t34, <8 x float> %t35)
  store <8 x float> %t36, ptr %t12, align 64
  %t37 = load <8 x float>, ptr %t12, align 64
  %t38 = load <8 x float>, ptr %t13, align 64
  %t39 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t38, <8 x float> %t37)
  %t40 = load <8 x float>, ptr %t14, align 64
  %t41 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t40, <8 x float> %t39)
  %t42 = load <8 x float>, ptr %t15, align 64
  %t43 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t42, <8 x float> %t41)
  %t44 = shufflevector <8 x float> %t43, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t45 = shufflevector <8 x float> %t43, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t46 = call nsz <4 x float> @llvm.maximum.v4f32(<4 x float> %t45, <4 x float> %t44)
  %t47 = shufflevector <4 x float> %t46, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t48 = shufflevector <4 x float> %t46, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t49 = call nsz <2 x float> @llvm.maximum.v2f32(<2 x float> %t48, <2 x float> %t47)
  %t50 = extractelement <2 x float> %t49, i64 0
  %t51 = extractelement <2 x float> %t49, i64 1
  %t52 = call nsz float @llvm.maximum.f32(float %t51, float %t50)
  %t53 = load float, ptr %t11, align 64
  %t54 = call nsz float @llvm.maximum.f32(float %t53, float %t52)
  store float 0x0000000000000000, ptr %t55, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t56, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t57, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t58, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t59, align 64
  %t60 = load <8 x float>, ptr %t17, align 4
  %t61 = load <8 x float>, ptr %t19, align 4
  %t62 = load <8 x float>, ptr %t21, align 4
  %t63 = load <8 x float>, ptr %t23, align 4
  %t64 = insertelement <8 x float> poison, float %t54, i64 0
  %t65 = shufflevector <8 x float> %t64, <8 x float> poison, <8 x i32> zeroinitializer
  %t66 = fsub <8 x float> %t60, %t65
  %t67 = fsub <8 x float> %t61, %t65
  %t68 = fsub <8 x float> %t62, %t65
  %t69 = fsub <8 x float> %t63, %t65
  %t70 = fcmp olt <8 x float> %t66, splat (float 0xC05A000000000000)
  %t71 = select <8 x i1> %t70, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t66
  %t72 = fcmp ogt <8 x float> %t71, splat (float 0x4056400000000000)
  %t73 = select <8 x i1> %t72, <8 x float> splat (float 0x4056400000000000), <8 x float> %t71
  %t74 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t73, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t75 = fsub <8 x float> %t74, splat (float 0x4168000000000000)
  %t76 = bitcast <8 x float> %t74 to <8 x i32>
  %t77 = sub <8 x i32> %t76, splat (i32 1262485504)
  %t78 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t75, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t73)
  %t79 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t75, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t78)
  %t80 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t79, <8 x float> splat (float 0x3F812397A0000000))
  %t81 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t80, <8 x float> %t79, <8 x float> splat (float 0x3FA5558AC0000000))
  %t82 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t81, <8 x float> %t79, <8 x float> splat (float 0x3FC5554920000000))
  %t83 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t82, <8 x float> %t79, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t84 = fmul <8 x float> %t79, %t79
  %t85 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t83, <8 x float> %t84, <8 x float> %t79)
  %t86 = fadd <8 x float> %t85, splat (float 0x3FF0000000000000)
  %t87 = ashr <8 x i32> %t77, splat (i32 1)
  %t88 = sub <8 x i32> %t77, %t87
  %t89 = add <8 x i32> %t87, splat (i32 127)
  %t90 = shl <8 x i32> %t89, splat (i32 23)
  %t91 = bitcast <8 x i32> %t90 to <8 x float>
  %t92 = fmul <8 x float> %t86, %t91
  %t93 = add <8 x i32> %t88, splat (i32 127)
  %t94 = shl <8 x i32> %t93, splat (i32 23)
  %t95 = bitcast <8 x i32> %t94 to <8 x float>
  %t96 = fmul <8 x float> %t92, %t95
  %t97 = fcmp olt <8 x float> %t67, splat (float 0xC05A000000000000)
  %t98 = select <8 x i1> %t97, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t67
  %t99 = fcmp ogt <8 x float> %t98, splat (float 0x4056400000000000)
  %t100 = select <8 x i1> %t99, <8 x float> splat (float 0x4056400000000000), <8 x float> %t98
  %t101 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t100, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t102 = fsub <8 x float> %t101, splat (float 0x4168000000000000)
  %t103 = bitcast <8 x float> %t101 to <8 x i32>
  %t104 = sub <8 x i32> %t103, splat (i32 1262485504)
  %t105 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t102, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t100)
  %t106 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t102, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t105)
  %t107 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t106, <8 x float> splat (float 0x3F812397A0000000))
  %t108 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t107, <8 x float> %t106, <8 x float> splat (float 0x3FA5558AC0000000))
  %t109 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t108, <8 x float> %t106, <8 x float> splat (float 0x3FC5554920000000))
  %t110 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t109, <8 x float> %t106, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t111 = fmul <8 x float> %t106, %t106
  %t112 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t110, <8 x float> %t111, <8 x float> %t106)
  %t113 = fadd <8 x float> %t112, splat (float 0x3FF0000000000000)
  %t114 = ashr <8 x i32> %t104, splat (i32 1)
  %t115 = sub <8 x i32> %t104, %t114
  %t116 = add <8 x i32> %t114, splat (i32 127)
  %t117 = shl <8 x i32> %t116, splat (i32 23)
  %t118 = bitcast <8 x i32> %t117 to <8 x float>
  %t119 = fmul <8 x float> %t113, %t118
  %t120 = add <8 x i32> %t115, splat (i32 127)
  %t121 = shl <8 x i32> %t120, splat (i32 23)
  %t122 = bitcast <8 x i32> %t121 to <8 x float>
  %t123 = fmul <8 x float> %t119, %t122
  %t124 = fcmp olt <8 x float> %t68, splat (float 0xC05A000000000000)
  %t125 = select <8 x i1> %t124, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t68
  %t126 = fcmp ogt <8 x float> %t125, splat (float 0x4056400000000000)
  %t127 = select <8 x i1> %t126, <8 x float> splat (float 0x4056400000000000), <8 x float> %t125
  %t128 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t127, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t129 = fsub <8 x float> %t128, splat (float 0x4168000000000000)
  %t130 = bitcast <8 x float> %t128 to <8 x i32>
  %t131 = sub <8 x i32> %t130, splat (i32 1262485504)
  %t132 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t129, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t127)
  %t133 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t129, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t132)
  %t134 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t133, <8 x float> splat (float 0x3F812397A0000000))
  %t135 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t134, <8 x float> %t133, <8 x float> splat (float 0x3FA5558AC0000000))
  %t136 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t135, <8 x float> %t133, <8 x float> splat (float 0x3FC5554920000000))
  %t137 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t136, <8 x float> %t133, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t138 = fmul <8 x float> %t133, %t133
  %t139 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t137, <8 x float> %t138, <8 x float> %t133)
  %t140 = fadd <8 x float> %t139, splat (float 0x3FF0000000000000)
  %t141 = ashr <8 x i32> %t131, splat (i32 1)
  %t142 = sub <8 x i32> %t131, %t141
  %t143 = add <8 x i32> %t141, splat (i32 127)
  %t144 = shl <8 x i32> %t143, splat (i32 23)
  %t145 = bitcast <8 x i32> %t144 to <8 x float>
  %t146 = fmul <8 x float> %t140, %t145
  %t147 = add <8 x i32> %t142, splat (i32 127)
  %t148 = shl <8 x i32> %t147, splat (i32 23)
  %t149 = bitcast <8 x i32> %t148 to <8 x float>
  %t150 = fmul <8 x float> %t146, %t149
  %t151 = fcmp olt <8 x float> %t69, splat (float 0xC05A000000000000)
  %t152 = select <8 x i1> %t151, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t69
  %t153 = fcmp ogt <8 x float> %t152, splat (float 0x4056400000000000)
  %t154 = select <8 x i1> %t153, <8 x float> splat (float 0x4056400000000000), <8 x float> %t152
  %t155 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t154, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t156 = fsub <8 x float> %t155, splat (float 0x4168000000000000)
  %t157 = bitcast <8 x float> %t155 to <8 x i32>
  %t158 = sub <8 x i32> %t157, splat (i32 1262485504)
  %t159 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t156, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t154)
  %t160 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t156, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t159)
  %t161 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t160, <8 x float> splat (float 0x3F812397A0000000))
  %t162 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t161, <8 x float> %t160, <8 x float> splat (float 0x3FA5558AC0000000))
  %t163 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t162, <8 x float> %t160, <8 x float> splat (float 0x3FC5554920000000))
  %t164 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t163, <8 x float> %t160, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t165 = fmul <8 x float> %t160, %t160
  %t166 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t164, <8 x float> %t165, <8 x float> %t160)
  %t167 = fadd <8 x float> %t166, splat (float 0x3FF0000000000000)
  %t168 = ashr <8 x i32> %t158, splat (i32 1)
  %t169 = sub <8 x i32> %t158, %t168
  %t170 = add <8 x i32> %t168, splat (i32 127)
  %t171 = shl <8 x i32> %t170, splat (i32 23)
  %t172 = bitcast <8 x i32> %t171 to <8 x float>
  %t173 = fmul <8 x float> %t167, %t172
  %t174 = add <8 x i32> %t169, splat (i32 127)
  %t175 = shl <8 x i32> %t174, splat (i32 23)
  %t176 = bitcast <8 x i32> %t175 to <8 x float>
  %t177 = fmul <8 x float> %t173, %t176
  %t178 = getelementptr float, ptr %t4, i64 %t16
  store <8 x float> %t96, ptr %t178, align 4
  %t179 = getelementptr float, ptr %t178, i64 8
  store <8 x float> %t123, ptr %t179, align 4
  %t180 = getelementptr float, ptr %t178, i64 16
  store <8 x float> %t150, ptr %t180, align 4
  %t181 = getelementptr float, ptr %t178, i64 24
  store <8 x float> %t177, ptr %t181, align 4
  %t182 = load <8 x float>, ptr %t56, align 64
  %t183 = fadd <8 x float> %t182, %t96
  store <8 x float> %t183, ptr %t56, align 64
  %t184 = load <8 x float>, ptr %t57, align 64
  %t185 = fadd <8 x float> %t184, %t123
  store <8 x float> %t185, ptr %t57, align 64
  %t186 = load <8 x float>, ptr %t58, align 64
  %t187 = fadd <8 x float> %t186, %t150
  store <8 x float> %t187, ptr %t58, align 64
  %t188 = load <8 x float>, ptr %t59, align 64
  %t189 = fadd <8 x float> %t188, %t177
  store <8 x float> %t189, ptr %t59, align 64
  %t190 = load <8 x float>, ptr %t33, align 4
  %t191 = fsub <8 x float> %t190, %t65
  %t192 = fcmp olt <8 x float> %t191, splat (float 0xC05A000000000000)
  %t193 = select <8 x i1> %t192, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t191
  %t194 = fcmp ogt <8 x float> %t193, splat (float 0x4056400000000000)
  %t195 = select <8 x i1> %t194, <8 x float> splat (float 0x4056400000000000), <8 x float> %t193
  %t196 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t195, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t197 = fsub <8 x float> %t196, splat (float 0x4168000000000000)
  %t198 = bitcast <8 x float> %t196 to <8 x i32>
  %t199 = sub <8 x i32> %t198, splat (i32 1262485504)
  %t200 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t197, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t195)
  %t201 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t197, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t200)
  %t202 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t201, <8 x float> splat (float 0x3F812397A0000000))
  %t203 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t202, <8 x float> %t201, <8 x float> splat (float 0x3FA5558AC0000000))
  %t204 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t203, <8 x float> %t201, <8 x float> splat (float 0x3FC5554920000000))
  %t205 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t204, <8 x float> %t201, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t206 = fmul <8 x float> %t201, %t201
  %t207 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t205, <8 x float> %t206, <8 x float> %t201)
  %t208 = fadd <8 x float> %t207, splat (float 0x3FF0000000000000)
  %t209 = ashr <8 x i32> %t199, splat (i32 1)
  %t210 = sub <8 x i32> %t199, %t209
  %t211 = add <8 x i32> %t209, splat (i32 127)
  %t212 = shl <8 x i32> %t211, splat (i32 23)
  %t213 = bitcast <8 x i32> %t212 to <8 x float>
  %t214 = fmul <8 x float> %t208, %t213
  %t215 = add <8 x i32> %t210, splat (i32 127)
  %t216 = shl <8 x i32> %t215, splat (i32 23)
  %t217 = bitcast <8 x i32> %t216 to <8 x float>
  %t218 = fmul <8 x float> %t214, %t217
  %t219 = getelementptr float, ptr %t178, i64 32
  store <8 x float> %t218, ptr %t219, align 4
  %t220 = load <8 x float>, ptr %t56, align 64
  %t221 = fadd <8 x float> %t220, %t218
  store <8 x float> %t221, ptr %t56, align 64
  %t222 = load <8 x float>, ptr %t56, align 64
  %t223 = load <8 x float>, ptr %t57, align 64
  %t224 = fadd <8 x float> %t222, %t223
  %t225 = load <8 x float>, ptr %t58, align 64
  %t226 = fadd <8 x float> %t224, %t225
  %t227 = load <8 x float>, ptr %t59, align 64
  %t228 = fadd <8 x float> %t226, %t227
  %t229 = shufflevector <8 x float> %t228, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t230 = shufflevector <8 x float> %t228, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t231 = fadd <4 x float> %t229, %t230
  %t232 = shufflevector <4 x float> %t231, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t233 = shufflevector <4 x float> %t231, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t234 = fadd <2 x float> %t232, %t233
  %t235 = extractelement <2 x float> %t234, i64 0
  %t236 = extractelement <2 x float> %t234, i64 1
  %t237 = fadd float %t235, %t236
  %t238 = load float, ptr %t55, align 64
  %t239 = fadd float %t237, %t238
  %t243 = mul nsw i64 %t10, 40
  %t244 = getelementptr float, ptr %t4, i64 %t243
  %t249 = insertelement <8 x float> poison, float %t239, i64 0
  %t250 = shufflevector <8 x float> %t249, <8 x float> poison, <8 x i32> zeroinitializer
  br label %loop240
loop240:
  %t242 = phi i64 [ 0, %loop8 ], [ %t253, %loop240 ]
  %t245 = getelementptr float, ptr %t244, i64 %t242
  %t246 = load <8 x float>, ptr %t245, align 4
  %t247 = getelementptr float, ptr %t245, i64 8
  %t248 = load <8 x float>, ptr %t247, align 4
  %t251 = fdiv <8 x float> %t246, %t250
  %t252 = fdiv <8 x float> %t248, %t250
  store <8 x float> %t251, ptr %t245, align 4
  store <8 x float> %t252, ptr %t247, align 4
  %t253 = add nuw nsw i64 %t242, 16
  %t254 = icmp slt i64 %t253, 32
  br i1 %t254, label %loop240, label %after241
after241:
  %t255 = getelementptr float, ptr %t244, i64 32
  %t256 = load <8 x float>, ptr %t255, align 4
  %t257 = fdiv <8 x float> %t256, %t250
  store <8 x float> %t257, ptr %t255, align 4
  %t258 = add nuw nsw i64 %t10, 1
  %t259 = icmp slt i64 %t258, %end
  br i1 %t259, label %loop8, label %after9
after9:
  br label %done7
done7:
  ret i32 0
}
