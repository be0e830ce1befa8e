declare <8 x float> @llvm.fabs.v8f32(<8 x float>)
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t46, %loop5 ]
  %t8 = getelementptr float, ptr %t2, i64 %t7
  %t9 = load <8 x float>, ptr %t8, align 4
  %t10 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %t9)
  %t11 = fcmp olt <8 x float> %t10, splat (float 0x3810000000000000)
  %t12 = fmul <8 x float> %t10, splat (float 0x4160000000000000)
  %t13 = select <8 x i1> %t11, <8 x float> %t12, <8 x float> %t10
  %t14 = bitcast <8 x float> %t13 to <8 x i32>
  %t15 = sub <8 x i32> %t14, splat (i32 1060439283)
  %t16 = ashr <8 x i32> %t15, splat (i32 23)
  %t17 = shl <8 x i32> %t16, splat (i32 23)
  %t18 = sub <8 x i32> %t14, %t17
  %t19 = bitcast <8 x i32> %t18 to <8 x float>
  %t20 = fsub <8 x float> %t19, splat (float 0x3FF0000000000000)
  %t21 = select <8 x i1> %t11, <8 x float> splat (float 0x4037000000000000), <8 x float> splat (float 0x0000000000000000)
  %t22 = sitofp <8 x i32> %t16 to <8 x float>
  %t23 = fsub <8 x float> %t22, %t21
  %t24 = fmul <8 x float> %t20, %t20
  %t25 = fmul <8 x float> %t20, %t24
  %t26 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3FB14760A0000000), <8 x float> %t20, <8 x float> splat (float 0xBFBDE02C00000000))
  %t27 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t26, <8 x float> %t20, <8 x float> splat (float 0x3FBE6BF3C0000000))
  %t28 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t27, <8 x float> %t20, <8 x float> splat (float 0xBFBFC28860000000))
  %t29 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t28, <8 x float> %t20, <8 x float> splat (float 0x3FC233BA80000000))
  %t30 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t29, <8 x float> %t20, <8 x float> splat (float 0xBFC555C460000000))
  %t31 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t30, <8 x float> %t20, <8 x float> splat (float 0x3FC99A4760000000))
  %t32 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t31, <8 x float> %t20, <8 x float> splat (float 0xBFD0000060000000))
  %t33 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t32, <8 x float> %t20, <8 x float> splat (float 0x3FD5555480000000))
  %t34 = fmul <8 x float> %t25, %t33
  %t35 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t23, <8 x float> splat (float 0xBF2BD01060000000), <8 x float> %t34)
  %t36 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t24, <8 x float> splat (float 0xBFE0000000000000), <8 x float> %t35)
  %t37 = fadd <8 x float> %t20, %t36
  %t38 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t23, <8 x float> splat (float 0x3FE6300000000000), <8 x float> %t37)
  %t39 = fcmp olt <8 x float> %t10, splat (float 0x7FF0000000000000)
  %t40 = select <8 x i1> %t39, <8 x float> %t38, <8 x float> %t10
  %t41 = fcmp oeq <8 x float> %t10, splat (float 0x0000000000000000)
  %t42 = select <8 x i1> %t41, <8 x float> splat (float 0xFFF0000000000000), <8 x float> %t40
  %t43 = fcmp olt <8 x float> %t10, splat (float 0x0000000000000000)
  %t44 = select <8 x i1> %t43, <8 x float> splat (float 0x7FF8000000000000), <8 x float> %t42
  %t45 = getelementptr float, ptr %t4, i64 %t7
  store <8 x float> %t44, ptr %t45, align 4
  %t46 = add nuw nsw i64 %t7, 8
  %t47 = icmp slt i64 %t46, 40
  br i1 %t47, label %loop5, label %after6
after6:
  ret i32 0
}
