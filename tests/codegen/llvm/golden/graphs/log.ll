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
  %t7 = phi i64 [ 0, %entry ], [ %t85, %loop5 ]
  %t8 = call i64 @llvm.smin.i64(i64 %t7, i64 24)
  %t9 = getelementptr float, ptr %t2, i64 %t8
  %t10 = load <8 x float>, ptr %t9, align 4
  %t11 = getelementptr float, ptr %t9, i64 8
  %t12 = load <8 x float>, ptr %t11, align 4
  %t13 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %t10)
  %t14 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %t12)
  %t15 = fcmp olt <8 x float> %t13, splat (float 0x3810000000000000)
  %t16 = fmul <8 x float> %t13, splat (float 0x4160000000000000)
  %t17 = select <8 x i1> %t15, <8 x float> %t16, <8 x float> %t13
  %t18 = bitcast <8 x float> %t17 to <8 x i32>
  %t19 = sub <8 x i32> %t18, splat (i32 1060439283)
  %t20 = ashr <8 x i32> %t19, splat (i32 23)
  %t21 = shl <8 x i32> %t20, splat (i32 23)
  %t22 = sub <8 x i32> %t18, %t21
  %t23 = bitcast <8 x i32> %t22 to <8 x float>
  %t24 = fsub <8 x float> %t23, splat (float 0x3FF0000000000000)
  %t25 = select <8 x i1> %t15, <8 x float> splat (float 0x4037000000000000), <8 x float> splat (float 0x0000000000000000)
  %t26 = sitofp <8 x i32> %t20 to <8 x float>
  %t27 = fsub <8 x float> %t26, %t25
  %t28 = fmul <8 x float> %t24, %t24
  %t29 = fmul <8 x float> %t24, %t28
  %t30 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3FB14760A0000000), <8 x float> %t24, <8 x float> splat (float 0xBFBDE02C00000000))
  %t31 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t30, <8 x float> %t24, <8 x float> splat (float 0x3FBE6BF3C0000000))
  %t32 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t31, <8 x float> %t24, <8 x float> splat (float 0xBFBFC28860000000))
  %t33 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t32, <8 x float> %t24, <8 x float> splat (float 0x3FC233BA80000000))
  %t34 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t33, <8 x float> %t24, <8 x float> splat (float 0xBFC555C460000000))
  %t35 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t34, <8 x float> %t24, <8 x float> splat (float 0x3FC99A4760000000))
  %t36 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t35, <8 x float> %t24, <8 x float> splat (float 0xBFD0000060000000))
  %t37 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t36, <8 x float> %t24, <8 x float> splat (float 0x3FD5555480000000))
  %t38 = fmul <8 x float> %t29, %t37
  %t39 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t27, <8 x float> splat (float 0xBF2BD01060000000), <8 x float> %t38)
  %t40 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t28, <8 x float> splat (float 0xBFE0000000000000), <8 x float> %t39)
  %t41 = fadd <8 x float> %t24, %t40
  %t42 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t27, <8 x float> splat (float 0x3FE6300000000000), <8 x float> %t41)
  %t43 = fcmp olt <8 x float> %t13, splat (float 0x7FF0000000000000)
  %t44 = select <8 x i1> %t43, <8 x float> %t42, <8 x float> %t13
  %t45 = fcmp oeq <8 x float> %t13, splat (float 0x0000000000000000)
  %t46 = select <8 x i1> %t45, <8 x float> splat (float 0xFFF0000000000000), <8 x float> %t44
  %t47 = fcmp olt <8 x float> %t13, splat (float 0x0000000000000000)
  %t48 = select <8 x i1> %t47, <8 x float> splat (float 0x7FF8000000000000), <8 x float> %t46
  %t49 = fcmp olt <8 x float> %t14, splat (float 0x3810000000000000)
  %t50 = fmul <8 x float> %t14, splat (float 0x4160000000000000)
  %t51 = select <8 x i1> %t49, <8 x float> %t50, <8 x float> %t14
  %t52 = bitcast <8 x float> %t51 to <8 x i32>
  %t53 = sub <8 x i32> %t52, splat (i32 1060439283)
  %t54 = ashr <8 x i32> %t53, splat (i32 23)
  %t55 = shl <8 x i32> %t54, splat (i32 23)
  %t56 = sub <8 x i32> %t52, %t55
  %t57 = bitcast <8 x i32> %t56 to <8 x float>
  %t58 = fsub <8 x float> %t57, splat (float 0x3FF0000000000000)
  %t59 = select <8 x i1> %t49, <8 x float> splat (float 0x4037000000000000), <8 x float> splat (float 0x0000000000000000)
  %t60 = sitofp <8 x i32> %t54 to <8 x float>
  %t61 = fsub <8 x float> %t60, %t59
  %t62 = fmul <8 x float> %t58, %t58
  %t63 = fmul <8 x float> %t58, %t62
  %t64 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3FB14760A0000000), <8 x float> %t58, <8 x float> splat (float 0xBFBDE02C00000000))
  %t65 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t64, <8 x float> %t58, <8 x float> splat (float 0x3FBE6BF3C0000000))
  %t66 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t65, <8 x float> %t58, <8 x float> splat (float 0xBFBFC28860000000))
  %t67 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t66, <8 x float> %t58, <8 x float> splat (float 0x3FC233BA80000000))
  %t68 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t67, <8 x float> %t58, <8 x float> splat (float 0xBFC555C460000000))
  %t69 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t68, <8 x float> %t58, <8 x float> splat (float 0x3FC99A4760000000))
  %t70 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t69, <8 x float> %t58, <8 x float> splat (float 0xBFD0000060000000))
  %t71 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t70, <8 x float> %t58, <8 x float> splat (float 0x3FD5555480000000))
  %t72 = fmul <8 x float> %t63, %t71
  %t73 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t61, <8 x float> splat (float 0xBF2BD01060000000), <8 x float> %t72)
  %t74 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t62, <8 x float> splat (float 0xBFE0000000000000), <8 x float> %t73)
  %t75 = fadd <8 x float> %t58, %t74
  %t76 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t61, <8 x float> splat (float 0x3FE6300000000000), <8 x float> %t75)
  %t77 = fcmp olt <8 x float> %t14, splat (float 0x7FF0000000000000)
  %t78 = select <8 x i1> %t77, <8 x float> %t76, <8 x float> %t14
  %t79 = fcmp oeq <8 x float> %t14, splat (float 0x0000000000000000)
  %t80 = select <8 x i1> %t79, <8 x float> splat (float 0xFFF0000000000000), <8 x float> %t78
  %t81 = fcmp olt <8 x float> %t14, splat (float 0x0000000000000000)
  %t82 = select <8 x i1> %t81, <8 x float> splat (float 0x7FF8000000000000), <8 x float> %t80
  %t83 = getelementptr float, ptr %t4, i64 %t8
  store <8 x float> %t48, ptr %t83, align 4
  %t84 = getelementptr float, ptr %t83, i64 8
  store <8 x float> %t82, ptr %t84, align 4
  %t85 = add nuw nsw i64 %t7, 16
  %t86 = icmp slt i64 %t85, 40
  br i1 %t86, label %loop5, label %after6
after6:
  ret i32 0
}
