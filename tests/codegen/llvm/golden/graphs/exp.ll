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
  %t7 = phi i64 [ 0, %entry ], [ %t89, %loop5 ]
  %t8 = call i64 @llvm.smin.i64(i64 %t7, i64 24)
  %t9 = getelementptr float, ptr %t2, i64 %t8
  %t10 = load <8 x float>, ptr %t9, align 4
  %t11 = getelementptr float, ptr %t9, i64 8
  %t12 = load <8 x float>, ptr %t11, align 4
  %t13 = fcmp olt <8 x float> %t10, splat (float 0xC05A000000000000)
  %t14 = select <8 x i1> %t13, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t10
  %t15 = fcmp ogt <8 x float> %t14, splat (float 0x4056400000000000)
  %t16 = select <8 x i1> %t15, <8 x float> splat (float 0x4056400000000000), <8 x float> %t14
  %t17 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t16, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t18 = fsub <8 x float> %t17, splat (float 0x4168000000000000)
  %t19 = bitcast <8 x float> %t17 to <8 x i32>
  %t20 = sub <8 x i32> %t19, splat (i32 1262485504)
  %t21 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t18, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t16)
  %t22 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t18, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t21)
  %t23 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t22, <8 x float> splat (float 0x3F812397A0000000))
  %t24 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t23, <8 x float> %t22, <8 x float> splat (float 0x3FA5558AC0000000))
  %t25 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t24, <8 x float> %t22, <8 x float> splat (float 0x3FC5554920000000))
  %t26 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t25, <8 x float> %t22, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t27 = fmul <8 x float> %t22, %t22
  %t28 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t26, <8 x float> %t27, <8 x float> %t22)
  %t29 = fadd <8 x float> %t28, splat (float 0x3FF0000000000000)
  %t30 = fcmp olt <8 x float> %t18, splat (float 0xC05F800000000000)
  %t31 = fadd <8 x float> %t18, splat (float 0x4062A00000000000)
  %t32 = add <8 x i32> %t20, splat (i32 149)
  %t33 = select <8 x i1> %t30, <8 x float> %t31, <8 x float> %t18
  %t34 = select <8 x i1> %t30, <8 x i32> %t32, <8 x i32> %t20
  %t35 = ashr <8 x i32> %t34, splat (i32 1)
  %t36 = sub <8 x i32> %t34, %t35
  %t37 = add <8 x i32> %t35, splat (i32 127)
  %t38 = shl <8 x i32> %t37, splat (i32 23)
  %t39 = bitcast <8 x i32> %t38 to <8 x float>
  %t40 = fmul <8 x float> %t29, %t39
  %t41 = add <8 x i32> %t36, splat (i32 127)
  %t42 = shl <8 x i32> %t41, splat (i32 23)
  %t43 = bitcast <8 x i32> %t42 to <8 x float>
  %t44 = fmul <8 x float> %t40, %t43
  %t45 = fadd <8 x float> %t44, splat (float 0x4160000000000000)
  %t46 = bitcast <8 x float> %t45 to <8 x i32>
  %t47 = sub <8 x i32> %t46, splat (i32 1258291200)
  %t48 = bitcast <8 x i32> %t47 to <8 x float>
  %t49 = select <8 x i1> %t30, <8 x float> %t48, <8 x float> %t44
  %t50 = fcmp olt <8 x float> %t12, splat (float 0xC05A000000000000)
  %t51 = select <8 x i1> %t50, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t12
  %t52 = fcmp ogt <8 x float> %t51, splat (float 0x4056400000000000)
  %t53 = select <8 x i1> %t52, <8 x float> splat (float 0x4056400000000000), <8 x float> %t51
  %t54 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t53, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t55 = fsub <8 x float> %t54, splat (float 0x4168000000000000)
  %t56 = bitcast <8 x float> %t54 to <8 x i32>
  %t57 = sub <8 x i32> %t56, splat (i32 1262485504)
  %t58 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t55, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t53)
  %t59 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t55, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t58)
  %t60 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t59, <8 x float> splat (float 0x3F812397A0000000))
  %t61 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t60, <8 x float> %t59, <8 x float> splat (float 0x3FA5558AC0000000))
  %t62 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t61, <8 x float> %t59, <8 x float> splat (float 0x3FC5554920000000))
  %t63 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t62, <8 x float> %t59, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t64 = fmul <8 x float> %t59, %t59
  %t65 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t63, <8 x float> %t64, <8 x float> %t59)
  %t66 = fadd <8 x float> %t65, splat (float 0x3FF0000000000000)
  %t67 = fcmp olt <8 x float> %t55, splat (float 0xC05F800000000000)
  %t68 = fadd <8 x float> %t55, splat (float 0x4062A00000000000)
  %t69 = add <8 x i32> %t57, splat (i32 149)
  %t70 = select <8 x i1> %t67, <8 x float> %t68, <8 x float> %t55
  %t71 = select <8 x i1> %t67, <8 x i32> %t69, <8 x i32> %t57
  %t72 = ashr <8 x i32> %t71, splat (i32 1)
  %t73 = sub <8 x i32> %t71, %t72
  %t74 = add <8 x i32> %t72, splat (i32 127)
  %t75 = shl <8 x i32> %t74, splat (i32 23)
  %t76 = bitcast <8 x i32> %t75 to <8 x float>
  %t77 = fmul <8 x float> %t66, %t76
  %t78 = add <8 x i32> %t73, splat (i32 127)
  %t79 = shl <8 x i32> %t78, splat (i32 23)
  %t80 = bitcast <8 x i32> %t79 to <8 x float>
  %t81 = fmul <8 x float> %t77, %t80
  %t82 = fadd <8 x float> %t81, splat (float 0x4160000000000000)
  %t83 = bitcast <8 x float> %t82 to <8 x i32>
  %t84 = sub <8 x i32> %t83, splat (i32 1258291200)
  %t85 = bitcast <8 x i32> %t84 to <8 x float>
  %t86 = select <8 x i1> %t67, <8 x float> %t85, <8 x float> %t81
  %t87 = getelementptr float, ptr %t4, i64 %t8
  store <8 x float> %t49, ptr %t87, align 4
  %t88 = getelementptr float, ptr %t87, i64 8
  store <8 x float> %t86, ptr %t88, align 4
  %t89 = add nuw nsw i64 %t7, 16
  %t90 = icmp slt i64 %t89, 40
  br i1 %t90, label %loop5, label %after6
after6:
  ret i32 0
}
