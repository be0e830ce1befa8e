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
  %t7 = phi i64 [ 0, %entry ], [ %t75, %loop5 ]
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
  %t31 = ashr <8 x i32> %t21, splat (i32 1)
  %t32 = sub <8 x i32> %t21, %t31
  %t33 = add <8 x i32> %t31, splat (i32 127)
  %t34 = shl <8 x i32> %t33, splat (i32 23)
  %t35 = bitcast <8 x i32> %t34 to <8 x float>
  %t36 = fmul <8 x float> %t30, %t35
  %t37 = add <8 x i32> %t32, splat (i32 127)
  %t38 = shl <8 x i32> %t37, splat (i32 23)
  %t39 = bitcast <8 x i32> %t38 to <8 x float>
  %t40 = fmul <8 x float> %t36, %t39
  %t41 = fadd <8 x float> splat (float 0x3FF0000000000000), %t40
  %t42 = fdiv <8 x float> splat (float 0x3FF0000000000000), %t41
  %t43 = fneg <8 x float> %t12
  %t44 = fcmp olt <8 x float> %t43, splat (float 0xC05A000000000000)
  %t45 = select <8 x i1> %t44, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t43
  %t46 = fcmp ogt <8 x float> %t45, splat (float 0x4056400000000000)
  %t47 = select <8 x i1> %t46, <8 x float> splat (float 0x4056400000000000), <8 x float> %t45
  %t48 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t47, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t49 = fsub <8 x float> %t48, splat (float 0x4168000000000000)
  %t50 = bitcast <8 x float> %t48 to <8 x i32>
  %t51 = sub <8 x i32> %t50, splat (i32 1262485504)
  %t52 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t49, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t47)
  %t53 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t49, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t52)
  %t54 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t53, <8 x float> splat (float 0x3F812397A0000000))
  %t55 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t54, <8 x float> %t53, <8 x float> splat (float 0x3FA5558AC0000000))
  %t56 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t55, <8 x float> %t53, <8 x float> splat (float 0x3FC5554920000000))
  %t57 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t56, <8 x float> %t53, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t58 = fmul <8 x float> %t53, %t53
  %t59 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t57, <8 x float> %t58, <8 x float> %t53)
  %t60 = fadd <8 x float> %t59, splat (float 0x3FF0000000000000)
  %t61 = ashr <8 x i32> %t51, splat (i32 1)
  %t62 = sub <8 x i32> %t51, %t61
  %t63 = add <8 x i32> %t61, splat (i32 127)
  %t64 = shl <8 x i32> %t63, splat (i32 23)
  %t65 = bitcast <8 x i32> %t64 to <8 x float>
  %t66 = fmul <8 x float> %t60, %t65
  %t67 = add <8 x i32> %t62, splat (i32 127)
  %t68 = shl <8 x i32> %t67, splat (i32 23)
  %t69 = bitcast <8 x i32> %t68 to <8 x float>
  %t70 = fmul <8 x float> %t66, %t69
  %t71 = fadd <8 x float> splat (float 0x3FF0000000000000), %t70
  %t72 = fdiv <8 x float> splat (float 0x3FF0000000000000), %t71
  %t73 = getelementptr float, ptr %t4, i64 %t8
  store <8 x float> %t42, ptr %t73, align 4
  %t74 = getelementptr float, ptr %t73, i64 8
  store <8 x float> %t72, ptr %t74, align 4
  %t75 = add nuw nsw i64 %t7, 16
  %t76 = icmp slt i64 %t75, 40
  br i1 %t76, label %loop5, label %after6
after6:
  ret i32 0
}
