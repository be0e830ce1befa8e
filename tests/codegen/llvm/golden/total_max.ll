declare float @llvm.maximum.f32(float, float)
declare <2 x float> @llvm.maximum.v2f32(<2 x float>, <2 x float>)
declare <4 x float> @llvm.maximum.v4f32(<4 x float>, <4 x float>)
declare <8 x float> @llvm.maximum.v8f32(<8 x float>, <8 x float>)
define i32 @kernel(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = alloca float, align 64
  %t6 = alloca <8 x float>, align 64
  %t7 = alloca <8 x float>, align 64
  store float 0xFFF0000000000000, ptr %t5, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t6, align 64
  store <8 x float> splat (float 0xFFF0000000000000), ptr %t7, align 64
  br label %loop8
loop8:
  %t10 = phi i64 [ 0, %entry ], [ %t19, %loop8 ]
  %t11 = getelementptr float, ptr %t2, i64 %t10
  %t12 = load <8 x float>, ptr %t11, align 4
  %t13 = getelementptr float, ptr %t11, i64 8
  %t14 = load <8 x float>, ptr %t13, align 4
  %t15 = load <8 x float>, ptr %t6, align 64
  %t16 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t12, <8 x float> %t15)
  store <8 x float> %t16, ptr %t6, align 64
  %t17 = load <8 x float>, ptr %t7, align 64
  %t18 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t14, <8 x float> %t17)
  store <8 x float> %t18, ptr %t7, align 64
  %t19 = add nuw nsw i64 %t10, 16
  %t20 = icmp slt i64 %t19, 32
  br i1 %t20, label %loop8, label %after9
after9:
  %t21 = getelementptr float, ptr %t2, i64 32
  %t22 = load <8 x float>, ptr %t21, align 4
  %t23 = load <8 x float>, ptr %t6, align 64
  %t24 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t22, <8 x float> %t23)
  store <8 x float> %t24, ptr %t6, align 64
  %t25 = load <8 x float>, ptr %t6, align 64
  %t26 = load <8 x float>, ptr %t7, align 64
  %t27 = call nsz <8 x float> @llvm.maximum.v8f32(<8 x float> %t26, <8 x float> %t25)
  %t28 = shufflevector <8 x float> %t27, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t29 = shufflevector <8 x float> %t27, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t30 = call nsz <4 x float> @llvm.maximum.v4f32(<4 x float> %t29, <4 x float> %t28)
  %t31 = shufflevector <4 x float> %t30, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t32 = shufflevector <4 x float> %t30, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t33 = call nsz <2 x float> @llvm.maximum.v2f32(<2 x float> %t32, <2 x float> %t31)
  %t34 = extractelement <2 x float> %t33, i64 0
  %t35 = extractelement <2 x float> %t33, i64 1
  %t36 = call nsz float @llvm.maximum.f32(float %t35, float %t34)
  %t37 = load float, ptr %t5, align 64
  %t38 = call nsz float @llvm.maximum.f32(float %t37, float %t36)
  store float %t38, ptr %t4, align 4
  ret i32 0
}
