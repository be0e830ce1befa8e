declare float @llvm.maximum.f32(float, float)
declare <2 x float> @llvm.maximum.v2f32(<2 x float>, <2 x float>)
declare <4 x float> @llvm.maximum.v4f32(<4 x float>, <4 x float>)
declare <8 x float> @llvm.maximum.v8f32(<8 x float>, <8 x float>)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t8 = alloca float, align 64
  %t9 = alloca <8 x float>, align 64
  %t10 = alloca <8 x float>, align 64
  %t11 = alloca <8 x float>, align 64
  %t12 = alloca <8 x float>, align 64
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t53, %loop5 ]
  store float 0xFFF0000000000000, ptr %t8, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t9, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t10, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t11, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t12, align 64
  %t13 = mul nsw i64 %t7, 40
  %t14 = getelementptr float, ptr %t2, i64 %t13
  %t15 = load <8 x float>, ptr %t14, align 4
  %t16 = getelementptr float, ptr %t14, i64 8
  %t17 = load <8 x float>, ptr %t16, align 4
  %t18 = getelementptr float, ptr %t14, i64 16
  %t19 = load <8 x float>, ptr %t18, align 4
  %t20 = getelementptr float, ptr %t14, i64 24
  %t21 = load <8 x float>, ptr %t20, align 4
  %t22 = load <8 x float>, ptr %t9, align 64
  %t23 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t15, <8 x float> %t22)
  store <8 x float> %t23, ptr %t9, align 64
  %t24 = load <8 x float>, ptr %t10, align 64
  %t25 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t17, <8 x float> %t24)
  store <8 x float> %t25, ptr %t10, align 64
  %t26 = load <8 x float>, ptr %t11, align 64
  %t27 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t19, <8 x float> %t26)
  store <8 x float> %t27, ptr %t11, align 64
  %t28 = load <8 x float>, ptr %t12, align 64
  %t29 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t21, <8 x float> %t28)
  store <8 x float> %t29, ptr %t12, align 64
  %t30 = getelementptr float, ptr %t14, i64 32
  %t31 = load <8 x float>, ptr %t30, align 4
  %t32 = load <8 x float>, ptr %t9, align 64
  %t33 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t31, <8 x float> %t32)
  store <8 x float> %t33, ptr %t9, align 64
  %t34 = load <8 x float>, ptr %t9, align 64
  %t35 = load <8 x float>, ptr %t10, align 64
  %t36 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t35, <8 x float> %t34)
  %t37 = load <8 x float>, ptr %t11, align 64
  %t38 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t37, <8 x float> %t36)
  %t39 = load <8 x float>, ptr %t12, align 64
  %t40 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t39, <8 x float> %t38)
  %t41 = shufflevector <8 x float> %t40, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t42 = shufflevector <8 x float> %t40, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t43 = call nsz <4 x float> @llvm.maximum.v4f32(<4 x float> %t42, <4 x float> %t41)
  %t44 = shufflevector <4 x float> %t43, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t45 = shufflevector <4 x float> %t43, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t46 = call nsz <2 x float> @llvm.maximum.v2f32(<2 x float> %t45, <2 x float> %t44)
  %t47 = extractelement <2 x float> %t46, i64 0
  %t48 = extractelement <2 x float> %t46, i64 1
  %t49 = call nsz float @llvm.maximum.f32(float %t48, float %t47)
  %t50 = load float, ptr %t8, align 64
  %t51 = call nsz float @llvm.maximum.f32(float %t50, float %t49)
  %t52 = getelementptr float, ptr %t4, i64 %t7
  store float %t51, ptr %t52, align 4
  %t53 = add nuw nsw i64 %t7, 1
  %t54 = icmp slt i64 %t53, 4
  br i1 %t54, label %loop5, label %after6
after6:
  ret i32 0
}
