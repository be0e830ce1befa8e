declare <8 x float> @llvm.fabs.v8f32(<8 x float>)
declare <8 x float> @llvm.sqrt.v8f32(<8 x float>)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = getelementptr ptr, ptr %buffers, i64 2
  %t6 = load ptr, ptr %t5, align 8
  br label %loop7
loop7:
  %t9 = phi i64 [ 0, %entry ], [ %t40, %loop7 ]
  %t10 = getelementptr float, ptr %t2, i64 %t9
  %t11 = load <8 x float>, ptr %t10, align 4
  %t12 = getelementptr float, ptr %t10, i64 8
  %t13 = load <8 x float>, ptr %t12, align 4
  %t14 = getelementptr float, ptr %t4, i64 %t9
  %t15 = load <8 x float>, ptr %t14, align 4
  %t16 = getelementptr float, ptr %t14, i64 8
  %t17 = load <8 x float>, ptr %t16, align 4
  %t18 = getelementptr float, ptr %t6, i64 %t9
  %t19 = load <8 x float>, ptr %t18, align 4
  %t20 = getelementptr float, ptr %t18, i64 8
  %t21 = load <8 x float>, ptr %t20, align 4
  %t22 = fsub <8 x float> %t19, %t15
  %t23 = fsub <8 x float> %t21, %t17
  %t24 = fmul <8 x float> splat (float 0x3FB99999A0000000), %t22
  %t25 = fmul <8 x float> splat (float 0x3FB99999A0000000), %t23
  %t26 = fadd <8 x float> %t15, %t24
  %t27 = fadd <8 x float> %t17, %t25
  %t28 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %t19)
  %t29 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %t21)
  %t30 = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %t28)
  %t31 = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %t29)
  %t32 = fadd <8 x float> %t30, splat (float 0x3E45798EE0000000)
  %t33 = fadd <8 x float> %t31, splat (float 0x3E45798EE0000000)
  %t34 = fdiv <8 x float> %t26, %t32
  %t35 = fdiv <8 x float> %t27, %t33
  %t36 = fmul <8 x float> %t34, splat (float 0x3F847AE140000000)
  %t37 = fmul <8 x float> %t35, splat (float 0x3F847AE140000000)
  %t38 = fsub <8 x float> %t11, %t36
  %t39 = fsub <8 x float> %t13, %t37
  store <8 x float> %t38, ptr %t10, align 4
  store <8 x float> %t39, ptr %t12, align 4
  %t40 = add nuw nsw i64 %t9, 16
  %t41 = icmp slt i64 %t40, 32
  br i1 %t41, label %loop7, label %after8
after8:
  %t42 = getelementptr float, ptr %t2, i64 32
  %t43 = load <8 x float>, ptr %t42, align 4
  %t44 = getelementptr float, ptr %t4, i64 32
  %t45 = load <8 x float>, ptr %t44, align 4
  %t46 = getelementptr float, ptr %t6, i64 32
  %t47 = load <8 x float>, ptr %t46, align 4
  %t48 = fsub <8 x float> %t47, %t45
  %t49 = fmul <8 x float> splat (float 0x3FB99999A0000000), %t48
  %t50 = fadd <8 x float> %t45, %t49
  %t51 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %t47)
  %t52 = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %t51)
  %t53 = fadd <8 x float> %t52, splat (float 0x3E45798EE0000000)
  %t54 = fdiv <8 x float> %t50, %t53
  %t55 = fmul <8 x float> %t54, splat (float 0x3F847AE140000000)
  %t56 = fsub <8 x float> %t43, %t55
  store <8 x float> %t56, ptr %t42, align 4
  ret i32 0
}
