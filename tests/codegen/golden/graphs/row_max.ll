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
  %t11 = alloca float, align 64
  %t12 = alloca <8 x float>, align 64
  %t13 = alloca <8 x float>, align 64
  %t14 = alloca <8 x float>, align 64
  %t15 = alloca <8 x float>, align 64
  %t5 = icmp slt i64 %begin, %end
  br i1 %t5, label %do6, label %done7
do6:
  br label %loop8
loop8:
  %t10 = phi i64 [ %begin, %do6 ], [ %t56, %loop8 ]
  store float 0xFFF0000000000000, ptr %t11, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t12, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t13, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t14, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t15, align 64
  %t16 = mul nsw i64 %t10, 40
  %t17 = getelementptr float, ptr %t2, i64 %t16
  %t18 = load <8 x float>, ptr %t17, align 4
  %t19 = getelementptr float, ptr %t17, i64 8
  %t20 = load <8 x float>, ptr %t19, align 4
  %t21 = getelementptr float, ptr %t17, i64 16
  %t22 = load <8 x float>, ptr %t21, align 4
  %t23 = getelementptr float, ptr %t17, i64 24
  %t24 = load <8 x float>, ptr %t23, align 4
  %t25 = load <8 x float>, ptr %t12, align 64
  %t26 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t18, <8 x float> %t25)
  store <8 x float> %t26, ptr %t12, align 64
  %t27 = load <8 x float>, ptr %t13, align 64
  %t28 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t20, <8 x float> %t27)
  store <8 x float> %t28, ptr %t13, align 64
  %t29 = load <8 x float>, ptr %t14, align 64
  %t30 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t22, <8 x float> %t29)
  store <8 x float> %t30, ptr %t14, align 64
  %t31 = load <8 x float>, ptr %t15, align 64
  %t32 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t24, <8 x float> %t31)
  store <8 x float> %t32, ptr %t15, align 64
  %t33 = getelementptr float, ptr %t17, i64 32
  %t34 = load <8 x float>, ptr %t33, align 4
  %t35 = load <8 x float>, ptr %t12, align 64
  %t36 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t34, <8 x float> %t35)
  store <8 x float> %t36, ptr %t12, align 64
  %t37 = load <8 x float>, ptr %t12, align 64
  %t38 = load <8 x float>, ptr %t13, align 64
  %t39 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t38, <8 x float> %t37)
  %t40 = load <8 x float>, ptr %t14, align 64
  %t41 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t40, <8 x float> %t39)
  %t42 = load <8 x float>, ptr %t15, align 64
  %t43 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t42, <8 x float> %t41)
  %t44 = shufflevector <8 x float> %t43, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t45 = shufflevector <8 x float> %t43, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t46 = call nsz <4 x float> @llvm.maximum.v4f32(<4 x float> %t45, <4 x float> %t44)
  %t47 = shufflevector <4 x float> %t46, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t48 = shufflevector <4 x float> %t46, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t49 = call nsz <2 x float> @llvm.maximum.v2f32(<2 x float> %t48, <2 x float> %t47)
  %t50 = extractelement <2 x float> %t49, i64 0
  %t51 = extractelement <2 x float> %t49, i64 1
  %t52 = call nsz float @llvm.maximum.f32(float %t51, float %t50)
  %t53 = load float, ptr %t11, align 64
  %t54 = call nsz float @llvm.maximum.f32(float %t53, float %t52)
  %t55 = getelementptr float, ptr %t4, i64 %t10
  store float %t54, ptr %t55, align 4
  %t56 = add nuw nsw i64 %t10, 1
  %t57 = icmp slt i64 %t56, %end
  br i1 %t57, label %loop8, label %after9
after9:
  br label %done7
done7:
  ret i32 0
}
