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
  %t7 = phi i64 [ 0, %entry ], [ %t226, %after209 ]
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
  %t142 = getelementptr float, ptr %t4, i64 %t58
  br label %loop55
loop55:
  %t57 = phi i64 [ 0, %loop5 ], [ %t149, %loop55 ]
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
  %t85 = fcmp olt <8 x float> %t73, splat (float 0xC05F800000000000)
  %t86 = fadd <8 x float> %t73, splat (float 0x4062A00000000000)
  %t87 = add <8 x i32> %t75, splat (i32 149)
  %t88 = select <8 x i1> %t85, <8 x float> %t86, <8 x float> %t73
  %t89 = select <8 x i1> %t85, <8 x i32> %t87, <8 x i32> %t75
  %t90 = ashr <8 x i32> %t89, splat (i32 1)
  %t91 = sub <8 x i32> %t89, %t90
  %t92 = add <8 x i32> %t90, splat (i32 127)
  %t93 = shl <8 x i32> %t92, splat (i32 23)
  %t94 = bitcast <8 x i32> %t93 to <8 x float>
  %t95 = fmul <8 x float> %t84, %t94
  %t96 = add <8 x i32> %t91, splat (i32 127)
  %t97 = shl <8 x i32> %t96, splat (i32 23)
  %t98 = bitcast <8 x i32> %t97 to <8 x float>
  %t99 = fmul <8 x float> %t95, %t98
  %t100 = fadd <8 x float> %t99, splat (float 0x4160000000000000)
  %t101 = bitcast <8 x float> %t100 to <8 x i32>
  %t102 = sub <8 x i32> %t101, splat (i32 1258291200)
  %t103 = bitcast <8 x i32> %t102 to <8 x float>
  %t104 = select <8 x i1> %t85, <8 x float> %t103, <8 x float> %t99
  %t105 = fcmp olt <8 x float> %t67, splat (float 0xC05A000000000000)
  %t106 = select <8 x i1> %t105, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t67
  %t107 = fcmp ogt <8 x float> %t106, splat (float 0x4056400000000000)
  %t108 = select <8 x i1> %t107, <8 x float> splat (float 0x4056400000000000), <8 x float> %t106
  %t109 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t108, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t110 = fsub <8 x float> %t109, splat (float 0x4168000000000000)
  %t111 = bitcast <8 x float> %t109 to <8 x i32>
  %t112 = sub <8 x i32> %t111, splat (i32 1262485504)
  %t113 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t110, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t108)
  %t114 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t110, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t113)
  %t115 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t114, <8 x float> splat (float 0x3F812397A0000000))
  %t116 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t115, <8 x float> %t114, <8 x float> splat (float 0x3FA5558AC0000000))
  %t117 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t116, <8 x float> %t114, <8 x float> splat (float 0x3FC5554920000000))
  %t118 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t117, <8 x float> %t114, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t119 = fmul <8 x float> %t114, %t114
  %t120 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t118, <8 x float> %t119, <8 x float> %t114)
  %t121 = fadd <8 x float> %t120, splat (float 0x3FF0000000000000)
  %t122 = fcmp olt <8 x float> %t110, splat (float 0xC05F800000000000)
  %t123 = fadd <8 x float> %t110, splat (float 0x4062A00000000000)
  %t124 = add <8 x i32> %t112, splat (i32 149)
  %t125 = select <8 x i1> %t122, <8 x float> %t123, <8 x float> %t110
  %t126 = select <8 x i1> %t122, <8 x i32> %t124, <8 x i32> %t112
  %t127 = ashr <8 x i32> %t126, splat (i32 1)
  %t128 = sub <8 x i32> %t126, %t127
  %t129 = add <8 x i32> %t127, splat (i32 127)
  %t130 = shl <8 x i32> %t129, splat (i32 23)
  %t131 = bitcast <8 x i32> %t130 to <8 x float>
  %t132 = fmul <8 x float> %t121, %t131
  %t133 = add <8 x i32> %t128, splat (i32 127)
  %t134 = shl <8 x i32> %t133, splat (i32 23)
  %t135 = bitcast <8 x i32> %t134 to <8 x float>
  %t136 = fmul <8 x float> %t132, %t135
  %t137 = fadd <8 x float> %t136, splat (float 0x4160000000000000)
  %t138 = bitcast <8 x float> %t137 to <8 x i32>
  %t139 = sub <8 x i32> %t138, splat (i32 1258291200)
  %t140 = bitcast <8 x i32> %t139 to <8 x float>
  %t141 = select <8 x i1> %t122, <8 x float> %t140, <8 x float> %t136
  %t143 = getelementptr float, ptr %t142, i64 %t57
  store <8 x float> %t104, ptr %t143, align 4
  %t144 = getelementptr float, ptr %t143, i64 8
  store <8 x float> %t141, ptr %t144, align 4
  %t145 = load <8 x float>, ptr %t53, align 64
  %t146 = fadd <8 x float> %t145, %t104
  store <8 x float> %t146, ptr %t53, align 64
  %t147 = load <8 x float>, ptr %t54, align 64
  %t148 = fadd <8 x float> %t147, %t141
  store <8 x float> %t148, ptr %t54, align 64
  %t149 = add nuw nsw i64 %t57, 16
  %t150 = icmp slt i64 %t149, 32
  br i1 %t150, label %loop55, label %after56
