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
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t137, %after120 ]
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
  %t57 = mul nsw i64 %t7, 40
  %t58 = getelementptr float, ptr %t2, i64 %t57
  %t61 = insertelement <8 x float> poison, float %t51, i64 0
  %t62 = shufflevector <8 x float> %t61, <8 x float> poison, <8 x i32> zeroinitializer
  %t101 = getelementptr float, ptr %t4, i64 %t57
  br label %loop54
loop54:
  %t56 = phi i64 [ 0, %loop5 ], [ %t105, %loop54 ]
  %t59 = getelementptr float, ptr %t58, i64 %t56
  %t60 = load <8 x float>, ptr %t59, align 4
  %t63 = fsub <8 x float> %t60, %t62
  %t64 = fcmp olt <8 x float> %t63, splat (float 0xC05A000000000000)
  %t65 = select <8 x i1> %t64, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t63
  %t66 = fcmp ogt <8 x float> %t65, splat (float 0x4056400000000000)
  %t67 = select <8 x i1> %t66, <8 x float> splat (float 0x4056400000000000), <8 x float> %t65
  %t68 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t67, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t69 = fsub <8 x float> %t68, splat (float 0x4168000000000000)
  %t70 = bitcast <8 x float> %t68 to <8 x i32>
  %t71 = sub <8 x i32> %t70, splat (i32 1262485504)
  %t72 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t69, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t67)
  %t73 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t69, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t72)
  %t74 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t73, <8 x float> splat (float 0x3F812397A0000000))
  %t75 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t74, <8 x float> %t73, <8 x float> splat (float 0x3FA5558AC0000000))
  %t76 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t75, <8 x float> %t73, <8 x float> splat (float 0x3FC5554920000000))
  %t77 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t76, <8 x float> %t73, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t78 = fmul <8 x float> %t73, %t73
  %t79 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t77, <8 x float> %t78, <8 x float> %t73)
  %t80 = fadd <8 x float> %t79, splat (float 0x3FF0000000000000)
  %t81 = fcmp olt <8 x float> %t69, splat (float 0xC05F800000000000)
  %t82 = fadd <8 x float> %t69, splat (float 0x4062A00000000000)
  %t83 = add <8 x i32> %t71, splat (i32 149)
  %t84 = select <8 x i1> %t81, <8 x float> %t82, <8 x float> %t69
  %t85 = select <8 x i1> %t81, <8 x i32> %t83, <8 x i32> %t71
  %t86 = ashr <8 x i32> %t85, splat (i32 1)
  %t87 = sub <8 x i32> %t85, %t86
  %t88 = add <8 x i32> %t86, splat (i32 127)
  %t89 = shl <8 x i32> %t88, splat (i32 23)
  %t90 = bitcast <8 x i32> %t89 to <8 x float>
  %t91 = fmul <8 x float> %t80, %t90
  %t92 = add <8 x i32> %t87, splat (i32 127)
  %t93 = shl <8 x i32> %t92, splat (i32 23)
  %t94 = bitcast <8 x i32> %t93 to <8 x float>
  %t95 = fmul <8 x float> %t91, %t94
  %t96 = fadd <8 x float> %t95, splat (float 0x4160000000000000)
  %t97 = bitcast <8 x float> %t96 to <8 x i32>
  %t98 = sub <8 x i32> %t97, splat (i32 1258291200)
  %t99 = bitcast <8 x i32> %t98 to <8 x float>
  %t100 = select <8 x i1> %t81, <8 x float> %t99, <8 x float> %t95
  %t102 = getelementptr float, ptr %t101, i64 %t56
  store <8 x float> %t100, ptr %t102, align 4
  %t103 = load <8 x float>, ptr %t53, align 64
  %t104 = fadd <8 x float> %t103, %t100
  store <8 x float> %t104, ptr %t53, align 64
  %t105 = add nuw nsw i64 %t56, 8
  %t106 = icmp slt i64 %t105, 40
  br i1 %t106, label %loop54, label %after55
after55:
  %t107 = load <8 x float>, ptr %t53, align 64
  %t108 = shufflevector <8 x float> %t107, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t109 = shufflevector <8 x float> %t107, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t110 = fadd <4 x float> %t108, %t109
  %t111 = shufflevector <4 x float> %t110, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t112 = shufflevector <4 x float> %t110, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t113 = fadd <2 x float> %t111, %t112
  %t114 = extractelement <2 x float> %t113, i64 0
  %t115 = extractelement <2 x float> %t113, i64 1
  %t116 = fadd float %t114, %t115
  %t117 = load float, ptr %t52, align 64
  %t118 = fadd float %t116, %t117
  %t122 = mul nsw i64 %t7, 40
  %t123 = getelementptr float, ptr %t4, i64 %t122
  %t128 = insertelement <8 x float> poison, float %t118, i64 0
  %t129 = shufflevector <8 x float> %t128, <8 x float> poison, <8 x i32> zeroinitializer
  br label %loop119
loop119:
  %t121 = phi i64 [ 0, %after55 ], [ %t132, %loop119 ]
  %t124 = getelementptr float, ptr %t123, i64 %t121
  %t125 = load <8 x float>, ptr %t124, align 4
  %t126 = getelementptr float, ptr %t124, i64 8
  %t127 = load <8 x float>, ptr %t126, align 4
  %t130 = fdiv <8 x float> %t125, %t129
  %t131 = fdiv <8 x float> %t127, %t129
  store <8 x float> %t130, ptr %t124, align 4
  store <8 x float> %t131, ptr %t126, align 4
  %t132 = add nuw nsw i64 %t121, 16
  %t133 = icmp slt i64 %t132, 32
  br i1 %t133, label %loop119, label %after120
after120:
  %t134 = getelementptr float, ptr %t123, i64 32
  %t135 = load <8 x float>, ptr %t134, align 4
  %t136 = fdiv <8 x float> %t135, %t129
  store <8 x float> %t136, ptr %t134, align 4
  %t137 = add nuw nsw i64 %t7, 1
  %t138 = icmp slt i64 %t137, 4
  br i1 %t138, label %loop5, label %after6
after6:
  ret i32 0
}
