declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
define i32 @kernel(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = alloca float, align 64
  %t6 = alloca <16 x float>, align 64
  %t7 = alloca <16 x float>, align 64
  store float 0x0000000000000000, ptr %t5, align 64
  store <16 x float> splat (float 0x0000000000000000), ptr %t6, align 64
  store <16 x float> splat (float 0x0000000000000000), ptr %t7, align 64
  %t8 = load <16 x float>, ptr %t2, align 4
  %t9 = getelementptr float, ptr %t2, i64 16
  %t10 = load <16 x float>, ptr %t9, align 4
  %t11 = load <16 x float>, ptr %t6, align 64
  %t12 = fadd <16 x float> %t11, %t8
  store <16 x float> %t12, ptr %t6, align 64
  %t13 = load <16 x float>, ptr %t7, align 64
  %t14 = fadd <16 x float> %t13, %t10
  store <16 x float> %t14, ptr %t7, align 64
  %t15 = getelementptr float, ptr %t2, i64 32
  %t16 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %t15, <16 x i1> <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>, <16 x float> splat (float 0x0000000000000000))
  %t17 = load <16 x float>, ptr %t6, align 64
  %t18 = select <16 x i1> <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>, <16 x float> %t16, <16 x float> splat (float 0x0000000000000000)
  %t19 = fadd <16 x float> %t17, %t18
  store <16 x float> %t19, ptr %t6, align 64
  %t20 = load <16 x float>, ptr %t6, align 64
  %t21 = load <16 x float>, ptr %t7, align 64
  %t22 = fadd <16 x float> %t20, %t21
  %t23 = shufflevector <16 x float> %t22, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t24 = shufflevector <16 x float> %t22, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %t25 = fadd <8 x float> %t23, %t24
  %t26 = shufflevector <8 x float> %t25, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t27 = shufflevector <8 x float> %t25, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t28 = fadd <4 x float> %t26, %t27
  %t29 = shufflevector <4 x float> %t28, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t30 = shufflevector <4 x float> %t28, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t31 = fadd <2 x float> %t29, %t30
  %t32 = extractelement <2 x float> %t31, i64 0
  %t33 = extractelement <2 x float> %t31, i64 1
  %t34 = fadd float %t32, %t33
  %t35 = load float, ptr %t5, align 64
  %t36 = fadd float %t34, %t35
  store float %t36, ptr %t4, align 4
  ret i32 0
}
