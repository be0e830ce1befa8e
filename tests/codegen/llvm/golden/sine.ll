declare <8 x float> @Sleef_sinf8_u10avx2(<8 x float>) nounwind willreturn memory(none)
declare <8 x float> @llvm.fabs.v8f32(<8 x float>)
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare i1 @llvm.vector.reduce.or.v8i1(<8 x i1>)
define internal <8 x float> @sin_f32_8(<8 x float> %x) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" willreturn memory(none) {
entry:
  %t1 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %x)
  %t2 = fcmp ogt <8 x float> %t1, splat (float 0x40E0000000000000)
  %t3 = call i1 @llvm.vector.reduce.or.v8i1(<8 x i1> %t2)
  %t4 = call <8 x float> @llvm.fma.v8f32(<8 x float> %x, <8 x float> splat (float 0x3FE45F3060000000), <8 x float> splat (float 0x4168000000000000))
  %t5 = fsub <8 x float> %t4, splat (float 0x4168000000000000)
  %t6 = bitcast <8 x float> %t4 to <8 x i32>
  %t7 = sub <8 x i32> %t6, splat (i32 1262485504)
  %t8 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t5, <8 x float> splat (float 0xBFF921FB60000000), <8 x float> %x)
  %t9 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t5, <8 x float> splat (float 0x3E6777A5C0000000), <8 x float> %t8)
  %t10 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t5, <8 x float> splat (float 0x3CDEE59DA0000000), <8 x float> %t9)
  %t11 = fmul <8 x float> %t10, %t10
  %t12 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0xBF29951E60000000), <8 x float> %t11, <8 x float> splat (float 0x3F81107740000000))
  %t13 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t12, <8 x float> %t11, <8 x float> splat (float 0xBFC5555460000000))
  %t14 = fmul <8 x float> %t13, %t11
  %t15 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t14, <8 x float> %t10, <8 x float> %t10)
  %t16 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3EF99E8100000000), <8 x float> %t11, <8 x float> splat (float 0xBF56C0C280000000))
  %t17 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t16, <8 x float> %t11, <8 x float> splat (float 0x3FA55554A0000000))
  %t18 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t17, <8 x float> %t11, <8 x float> splat (float 0xBFE0000000000000))
  %t19 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t18, <8 x float> %t11, <8 x float> splat (float 0x3FF0000000000000))
  %t20 = and <8 x i32> %t7, splat (i32 1)
  %t21 = icmp eq <8 x i32> %t20, splat (i32 0)
  %t22 = shl <8 x i32> %t7, splat (i32 30)
  %t23 = and <8 x i32> %t22, splat (i32 -2147483648)
  %t24 = select <8 x i1> %t21, <8 x float> %t15, <8 x float> %t19
  %t25 = bitcast <8 x float> %t24 to <8 x i32>
  %t26 = xor <8 x i32> %t25, %t23
  %t27 = bitcast <8 x i32> %t26 to <8 x float>
  %t28 = fcmp oeq <8 x float> %x, splat (float 0x0000000000000000)
  %t29 = select <8 x i1> %t28, <8 x float> %x, <8 x float> %t27
  br i1 %t3, label %far, label %near
near:
  ret <8 x float> %t29
far:
  %t30 = call <8 x float> @Sleef_sinf8_u10avx2(<8 x float> %x)
  %t31 = select <8 x i1> %t2, <8 x float> %t30, <8 x float> %t29
  ret <8 x float> %t31
}
define i32 @kernel(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" alignstack(32) {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t12, %loop5 ]
  %t8 = getelementptr float, ptr %t2, i64 %t7
  %t9 = load <8 x float>, ptr %t8, align 4
  %t10 = call <8 x float> @sin_f32_8(<8 x float> %t9)
  %t11 = getelementptr float, ptr %t4, i64 %t7
  store <8 x float> %t10, ptr %t11, align 4
  %t12 = add nuw nsw i64 %t7, 8
  %t13 = icmp slt i64 %t12, 16
  br i1 %t13, label %loop5, label %after6
after6:
  ret i32 0
}
