define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t11 = alloca float, align 64
  %t12 = alloca i64, align 64
  %t13 = alloca <8 x float>, align 64
  %t14 = alloca <8 x i64>, align 64
  %t15 = alloca <8 x float>, align 64
  %t16 = alloca <8 x i64>, align 64
  %t17 = alloca <8 x float>, align 64
  %t18 = alloca <8 x i64>, align 64
  %t19 = alloca <8 x float>, align 64
  %t20 = alloca <8 x i64>, align 64
  %t5 = icmp slt i64 %begin, %end
  br i1 %t5, label %do6, label %done7
do6:
  br label %loop8
loop8:
  %t10 = phi i64 [ %begin, %do6 ], [ %t261, %loop8 ]
  store float 0xFFF0000000000000, ptr %t11, align 64
  store i64 -1, ptr %t12, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t13, align 64
  store <8 x i64> splat (i64 -1), ptr %t14, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t15, align 64
  store <8 x i64> splat (i64 -1), ptr %t16, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t17, align 64
  store <8 x i64> splat (i64 -1), ptr %t18, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t19, align 64
  store <8 x i64> splat (i64 -1), ptr %t20, align 64
  %t21 = mul nsw i64 %t10, 40
  %t22 = getelementptr float, ptr %t2, i64 %t21
  %t23 = load <8 x float>, ptr %t22, align 4
  %t24 = getelementptr float, ptr %t22, i64 8
  %t25 = load <8 x float>, ptr %t24, align 4
  %t26 = getelementptr float, ptr %t22, i64 16
  %t27 = load <8 x float>, ptr %t26, align 4
  %t28 = getelementptr float, ptr %t22, i64 24
  %t29 = load <8 x float>, ptr %t28, align 4
  %t30 = add <8 x i64> splat (i64 0), <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %t31 = add <8 x i64> splat (i64 8), <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %t32 = add <8 x i64> splat (i64 16), <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %t33 = add <8 x i64> splat (i64 24), <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %t34 = load <8 x float>, ptr %t13, align 64
  %t35 = load <8 x i64>, ptr %t14, align 64
  %t36 = icmp eq <8 x i64> %t35, splat (i64 -1)
  %t37 = fcmp ogt <8 x float> %t23, %t34
  %t38 = fcmp uno <8 x float> %t23, %t23
  %t39 = fcmp uno <8 x float> %t34, %t34
  %t40 = xor <8 x i1> %t39, splat (i1 true)
  %t41 = and <8 x i1> %t38, %t40
  %t42 = or <8 x i1> %t37, %t41
  %t43 = fcmp oeq <8 x float> %t23, %t34
  %t44 = and <8 x i1> %t38, %t39
  %t45 = or <8 x i1> %t43, %t44
  %t46 = or <8 x i1> %t42, %t36
  %t47 = select <8 x i1> %t46, <8 x float> %t23, <8 x float> %t34
  %t48 = select <8 x i1> %t46, <8 x i64> %t30, <8 x i64> %t35
  store <8 x float> %t47, ptr %t13, align 64
  store <8 x i64> %t48, ptr %t14, align 64
  %t49 = load <8 x float>, ptr %t15, align 64
  %t50 = load <8 x i64>, ptr %t16, align 64
  %t51 = icmp eq <8 x i64> %t50, splat (i64 -1)
  %t52 = fcmp ogt <8 x float> %t25, %t49
  %t53 = fcmp uno <8 x float> %t25, %t25
  %t54 = fcmp uno <8 x float> %t49, %t49
  %t55 = xor <8 x i1> %t54, splat (i1 true)
  %t56 = and <8 x i1> %t53, %t55
  %t57 = or <8 x i1> %t52, %t56
  %t58 = fcmp oeq <8 x float> %t25, %t49
  %t59 = and <8 x i1> %t53, %t54
  %t60 = or <8 x i1> %t58, %t59
  %t61 = or <8 x i1> %t57, %t51
  %t62 = select <8 x i1> %t61, <8 x float> %t25, <8 x float> %t49
  %t63 = select <8 x i1> %t61, <8 x i64> %t31, <8 x i64> %t50
  store <8 x float> %t62, ptr %t15, align 64
  store <8 x i64> %t63, ptr %t16, align 64
  %t64 = load <8 x float>, ptr %t17, align 64
  %t65 = load <8 x i64>, ptr %t18, align 64
  %t66 = icmp eq <8 x i64> %t65, splat (i64 -1)
  %t67 = fcmp ogt <8 x float> %t27, %t64
  %t68 = fcmp uno <8 x float> %t27, %t27
  %t69 = fcmp uno <8 x float> %t64, %t64
  %t70 = xor <8 x i1> %t69, splat (i1 true)
  %t71 = and <8 x i1> %t68, %t70
  %t72 = or <8 x i1> %t67, %t71
  %t73 = fcmp oeq <8 x float> %t27, %t64
  %t74 = and <8 x i1> %t68, %t69
  %t75 = or <8 x i1> %t73, %t74
  %t76 = or <8 x i1> %t72, %t66
  %t77 = select <8 x i1> %t76, <8 x float> %t27, <8 x float> %t64
  %t78 = select <8 x i1> %t76, <8 x i64> %t32, <8 x i64> %t65
  store <8 x float> %t77, ptr %t17, align 64
  store <8 x i64> %t78, ptr %t18, align 64
  %t79 = load <8 x float>, ptr %t19, align 64
  %t80 = load <8 x i64>, ptr %t20, align 64
  %t81 = icmp eq <8 x i64> %t80, splat (i64 -1)
  %t82 = fcmp ogt <8 x float> %t29, %t79
  %t83 = fcmp uno <8 x float> %t29, %t29
  %t84 = fcmp uno <8 x float> %t79, %t79
  %t85 = xor <8 x i1> %t84, splat (i1 true)
  %t86 = and <8 x i1> %t83, %t85
  %t87 = or <8 x i1> %t82, %t86
  %t88 = fcmp oeq <8 x float> %t29, %t79
  %t89 = and <8 x i1> %t83, %t84
  %t90 = or <8 x i1> %t88, %t89
  %t91 = or <8 x i1> %t87, %t81
  %t92 = select <8 x i1> %t91, <8 x float> %t29, <8 x float> %t79
  %t93 = select <8 x i1> %t91, <8 x i64> %t33, <8 x i64> %t80
  store <8 x float> %t92, ptr %t19, align 64
  store <8 x i64> %t93, ptr %t20, align 64
  %t94 = getelementptr float, ptr %t22, i64 32
  %t95 = load <8 x float>, ptr %t94, align 4
  %t96 = add <8 x i64> splat (i64 32), <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %t97 = load <8 x float>, ptr %t13, align 64
  %t98 = load <8 x i64>, ptr %t14, align 64
  %t99 = icmp eq <8 x i64> %t98, splat (i64 -1)
  %t100 = fcmp ogt <8 x float> %t95, %t97
  %t101 = fcmp uno <8 x float> %t95, %t95
  %t102 = fcmp uno <8 x float> %t97, %t97
  %t103 = xor <8 x i1> %t102, splat (i1 true)
  %t104 = and <8 x i1> %t101, %t103
  %t105 = or <8 x i1> %t100, %t104
  %t106 = fcmp oeq <8 x float> %t95, %t97
  %t107 = and <8 x i1> %t101, %t102
  %t108 = or <8 x i1> %t106, %t107
  %t109 = or <8 x i1> %t105, %t99
  %t110 = select <8 x i1> %t109, <8 x float> %t95, <8 x float> %t97
  %t111 = select <8 x i1> %t109, <8 x i64> %t96, <8 x i64> %t98
  store <8 x float> %t110, ptr %t13, align 64
  store <8 x i64> %t111, ptr %t14, align 64
  %t112 = load <8 x float>, ptr %t13, align 64
  %t113 = load <8 x i64>, ptr %t14, align 64
  %t114 = load <8 x float>, ptr %t15, align 64
  %t115 = load <8 x i64>, ptr %t16, align 64
  %t116 = icmp eq <8 x i64> %t113, splat (i64 -1)
  %t117 = fcmp ogt <8 x float> %t114, %t112
  %t118 = fcmp uno <8 x float> %t114, %t114
  %t119 = fcmp uno <8 x float> %t112, %t112
  %t120 = xor <8 x i1> %t119, splat (i1 true)
  %t121 = and <8 x i1> %t118, %t120
  %t122 = or <8 x i1> %t117, %t121
  %t123 = fcmp oeq <8 x float> %t114, %t112
  %t124 = and <8 x i1> %t118, %t119
  %t125 = or <8 x i1> %t123, %t124
  %t126 = or <8 x i1> %t122, %t116
  %t127 = icmp slt <8 x i64> %t115, %t113
  %t128 = and <8 x i1> %t125, %t127
  %t129 = or <8 x i1> %t126, %t128
  %t130 = icmp ne <8 x i64> %t115, splat (i64 -1)
  %t131 = and <8 x i1> %t129, %t130
  %t132 = select <8 x i1> %t131, <8 x float> %t114, <8 x float> %t112
  %t133 = select <8 x i1> %t131, <8 x i64> %t115, <8 x i64> %t113
  %t134 = load <8 x float>, ptr %t17, align 64
  %t135 = load <8 x i64>, ptr %t18, align 64
  %t136 = icmp eq <8 x i64> %t133, splat (i64 -1)
  %t137 = fcmp ogt <8 x float> %t134, %t132
  %t138 = fcmp uno <8 x float> %t134, %t134
  %t139 = fcmp uno <8 x float> %t132, %t132
  %t140 = xor <8 x i1> %t139, splat (i1 true)
  %t141 = and <8 x i1> %t138, %t140
  %t142 = or <8 x i1> %t137, %t141
  %t143 = fcmp oeq <8 x float> %t134, %t132
  %t144 = and <8 x i1> %t138, %t139
  %t145 = or <8 x i1> %t143, %t144
  %t146 = or <8 x i1> %t142, %t136
  %t147 = icmp slt <8 x i64> %t135, %t133
  %t148 = and <8 x i1> %t145, %t147
  %t149 = or <8 x i1> %t146, %t148
  %t150 = icmp ne <8 x i64> %t135, splat (i64 -1)
  %t151 = and <8 x i1> %t149, %t150
  %t152 = select <8 x i1> %t151, <8 x float> %t134, <8 x float> %t132
  %t153 = select <8 x i1> %t151, <8 x i64> %t135, <8 x i64> %t133
  %t154 = load <8 x float>, ptr %t19, align 64
  %t155 = load <8 x i64>, ptr %t20, align 64
  %t156 = icmp eq <8 x i64> %t153, splat (i64 -1)
  %t157 = fcmp ogt <8 x float> %t154, %t152
  %t158 = fcmp uno <8 x float> %t154, %t154
  %t159 = fcmp uno <8 x float> %t152, %t152
  %t160 = xor <8 x i1> %t159, splat (i1 true)
  %t161 = and <8 x i1> %t158, %t160
  %t162 = or <8 x i1> %t157, %t161
  %t163 = fcmp oeq <8 x float> %t154, %t152
  %t164 = and <8 x i1> %t158, %t159
  %t165 = or <8 x i1> %t163, %t164
  %t166 = or <8 x i1> %t162, %t156
  %t167 = icmp slt <8 x i64> %t155, %t153
  %t168 = and <8 x i1> %t165, %t167
  %t169 = or <8 x i1> %t166, %t168
  %t170 = icmp ne <8 x i64> %t155, splat (i64 -1)
  %t171 = and <8 x i1> %t169, %t170
  %t172 = select <8 x i1> %t171, <8 x float> %t154, <8 x float> %t152
  %t173 = select <8 x i1> %t171, <8 x i64> %t155, <8 x i64> %t153
  %t174 = shufflevector <8 x float> %t172, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t175 = shufflevector <8 x i64> %t173, <8 x i64> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t176 = shufflevector <8 x float> %t172, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t177 = shufflevector <8 x i64> %t173, <8 x i64> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t178 = icmp eq <4 x i64> %t175, splat (i64 -1)
  %t179 = fcmp ogt <4 x float> %t176, %t174
  %t180 = fcmp uno <4 x float> %t176, %t176
  %t181 = fcmp uno <4 x float> %t174, %t174
  %t182 = xor <4 x i1> %t181, splat (i1 true)
  %t183 = and <4 x i1> %t180, %t182
  %t184 = or <4 x i1> %t179, %t183
  %t185 = fcmp oeq <4 x float> %t176, %t174
  %t186 = and <4 x i1> %t180, %t181
  %t187 = or <4 x i1> %t185, %t186
  %t188 = or <4 x i1> %t184, %t178
  %t189 = icmp slt <4 x i64> %t177, %t175
  %t190 = and <4 x i1> %t187, %t189
  %t191 = or <4 x i1> %t188, %t190
  %t192 = icmp ne <4 x i64> %t177, splat (i64 -1)
  %t193 = and <4 x i1> %t191, %t192
  %t194 = select <4 x i1> %t193, <4 x float> %t176, <4 x float> %t174
  %t195 = select <4 x i1> %t193, <4 x i64> %t177, <4 x i64> %t175
  %t196 = shufflevector <4 x float> %t194, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t197 = shufflevector <4 x i64> %t195, <4 x i64> poison, <2 x i32> <i32 0, i32 1>
  %t198 = shufflevector <4 x float> %t194, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t199 = shufflevector <4 x i64> %t195, <4 x i64> poison, <2 x i32> <i32 2, i32 3>
  %t200 = icmp eq <2 x i64> %t197, splat (i64 -1)
  %t201 = fcmp ogt <2 x float> %t198, %t196
  %t202 = fcmp uno <2 x float> %t198, %t198
  %t203 = fcmp uno <2 x float> %t196, %t196
  %t204 = xor <2 x i1> %t203, splat (i1 true)
  %t205 = and <2 x i1> %t202, %t204
  %t206 = or <2 x i1> %t201, %t205
  %t207 = fcmp oeq <2 x float> %t198, %t196
  %t208 = and <2 x i1> %t202, %t203
  %t209 = or <2 x i1> %t207, %t208
  %t210 = or <2 x i1> %t206, %t200
  %t211 = icmp slt <2 x i64> %t199, %t197
  %t212 = and <2 x i1> %t209, %t211
  %t213 = or <2 x i1> %t210, %t212
  %t214 = icmp ne <2 x i64> %t199, splat (i64 -1)
  %t215 = and <2 x i1> %t213, %t214
  %t216 = select <2 x i1> %t215, <2 x float> %t198, <2 x float> %t196
  %t217 = select <2 x i1> %t215, <2 x i64> %t199, <2 x i64> %t197
  %t218 = extractelement <2 x float> %t216, i64 0
  %t219 = extractelement <2 x i64> %t217, i64 0
  %t220 = extractelement <2 x float> %t216, i64 1
  %t221 = extractelement <2 x i64> %t217, i64 1
  %t222 = icmp eq i64 %t219, -1
  %t223 = fcmp ogt float %t220, %t218
  %t224 = fcmp uno float %t220, %t220
  %t225 = fcmp uno float %t218, %t218
  %t226 = xor i1 %t225, true
  %t227 = and i1 %t224, %t226
  %t228 = or i1 %t223, %t227
  %t229 = fcmp oeq float %t220, %t218
  %t230 = and i1 %t224, %t225
  %t231 = or i1 %t229, %t230
  %t232 = or i1 %t228, %t222
  %t233 = icmp slt i64 %t221, %t219
  %t234 = and i1 %t231, %t233
  %t235 = or i1 %t232, %t234
  %t236 = icmp ne i64 %t221, -1
  %t237 = and i1 %t235, %t236
  %t238 = select i1 %t237, float %t220, float %t218
  %t239 = select i1 %t237, i64 %t221, i64 %t219
  %t240 = load float, ptr %t11, align 64
  %t241 = load i64, ptr %t12, align 64
  %t242 = icmp eq i64 %t239, -1
  %t243 = fcmp ogt float %t240, %t238
  %t244 = fcmp uno float %t240, %t240
  %t245 = fcmp uno float %t238, %t238
  %t246 = xor i1 %t245, true
  %t247 = and i1 %t244, %t246
  %t248 = or i1 %t243, %t247
  %t249 = fcmp oeq float %t240, %t238
  %t250 = and i1 %t244, %t245
  %t251 = or i1 %t249, %t250
  %t252 = or i1 %t248, %t242
  %t253 = icmp slt i64 %t241, %t239
  %t254 = and i1 %t251, %t253
  %t255 = or i1 %t252, %t254
  %t256 = icmp ne i64 %t241, -1
  %t257 = and i1 %t255, %t256
  %t258 = select i1 %t257, float %t240, float %t238
  %t259 = select i1 %t257, i64 %t241, i64 %t239
  %t260 = getelementptr i64, ptr %t4, i64 %t10
  store i64 %t259, ptr %t260, align 8
  %t261 = add nuw nsw i64 %t10, 1
  %t262 = icmp slt i64 %t261, %end
  br i1 %t262, label %loop8, label %after9
after9:
  br label %done7
done7:
  ret i32 0
}
