declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare i64 @llvm.smin.i64(i64, i64)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t95, %loop5 ]
  %t8 = call i64 @llvm.smin.i64(i64 %t7, i64 24)
  %t9 = getelementptr float, ptr %t2, i64 %t8
  %t10 = load <8 x float>, ptr %t9, align 4
  %t11 = getelementptr float, ptr %t9, i64 8
  %t12 = load <8 x float>, ptr %t11, align 4
  %t13 = fneg <8 x float> %t10
  %t14 = fcmp olt <8 x float> %t13, splat (float 0xC05A000000000000)
  %t15 = select <8 x i1> %t14, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t13
  %t16 = fcmp ogt <8 x float> %t15, splat (float 0x4056400000000000)
  %t17 = select <8 x i1> %t16, <8 x float> splat (float 0x4056400000000000), <8 x float> %t15
  %t18 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t17, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t19 = fsub <8 x float> %t18, splat (float 0x4168000000000000)
  %t20 = bitcast <8 x float> %t18 to <8 x i32>
  %t21 = sub <8 x i32> %t20, splat (i32 1262485504)
  %t22 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t19, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t17)
  %t23 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t19, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t22)
  %t24 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t23, <8 x float> splat (float 0x3F812397A0000000))
  %t25 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t24, <8 x float> %t23, <8 x float> splat (float 0x3FA5558AC0000000))
  %t26 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t25, <8 x float> %t23, <8 x float> splat (float 0x3FC5554920000000))
  %t27 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t26, <8 x float> %t23, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t28 = fmul <8 x float> %t23, %t23
  %t29 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t27, <8 x float> %t28, <8 x float> %t23)
  %t30 = fadd <8 x float> %t29, splat (float 0x3FF0000000000000)
  %t31 = fcmp olt <8 x float> %t19, splat (float 0xC05F800000000000)
  %t32 = fadd <8 x float> %t19, splat (float 0x4062A00000000000)
  %t33 = add <8 x i32> %t21, splat (i32 149)
  %t34 = select <8 x i1> %t31, <8 x float> %t32, <8 x float> %t19
  %t35 = select <8 x i1> %t31, <8 x i32> %t33, <8 x i32> %t21
  %t36 = ashr <8 x i32> %t35, splat (i32 1)
  %t37 = sub <8 x i32> %t35, %t36
  %t38 = add <8 x i32> %t36, splat (i32 127)
  %t39 = shl <8 x i32> %t38, splat (i32 23)
  %t40 = bitcast <8 x i32> %t39 to <8 x float>
  %t41 = fmul <8 x float> %t30, %t40
  %t42 = add <8 x i32> %t37, splat (i32 127)
  %t43 = shl <8 x i32> %t42, splat (i32 23)
  %t44 = bitcast <8 x i32> %t43 to <8 x float>
  %t45 = fmul <8 x float> %t41, %t44
  %t46 = fadd <8 x float> %t45, splat (float 0x4160000000000000)
  %t47 = bitcast <8 x float> %t46 to <8 x i32>
  %t48 = sub <8 x i32> %t47, splat (i32 1258291200)
  %t49 = bitcast <8 x i32> %t48 to <8 x float>
  %t50 = select <8 x i1> %t31, <8 x float> %t49, <8 x float> %t45
  %t51 = fadd <8 x float> splat (float 0x3FF0000000000000), %t50
  %t52 = fdiv <8 x float> splat (float 0x3FF0000000000000), %t51
  %t53 = fneg <8 x float> %t12
  %t54 = fcmp olt <8 x float> %t53, splat (float 0xC05A000000000000)
  %t55 = select <8 x i1> %t54, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t53
  %t56 = fcmp ogt <8 x float> %t55, splat (float 0x4056400000000000)
  %t57 = select <8 x i1> %t56, <8 x float> splat (float 0x4056400000000000), <8 x float> %t55
  %t58 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t57, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t59 = fsub <8 x float> %t58, splat (float 0x4168000000000000)
  %t60 = bitcast <8 x float> %t58 to <8 x i32>
  %t61 = sub <8 x i32> %t60, splat (i32 1262485504)
  %t62 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t59, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t57)
  %t63 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t59, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t62)
  %t64 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t63, <8 x float> splat (float 0x3F812397A0000000))
  %t65 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t64, <8 x float> %t63, <8 x float> splat (float 0x3FA5558AC0000000))
  %t66 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t65, <8 x float> %t63, <8 x float> splat (float 0x3FC5554920000000))
  %t67 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t66, <8 x float> %t63, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t68 = fmul <8 x float> %t63, %t63
  %t69 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t67, <8 x float> %t68, <8 x float> %t63)
  %t70 = fadd <8 x float> %t69, splat (float 0x3FF0000000000000)
  %t71 = fcmp olt <8 x float> %t59, splat (float 0xC05F800000000000)
  %t72 = fadd <8 x float> %t59, splat (float 0x4062A00000000000)
  %t73 = add <8 x i32> %t61, splat (i32 149)
  %t74 = select <8 x i1> %t71, <8 x float> %t72, <8 x float> %t59
  %t75 = select <8 x i1> %t71, <8 x i32> %t73, <8 x i32> %t61
  %t76 = ashr <8 x i32> %t75, splat (i32 1)
  %t77 = sub <8 x i32> %t75, %t76
  %t78 = add <8 x i32> %t76, splat (i32 127)
  %t79 = shl <8 x i32> %t78, splat (i32 23)
  %t80 = bitcast <8 x i32> %t79 to <8 x float>
  %t81 = fmul <8 x float> %t70, %t80
  %t82 = add <8 x i32> %t77, splat (i32 127)
  %t83 = shl <8 x i32> %t82, splat (i32 23)
  %t84 = bitcast <8 x i32> %t83 to <8 x float>
  %t85 = fmul <8 x float> %t81, %t84
  %t86 = fadd <8 x float> %t85, splat (float 0x4160000000000000)
  %t87 = bitcast <8 x float> %t86 to <8 x i32>
  %t88 = sub <8 x i32> %t87, splat (i32 1258291200)
  %t89 = bitcast <8 x i32> %t88 to <8 x float>
  %t90 = select <8 x i1> %t71, <8 x float> %t89, <8 x float> %t85
  %t91 = fadd <8 x float> splat (float 0x3FF0000000000000), %t90
  %t92 = fdiv <8 x float> splat (float 0x3FF0000000000000), %t91
  %t93 = getelementptr float, ptr %t4, i64 %t8
  store <8 x float> %t52, ptr %t93, align 4
  %t94 = getelementptr float, ptr %t93, i64 8
  store <8 x float> %t92, ptr %t94, align 4
  %t95 = add nuw nsw i64 %t7, 16
  %t96 = icmp slt i64 %t95, 40
  br i1 %t96, label %loop5, label %after6
after6:
  ret i32 0
}
