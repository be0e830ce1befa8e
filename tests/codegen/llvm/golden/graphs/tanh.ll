declare <8 x float> @llvm.copysign.v8f32(<8 x float>, <8 x float>)
declare <8 x float> @llvm.fabs.v8f32(<8 x float>)
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
  %t7 = phi i64 [ 0, %entry ], [ %t83, %loop5 ]
  %t8 = call i64 @llvm.smin.i64(i64 %t7, i64 24)
  %t9 = getelementptr float, ptr %t2, i64 %t8
  %t10 = load <8 x float>, ptr %t9, align 4
  %t11 = getelementptr float, ptr %t9, i64 8
  %t12 = load <8 x float>, ptr %t11, align 4
  %t13 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %t10)
  %t14 = fcmp ogt <8 x float> %t13, splat (float 0x4024000000000000)
  %t15 = select <8 x i1> %t14, <8 x float> splat (float 0x4024000000000000), <8 x float> %t13
  %t16 = fadd <8 x float> %t15, %t15
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
  %t30 = add <8 x i32> %t20, splat (i32 127)
  %t31 = shl <8 x i32> %t30, splat (i32 23)
  %t32 = bitcast <8 x i32> %t31 to <8 x float>
  %t33 = fmul <8 x float> %t29, %t32
  %t34 = fadd <8 x float> %t33, splat (float 0x3FF0000000000000)
  %t35 = fdiv <8 x float> splat (float 0x4000000000000000), %t34
  %t36 = fsub <8 x float> splat (float 0x3FF0000000000000), %t35
  %t37 = fmul <8 x float> %t10, %t10
  %t38 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0xBF7754F460000000), <8 x float> %t37, <8 x float> splat (float 0x3F952041C0000000))
  %t39 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t38, <8 x float> %t37, <8 x float> splat (float 0xBFAB836C80000000))
  %t40 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t39, <8 x float> %t37, <8 x float> splat (float 0x3FC1106FA0000000))
  %t41 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t40, <8 x float> %t37, <8 x float> splat (float 0xBFD5555320000000))
  %t42 = fmul <8 x float> %t41, %t37
  %t43 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t42, <8 x float> %t10, <8 x float> %t10)
  %t44 = fcmp olt <8 x float> %t13, splat (float 0x3FE4000000000000)
  %t45 = select <8 x i1> %t44, <8 x float> %t43, <8 x float> %t36
  %t46 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %t45, <8 x float> %t10)
  %t47 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %t12)
  %t48 = fcmp ogt <8 x float> %t47, splat (float 0x4024000000000000)
  %t49 = select <8 x i1> %t48, <8 x float> splat (float 0x4024000000000000), <8 x float> %t47
  %t50 = fadd <8 x float> %t49, %t49
  %t51 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t50, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t52 = fsub <8 x float> %t51, splat (float 0x4168000000000000)
  %t53 = bitcast <8 x float> %t51 to <8 x i32>
  %t54 = sub <8 x i32> %t53, splat (i32 1262485504)
  %t55 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t52, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t50)
  %t56 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t52, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t55)
  %t57 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t56, <8 x float> splat (float 0x3F812397A0000000))
  %t58 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t57, <8 x float> %t56, <8 x float> splat (float 0x3FA5558AC0000000))
  %t59 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t58, <8 x float> %t56, <8 x float> splat (float 0x3FC5554920000000))
  %t60 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t59, <8 x float> %t56, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t61 = fmul <8 x float> %t56, %t56
  %t62 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t60, <8 x float> %t61, <8 x float> %t56)
  %t63 = fadd <8 x float> %t62, splat (float 0x3FF0000000000000)
  %t64 = add <8 x i32> %t54, splat (i32 127)
  %t65 = shl <8 x i32> %t64, splat (i32 23)
  %t66 = bitcast <8 x i32> %t65 to <8 x float>
  %t67 = fmul <8 x float> %t63, %t66
  %t68 = fadd <8 x float> %t67, splat (float 0x3FF0000000000000)
  %t69 = fdiv <8 x float> splat (float 0x4000000000000000), %t68
  %t70 = fsub <8 x float> splat (float 0x3FF0000000000000), %t69
  %t71 = fmul <8 x float> %t12, %t12
  %t72 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0xBF7754F460000000), <8 x float> %t71, <8 x float> splat (float 0x3F952041C0000000))
  %t73 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t72, <8 x float> %t71, <8 x float> splat (float 0xBFAB836C80000000))
  %t74 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t73, <8 x float> %t71, <8 x float> splat (float 0x3FC1106FA0000000))
  %t75 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t74, <8 x float> %t71, <8 x float> splat (float 0xBFD5555320000000))
  %t76 = fmul <8 x float> %t75, %t71
  %t77 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t76, <8 x float> %t12, <8 x float> %t12)
  %t78 = fcmp olt <8 x float> %t47, splat (float 0x3FE4000000000000)
  %t79 = select <8 x i1> %t78, <8 x float> %t77, <8 x float> %t70
  %t80 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %t79, <8 x float> %t12)
  %t81 = getelementptr float, ptr %t4, i64 %t8
  store <8 x float> %t46, ptr %t81, align 4
  %t82 = getelementptr float, ptr %t81, i64 8
  store <8 x float> %t80, ptr %t82, align 4
  %t83 = add nuw nsw i64 %t7, 16
  %t84 = icmp slt i64 %t83, 40
  br i1 %t84, label %loop5, label %after6
after6:
  ret i32 0
}
