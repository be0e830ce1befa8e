declare <8 x float> @llvm.copysign.v8f32(<8 x float>, <8 x float>)
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
  %t7 = phi i64 [ 0, %entry ], [ %t45, %loop5 ]
  %t8 = getelementptr float, ptr %t2, i64 %t7
  %t9 = load <8 x float>, ptr %t8, align 4
  %t10 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %t9)
  %t11 = fcmp ogt <8 x float> %t10, splat (float 0x4024000000000000)
  %t12 = select <8 x i1> %t11, <8 x float> splat (float 0x4024000000000000), <8 x float> %t10
  %t13 = fadd <8 x float> %t12, %t12
  %t14 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t13, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t15 = fsub <8 x float> %t14, splat (float 0x4168000000000000)
  %t16 = bitcast <8 x float> %t14 to <8 x i32>
  %t17 = sub <8 x i32> %t16, splat (i32 1262485504)
  %t18 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t15, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t13)
  %t19 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t15, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t18)
  %t20 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t19, <8 x float> splat (float 0x3F812397A0000000))
  %t21 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t20, <8 x float> %t19, <8 x float> splat (float 0x3FA5558AC0000000))
  %t22 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t21, <8 x float> %t19, <8 x float> splat (float 0x3FC5554920000000))
  %t23 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t22, <8 x float> %t19, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t24 = fmul <8 x float> %t19, %t19
  %t25 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t23, <8 x float> %t24, <8 x float> %t19)
  %t26 = fadd <8 x float> %t25, splat (float 0x3FF0000000000000)
  %t27 = add <8 x i32> %t17, splat (i32 127)
  %t28 = shl <8 x i32> %t27, splat (i32 23)
  %t29 = bitcast <8 x i32> %t28 to <8 x float>
  %t30 = fmul <8 x float> %t26, %t29
  %t31 = fadd <8 x float> %t30, splat (float 0x3FF0000000000000)
  %t32 = fdiv <8 x float> splat (float 0x4000000000000000), %t31
  %t33 = fsub <8 x float> splat (float 0x3FF0000000000000), %t32
  %t34 = fmul <8 x float> %t9, %t9
  %t35 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0xBF7754F460000000), <8 x float> %t34, <8 x float> splat (float 0x3F952041C0000000))
  %t36 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t35, <8 x float> %t34, <8 x float> splat (float 0xBFAB836C80000000))
  %t37 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t36, <8 x float> %t34, <8 x float> splat (float 0x3FC1106FA0000000))
  %t38 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t37, <8 x float> %t34, <8 x float> splat (float 0xBFD5555320000000))
  %t39 = fmul <8 x float> %t38, %t34
  %t40 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t39, <8 x float> %t9, <8 x float> %t9)
  %t41 = fcmp olt <8 x float> %t10, splat (float 0x3FE4000000000000)
  %t42 = select <8 x i1> %t41, <8 x float> %t40, <8 x float> %t33
  %t43 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %t42, <8 x float> %t9)
  %t44 = getelementptr float, ptr %t4, i64 %t7
  store <8 x float> %t43, ptr %t44, align 4
  %t45 = add nuw nsw i64 %t7, 8
  %t46 = icmp slt i64 %t45, 40
  br i1 %t46, label %loop5, label %after6
after6:
  ret i32 0
}
