declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float>, <16 x float>, <16 x float>, i16, i32)
define i32 @kernel(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = load <16 x float>, ptr %t2, align 4
  %t6 = fcmp olt <16 x float> %t5, splat (float 0xC05A000000000000)
  %t7 = select <16 x i1> %t6, <16 x float> splat (float 0xC05A000000000000), <16 x float> %t5
  %t8 = fcmp ogt <16 x float> %t7, splat (float 0x4056400000000000)
  %t9 = select <16 x i1> %t8, <16 x float> splat (float 0x4056400000000000), <16 x float> %t7
  %t10 = call <16 x float> @llvm.fma.v16f32(<16 x float> %t9, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %t11 = fsub <16 x float> %t10, splat (float 0x4168000000000000)
  %t12 = bitcast <16 x float> %t10 to <16 x i32>
  %t13 = sub <16 x i32> %t12, splat (i32 1262485504)
  %t14 = call <16 x float> @llvm.fma.v16f32(<16 x float> %t11, <16 x float> splat (float 0xBFE6300000000000), <16 x float> %t9)
  %t15 = call <16 x float> @llvm.fma.v16f32(<16 x float> %t11, <16 x float> splat (float 0x3F2BD01060000000), <16 x float> %t14)
  %t16 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56A51360000000), <16 x float> %t15, <16 x float> splat (float 0x3F812397A0000000))
  %t17 = call <16 x float> @llvm.fma.v16f32(<16 x float> %t16, <16 x float> %t15, <16 x float> splat (float 0x3FA5558AC0000000))
  %t18 = call <16 x float> @llvm.fma.v16f32(<16 x float> %t17, <16 x float> %t15, <16 x float> splat (float 0x3FC5554920000000))
  %t19 = call <16 x float> @llvm.fma.v16f32(<16 x float> %t18, <16 x float> %t15, <16 x float> splat (float 0x3FDFFFFFC0000000))
  %t20 = fmul <16 x float> %t15, %t15
  %t21 = call <16 x float> @llvm.fma.v16f32(<16 x float> %t19, <16 x float> %t20, <16 x float> %t15)
  %t22 = fadd <16 x float> %t21, splat (float 0x3FF0000000000000)
  %t23 = fcmp olt <16 x float> %t11, splat (float 0xC05F800000000000)
  %t24 = fadd <16 x float> %t11, splat (float 0x4062A00000000000)
  %t25 = add <16 x i32> %t13, splat (i32 149)
  %t26 = select <16 x i1> %t23, <16 x float> %t24, <16 x float> %t11
  %t27 = select <16 x i1> %t23, <16 x i32> %t25, <16 x i32> %t13
  %t28 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %t22, <16 x float> %t26, <16 x float> zeroinitializer, i16 -1, i32 4)
  %t29 = fadd <16 x float> %t28, splat (float 0x4160000000000000)
  %t30 = bitcast <16 x float> %t29 to <16 x i32>
  %t31 = sub <16 x i32> %t30, splat (i32 1258291200)
  %t32 = bitcast <16 x i32> %t31 to <16 x float>
  %t33 = select <16 x i1> %t23, <16 x float> %t32, <16 x float> %t28
  store <16 x float> %t33, ptr %t4, align 4
  ret i32 0
}
