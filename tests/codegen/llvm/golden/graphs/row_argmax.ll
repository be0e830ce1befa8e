define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t8 = alloca float, align 64
  %t9 = alloca i64, align 64
  %t10 = alloca <8 x float>, align 64
  %t11 = alloca <8 x i64>, align 64
  %t12 = alloca <8 x float>, align 64
  %t13 = alloca <8 x i64>, align 64
  %t14 = alloca <8 x float>, align 64
  %t15 = alloca <8 x i64>, align 64
  %t16 = alloca <8 x float>, align 64
  %t17 = alloca <8 x i64>, align 64
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t258, %loop5 ]
  store float 0xFFF0000000000000, ptr %t8, align 64
  store i64 -1, ptr %t9, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t10, align 64
  store <8 x i64> splat (i64 -1), ptr %t11, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t12, align 64
  store <8 x i64> splat (i64 -1), ptr %t13, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t14, align 64
  store <8 x i64> splat (i64 -1), ptr %t15, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t16, align 64
  store <8 x i64> splat (i64 -1), ptr %t17, align 64
  %t18 = mul nsw i64 %t7, 40
  %t19 = getelementptr float, ptr %t2, i64 %t18
  %t20 = load <8 x float>, ptr %t19, align 4
  %t21 = getelementptr float, ptr %t19, i64 8
  %t22 = load <8 x float>, ptr %t21, align 4
  %t23 = getelementptr float, ptr %t19, i64 16
  %t24 = load <8 x float>, ptr %t23, align 4
  %t25 = getelementptr float, ptr %t19, i64 24
  %t26 = load <8 x float>, ptr %t25, align 4
  %t27 = add <8 x i64> splat (i64 0), <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %t28 = add <8 x i64> splat (i64 8), <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %t29 = add <8 x i64> splat (i64 16), <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %t30 = add <8 x i64> splat (i64 24), <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %t31 = load <8 x float>, ptr %t10, align 64
  %t32 = load <8 x i64>, ptr %t11, align 64
  %t33 = icmp eq <8 x i64> %t32, splat (i64 -1)
  %t34 = fcmp ogt <8 x float> %t20, %t31
  %t35 = fcmp uno <8 x float> %t20, %t20
  %t36 = fcmp uno <8 x float> %t31, %t31
  %t37 = xor <8 x i1> %t36, splat (i1 true)
  %t38 = and <8 x i1> %t35, %t37
  %t39 = or <8 x i1> %t34, %t38
  %t40 = fcmp oeq <8 x float> %t20, %t31
  %t41 = and <8 x i1> %t35, %t36
  %t42 = or <8 x i1> %t40, %t41
  %t43 = or <8 x i1> %t39, %t33
  %t44 = select <8 x i1> %t43, <8 x float> %t20, <8 x float> %t31
  %t45 = select <8 x i1> %t43, <8 x i64> %t27, <8 x i64> %t32
  store <8 x float> %t44, ptr %t10, align 64
  store <8 x i64> %t45, ptr %t11, align 64
  %t46 = load <8 x float>, ptr %t12, align 64
  %t47 = load <8 x i64>, ptr %t13, align 64
  %t48 = icmp eq <8 x i64> %t47, splat (i64 -1)
  %t49 = fcmp ogt <8 x float> %t22, %t46
  %t50 = fcmp uno <8 x float> %t22, %t22
  %t51 = fcmp uno <8 x float> %t46, %t46
  %t52 = xor <8 x i1> %t51, splat (i1 true)
  %t53 = and <8 x i1> %t50, %t52
  %t54 = or <8 x i1> %t49, %t53
  %t55 = fcmp oeq <8 x float> %t22, %t46
  %t56 = and <8 x i1> %t50, %t51
  %t57 = or <8 x i1> %t55, %t56
  %t58 = or <8 x i1> %t54, %t48
  %t59 = select <8 x i1> %t58, <8 x float> %t22, <8 x float> %t46
  %t60 = select <8 x i1> %t58, <8 x i64> %t28, <8 x i64> %t47
  store <8 x float> %t59, ptr %t12, align 64
  store <8 x i64> %t60, ptr %t13, align 64
  %t61 = load <8 x float>, ptr %t14, align 64
  %t62 = load <8 x i64>, ptr %t15, align 64
  %t63 = icmp eq <8 x i64> %t62, splat (i64 -1)
  %t64 = fcmp ogt <8 x float> %t24, %t61
  %t65 = fcmp uno <8 x float> %t24, %t24
  %t66 = fcmp uno <8 x float> %t61, %t61
  %t67 = xor <8 x i1> %t66, splat (i1 true)
  %t68 = and <8 x i1> %t65, %t67
  %t69 = or <8 x i1> %t64, %t68
  %t70 = fcmp oeq <8 x float> %t24, %t61
  %t71 = and <8 x i1> %t65, %t66
  %t72 = or <8 x i1> %t70, %t71
  %t73 = or <8 x i1> %t69, %t63
  %t74 = select <8 x i1> %t73, <8 x float> %t24, <8 x float> %t61
  %t75 = select <8 x i1> %t73, <8 x i64> %t29, <8 x i64> %t62
  store <8 x float> %t74, ptr %t14, align 64
  store <8 x i64> %t75, ptr %t15, align 64
  %t76 = load <8 x float>, ptr %t16, align 64
  %t77 = load <8 x i64>, ptr %t17, align 64
  %t78 = icmp eq <8 x i64> %t77, splat (i64 -1)
  %t79 = fcmp ogt <8 x float> %t26, %t76
  %t80 = fcmp uno <8 x float> %t26, %t26
  %t81 = fcmp uno <8 x float> %t76, %t76
  %t82 = xor <8 x i1> %t81, splat (i1 true)
  %t83 = and <8 x i1> %t80, %t82
  %t84 = or <8 x i1> %t79, %t83
  %t85 = fcmp oeq <8 x float> %t26, %t76
  %t86 = and <8 x i1> %t80, %t81
  %t87 = or <8 x i1> %t85, %t86
  %t88 = or <8 x i1> %t84, %t78
  %t89 = select <8 x i1> %t88, <8 x float> %t26, <8 x float> %t76
  %t90 = select <8 x i1> %t88, <8 x i64> %t30, <8 x i64> %t77
  store <8 x float> %t89, ptr %t16, align 64
  store <8 x i64> %t90, ptr %t17, align 64
  %t91 = getelementptr float, ptr %t19, i64 32
  %t92 = load <8 x float>, ptr %t91, align 4
  %t93 = add <8 x i64> splat (i64 32), <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %t94 = load <8 x float>, ptr %t10, align 64
  %t95 = load <8 x i64>, ptr %t11, align 64
  %t96 = icmp eq <8 x i64> %t95, splat (i64 -1)
  %t97 = fcmp ogt <8 x float> %t92, %t94
  %t98 = fcmp uno <8 x float> %t92, %t92
  %t99 = fcmp uno <8 x float> %t94, %t94
  %t100 = xor <8 x i1> %t99, splat (i1 true)
  %t101 = and <8 x i1> %t98, %t100
  %t102 = or <8 x i1> %t97, %t101
  %t103 = fcmp oeq <8 x float> %t92, %t94
  %t104 = and <8 x i1> %t98, %t99
  %t105 = or <8 x i1> %t103, %t104
  %t106 = or <8 x i1> %t102, %t96
  %t107 = select <8 x i1> %t106, <8 x float> %t92, <8 x float> %t94
  %t108 = select <8 x i1> %t106, <8 x i64> %t93, <8 x i64> %t95
  store <8 x float> %t107, ptr %t10, align 64
  store <8 x i64> %t108, ptr %t11, align 64
  %t109 = load <8 x float>, ptr %t10, align 64
  %t110 = load <8 x i64>, ptr %t11, align 64
  %t111 = load <8 x float>, ptr %t12, align 64
  %t112 = load <8 x i64>, ptr %t13, align 64
  %t113 = icmp eq <8 x i64> %t110, splat (i64 -1)
  %t114 = fcmp ogt <8 x float> %t111, %t109
  %t115 = fcmp uno <8 x float> %t111, %t111
  %t116 = fcmp uno <8 x float> %t109, %t109
  %t117 = xor <8 x i1> %t116, splat (i1 true)
  %t118 = and <8 x i1> %t115, %t117
  %t119 = or <8 x i1> %t114, %t118
  %t120 = fcmp oeq <8 x float> %t111, %t109
  %t121 = and <8 x i1> %t115, %t116
  %t122 = or <8 x i1> %t120, %t121
  %t123 = or <8 x i1> %t119, %t113
  %t124 = icmp slt <8 x i64> %t112, %t110
  %t125 = and <8 x i1> %t122, %t124
  %t126 = or <8 x i1> %t123, %t125
  %t127 = icmp ne <8 x i64> %t112, splat (i64 -1)
  %t128 = and <8 x i1> %t126, %t127
  %t129 = select <8 x i1> %t128, <8 x float> %t111, <8 x float> %t109
  %t130 = select <8 x i1> %t128, <8 x i64> %t112, <8 x i64> %t110
  %t131 = load <8 x float>, ptr %t14, align 64
  %t132 = load <8 x i64>, ptr %t15, align 64
  %t133 = icmp eq <8 x i64> %t130, splat (i64 -1)
  %t134 = fcmp ogt <8 x float> %t131, %t129
  %t135 = fcmp uno <8 x float> %t131, %t131
  %t136 = fcmp uno <8 x float> %t129, %t129
  %t137 = xor <8 x i1> %t136, splat (i1 true)
  %t138 = and <8 x i1> %t135, %t137
  %t139 = or <8 x i1> %t134, %t138
  %t140 = fcmp oeq <8 x float> %t131, %t129
  %t141 = and <8 x i1> %t135, %t136
  %t142 = or <8 x i1> %t140, %t141
  %t143 = or <8 x i1> %t139, %t133
  %t144 = icmp slt <8 x i64> %t132, %t130
  %t145 = and <8 x i1> %t142, %t144
  %t146 = or <8 x i1> %t143, %t145
  %t147 = icmp ne <8 x i64> %t132, splat (i64 -1)
  %t148 = and <8 x i1> %t146, %t147
  %t149 = select <8 x i1> %t148, <8 x float> %t131, <8 x float> %t129
  %t150 = select <8 x i1> %t148, <8 x i64> %t132, <8 x i64> %t130
  %t151 = load <8 x float>, ptr %t16, align 64
  %t152 = load <8 x i64>, ptr %t17, align 64
  %t153 = icmp eq <8 x i64> %t150, splat (i64 -1)
  %t154 = fcmp ogt <8 x float> %t151, %t149
  %t155 = fcmp uno <8 x float> %t151, %t151
  %t156 = fcmp uno <8 x float> %t149, %t149
  %t157 = xor <8 x i1> %t156, splat (i1 true)
  %t158 = and <8 x i1> %t155, %t157
  %t159 = or <8 x i1> %t154, %t158
  %t160 = fcmp oeq <8 x float> %t151, %t149
  %t161 = and <8 x i1> %t155, %t156
  %t162 = or <8 x i1> %t160, %t161
  %t163 = or <8 x i1> %t159, %t153
  %t164 = icmp slt <8 x i64> %t152, %t150
  %t165 = and <8 x i1> %t162, %t164
  %t166 = or <8 x i1> %t163, %t165
  %t167 = icmp ne <8 x i64> %t152, splat (i64 -1)
  %t168 = and <8 x i1> %t166, %t167
  %t169 = select <8 x i1> %t168, <8 x float> %t151, <8 x float> %t149
  %t170 = select <8 x i1> %t168, <8 x i64> %t152, <8 x i64> %t150
  %t171 = shufflevector <8 x float> %t169, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t172 = shufflevector <8 x i64> %t170, <8 x i64> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t173 = shufflevector <8 x float> %t169, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t174 = shufflevector <8 x i64> %t170, <8 x i64> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t175 = icmp eq <4 x i64> %t172, splat (i64 -1)
  %t176 = fcmp ogt <4 x float> %t173, %t171
  %t177 = fcmp uno <4 x float> %t173, %t173
  %t178 = fcmp uno <4 x float> %t171, %t171
  %t179 = xor <4 x i1> %t178, splat (i1 true)
  %t180 = and <4 x i1> %t177, %t179
  %t181 = or <4 x i1> %t176, %t180
  %t182 = fcmp oeq <4 x float> %t173, %t171
  %t183 = and <4 x i1> %t177, %t178
  %t184 = or <4 x i1> %t182, %t183
  %t185 = or <4 x i1> %t181, %t175
  %t186 = icmp slt <4 x i64> %t174, %t172
  %t187 = and <4 x i1> %t184, %t186
  %t188 = or <4 x i1> %t185, %t187
  %t189 = icmp ne <4 x i64> %t174, splat (i64 -1)
  %t190 = and <4 x i1> %t188, %t189
  %t191 = select <4 x i1> %t190, <4 x float> %t173, <4 x float> %t171
  %t192 = select <4 x i1> %t190, <4 x i64> %t174, <4 x i64> %t172
  %t193 = shufflevector <4 x float> %t191, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t194 = shufflevector <4 x i64> %t192, <4 x i64> poison, <2 x i32> <i32 0, i32 1>
  %t195 = shufflevector <4 x float> %t191, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t196 = shufflevector <4 x i64> %t192, <4 x i64> poison, <2 x i32> <i32 2, i32 3>
  %t197 = icmp eq <2 x i64> %t194, splat (i64 -1)
  %t198 = fcmp ogt <2 x float> %t195, %t193
  %t199 = fcmp uno <2 x float> %t195, %t195
  %t200 = fcmp uno <2 x float> %t193, %t193
  %t201 = xor <2 x i1> %t200, splat (i1 true)
  %t202 = and <2 x i1> %t199, %t201
  %t203 = or <2 x i1> %t198, %t202
  %t204 = fcmp oeq <2 x float> %t195, %t193
  %t205 = and <2 x i1> %t199, %t200
  %t206 = or <2 x i1> %t204, %t205
  %t207 = or <2 x i1> %t203, %t197
  %t208 = icmp slt <2 x i64> %t196, %t194
  %t209 = and <2 x i1> %t206, %t208
  %t210 = or <2 x i1> %t207, %t209
  %t211 = icmp ne <2 x i64> %t196, splat (i64 -1)
  %t212 = and <2 x i1> %t210, %t211
  %t213 = select <2 x i1> %t212, <2 x float> %t195, <2 x float> %t193
  %t214 = select <2 x i1> %t212, <2 x i64> %t196, <2 x i64> %t194
  %t215 = extractelement <2 x float> %t213, i64 0
  %t216 = extractelement <2 x i64> %t214, i64 0
  %t217 = extractelement <2 x float> %t213, i64 1
  %t218 = extractelement <2 x i64> %t214, i64 1
  %t219 = icmp eq i64 %t216, -1
  %t220 = fcmp ogt float %t217, %t215
  %t221 = fcmp uno float %t217, %t217
  %t222 = fcmp uno float %t215, %t215
  %t223 = xor i1 %t222, true
  %t224 = and i1 %t221, %t223
  %t225 = or i1 %t220, %t224
  %t226 = fcmp oeq float %t217, %t215
  %t227 = and i1 %t221, %t222
  %t228 = or i1 %t226, %t227
  %t229 = or i1 %t225, %t219
  %t230 = icmp slt i64 %t218, %t216
  %t231 = and i1 %t228, %t230
  %t232 = or i1 %t229, %t231
  %t233 = icmp ne i64 %t218, -1
  %t234 = and i1 %t232, %t233
  %t235 = select i1 %t234, float %t217, float %t215
  %t236 = select i1 %t234, i64 %t218, i64 %t216
  %t237 = load float, ptr %t8, align 64
  %t238 = load i64, ptr %t9, align 64
  %t239 = icmp eq i64 %t236, -1
  %t240 = fcmp ogt float %t237, %t235
  %t241 = fcmp uno float %t237, %t237
  %t242 = fcmp uno float %t235, %t235
  %t243 = xor i1 %t242, true
  %t244 = and i1 %t241, %t243
  %t245 = or i1 %t240, %t244
  %t246 = fcmp oeq float %t237, %t235
  %t247 = and i1 %t241, %t242
  %t248 = or i1 %t246, %t247
  %t249 = or i1 %t245, %t239
  %t250 = icmp slt i64 %t238, %t236
  %t251 = and i1 %t248, %t250
  %t252 = or i1 %t249, %t251
  %t253 = icmp ne i64 %t238, -1
  %t254 = and i1 %t252, %t253
  %t255 = select i1 %t254, float %t237, float %t235
  %t256 = select i1 %t254, i64 %t238, i64 %t236
  %t257 = getelementptr i64, ptr %t4, i64 %t7
  store i64 %t256, ptr %t257, align 8
  %t258 = add nuw nsw i64 %t7, 1
  %t259 = icmp slt i64 %t258, 4
  br i1 %t259, label %loop5, label %after6
after6:
  ret i32 0
}
