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
  %t7 = phi i64 [ 0, %entry ], [ %t69, %loop5 ]
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
  %t30 = ashr <8 x i32> %t20, splat (i32 1)
  %t31 = sub <8 x i32> %t20, %t30
  %t32 = add <8 x i32> %t30, splat (i32 127)
  %t33 = shl <8 x i32> %t32, splat (i32 23)
  %t34 = bitcast <8 x i32> %t33 to <8 x float>
  %t35 = fmul <8 x float> %t29, %t34
  %t36 = add <8 x i32> %t31, splat (i32 127)
  %t37 = shl <8 x i32> %t36, splat (i32 23)
  %t38 = bitcast <8 x i32> %t37 to <8 x float>
  %t39 = fmul <8 x float> %t35, %t38
  %t40 = fcmp olt <8 x float> %t12, splat (float 0xC05A000000000000)
  %t41 = select <8 x i1> %t40, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t12
  %t42 = fcmp ogt <8 x float> %t41, splat (float 0x4056400000000000)
  %t43 = select <8 x i1> %t42, <8 x float> splat (float 0x4056400000000000), <8 x float> %t41
  %t44 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t43, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t45 = fsub <8 x float> %t44, splat (float 0x4168000000000000)
  %t46 = bitcast <8 x float> %t44 to <8 x i32>
  %t47 = sub <8 x i32> %t46, splat (i32 1262485504)
  %t48 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t45, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t43)
  %t49 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t45, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t48)
  %t50 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t49, <8 x float> splat (float 0x3F812397A0000000))
  %t51 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t50, <8 x float> %t49, <8 x float> splat (float 0x3FA5558AC0000000))
  %t52 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t51, <8 x float> %t49, <8 x float> splat (float 0x3FC5554920000000))
  %t53 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t52, <8 x float> %t49, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t54 = fmul <8 x float> %t49, %t49
  %t55 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t53, <8 x float> %t54, <8 x float> %t49)
  %t56 = fadd <8 x float> %t55, splat (float 0x3FF0000000000000)
  %t57 = ashr <8 x i32> %t47, splat (i32 1)
  %t58 = sub <8 x i32> %t47, %t57
  %t59 = add <8 x i32> %t57, splat (i32 127)
  %t60 = shl <8 x i32> %t59, splat (i32 23)
  %t61 = bitcast <8 x i32> %t60 to <8 x float>
  %t62 = fmul <8 x float> %t56, %t61
  %t63 = add <8 x i32> %t58, splat (i32 127)
  %t64 = shl <8 x i32> %t63, splat (i32 23)
  %t65 = bitcast <8 x i32> %t64 to <8 x float>
  %t66 = fmul <8 x float> %t62, %t65
  %t67 = getelementptr float, ptr %t4, i64 %t8
  store <8 x float> %t39, ptr %t67, align 4
  %t68 = getelementptr float, ptr %t67, i64 8
  store <8 x float> %t66, ptr %t68, align 4
  %t69 = add nuw nsw i64 %t7, 16
  %t70 = icmp slt i64 %t69, 40
  br i1 %t70, label %loop5, label %after6
after6:
  ret i32 0
}