after56:
  %t151 = getelementptr float, ptr %t59, i64 32
  %t152 = load <8 x float>, ptr %t151, align 4
  %t153 = fsub <8 x float> %t152, %t65
  %t154 = fcmp olt <8 x float> %t153, splat (float 0xC05A000000000000)
  %t155 = select <8 x i1> %t154, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t153
  %t156 = fcmp ogt <8 x float> %t155, splat (float 0x4056400000000000)
  %t157 = select <8 x i1> %t156, <8 x float> splat (float 0x4056400000000000), <8 x float> %t155
  %t158 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t157, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t159 = fsub <8 x float> %t158, splat (float 0x4168000000000000)
  %t160 = bitcast <8 x float> %t158 to <8 x i32>
  %t161 = sub <8 x i32> %t160, splat (i32 1262485504)
  %t162 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t159, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t157)
  %t163 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t159, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t162)
  %t164 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t163, <8 x float> splat (float 0x3F812397A0000000))
  %t165 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t164, <8 x float> %t163, <8 x float> splat (float 0x3FA5558AC0000000))
  %t166 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t165, <8 x float> %t163, <8 x float> splat (float 0x3FC5554920000000))
  %t167 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t166, <8 x float> %t163, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t168 = fmul <8 x float> %t163, %t163
  %t169 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t167, <8 x float> %t168, <8 x float> %t163)
  %t170 = fadd <8 x float> %t169, splat (float 0x3FF0000000000000)
  %t171 = fcmp olt <8 x float> %t159, splat (float 0xC05F800000000000)
  %t172 = fadd <8 x float> %t159, splat (float 0x4062A00000000000)
  %t173 = add <8 x i32> %t161, splat (i32 149)
  %t174 = select <8 x i1> %t171, <8 x float> %t172, <8 x float> %t159
  %t175 = select <8 x i1> %t171, <8 x i32> %t173, <8 x i32> %t161
  %t176 = ashr <8 x i32> %t175, splat (i32 1)
  %t177 = sub <8 x i32> %t175, %t176
  %t178 = add <8 x i32> %t176, splat (i32 127)
  %t179 = shl <8 x i32> %t178, splat (i32 23)
  %t180 = bitcast <8 x i32> %t179 to <8 x float>
  %t181 = fmul <8 x float> %t170, %t180
  %t182 = add <8 x i32> %t177, splat (i32 127)
  %t183 = shl <8 x i32> %t182, splat (i32 23)
  %t184 = bitcast <8 x i32> %t183 to <8 x float>
  %t185 = fmul <8 x float> %t181, %t184
  %t186 = fadd <8 x float> %t185, splat (float 0x4160000000000000)
  %t187 = bitcast <8 x float> %t186 to <8 x i32>
  %t188 = sub <8 x i32> %t187, splat (i32 1258291200)
  %t189 = bitcast <8 x i32> %t188 to <8 x float>
  %t190 = select <8 x i1> %t171, <8 x float> %t189, <8 x float> %t185
  %t191 = getelementptr float, ptr %t142, i64 32
  store <8 x float> %t190, ptr %t191, align 4
  %t192 = load <8 x float>, ptr %t53, align 64
  %t193 = fadd <8 x float> %t192, %t190
  store <8 x float> %t193, ptr %t53, align 64
  %t194 = load <8 x float>, ptr %t53, align 64
  %t195 = load <8 x float>, ptr %t54, align 64
  %t196 = fadd <8 x float> %t194, %t195
  %t197 = shufflevector <8 x float> %t196, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t198 = shufflevector <8 x float> %t196, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t199 = fadd <4 x float> %t197, %t198
  %t200 = shufflevector <4 x float> %t199, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t201 = shufflevector <4 x float> %t199, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t202 = fadd <2 x float> %t200, %t201
  %t203 = extractelement <2 x float> %t202, i64 0
  %t204 = extractelement <2 x float> %t202, i64 1
  %t205 = fadd float %t203, %t204
  %t206 = load float, ptr %t52, align 64
  %t207 = fadd float %t205, %t206
  %t211 = mul nsw i64 %t7, 40
  %t212 = getelementptr float, ptr %t4, i64 %t211
  %t217 = insertelement <8 x float> poison, float %t207, i64 0
  %t218 = shufflevector <8 x float> %t217, <8 x float> poison, <8 x i32> zeroinitializer
  br label %loop208
loop208:
  %t210 = phi i64 [ 0, %after56 ], [ %t221, %loop208 ]
  %t213 = getelementptr float, ptr %t212, i64 %t210
  %t214 = load <8 x float>, ptr %t213, align 4
  %t215 = getelementptr float, ptr %t213, i64 8
  %t216 = load <8 x float>, ptr %t215, align 4
  %t219 = fdiv <8 x float> %t214, %t218
  %t220 = fdiv <8 x float> %t216, %t218
  store <8 x float> %t219, ptr %t213, align 4
  store <8 x float> %t220, ptr %t215, align 4
  %t221 = add nuw nsw i64 %t210, 16
  %t222 = icmp slt i64 %t221, 32
  br i1 %t222, label %loop208, label %after209
after209:
  %t223 = getelementptr float, ptr %t212, i64 32
  %t224 = load <8 x float>, ptr %t223, align 4
  %t225 = fdiv <8 x float> %t224, %t218
  store <8 x float> %t225, ptr %t223, align 4
  %t226 = add nuw nsw i64 %t7, 1
  %t227 = icmp slt i64 %t226, 4
  br i1 %t227, label %loop5, label %after6
after6:
  ret i32 0
}
