declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t51, %loop5 ]
  %t8 = getelementptr float, ptr %t2, i64 %t7
  %t9 = load <8 x float>, ptr %t8, align 4
  %t10 = fneg <8 x float> %t9
  %t11 = fcmp olt <8 x float> %t10, splat (float 0xC05A000000000000)
  %t12 = select <8 x i1> %t11, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t10
  %t13 = fcmp ogt <8 x float> %t12, splat (float 0x4056400000000000)
  %t14 = select <8 x i1> %t13, <8 x float> splat (float 0x4056400000000000), <8 x float> %t12
  %t15 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t14, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t16 = fsub <8 x float> %t15, splat (float 0x4168000000000000)
  %t17 = bitcast <8 x float> %t15 to <8 x i32>
  %t18 = sub <8 x i32> %t17, splat (i32 1262485504)
  %t19 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t16, <8 x float> splat (float 0xBFE6300000000000), <8 x float> %t14)
  %t20 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t16, <8 x float> splat (float 0x3F2BD01060000000), <8 x float> %t19)
  %t21 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A51360000000), <8 x float> %t20, <8 x float> splat (float 0x3F812397A0000000))
  %t22 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t21, <8 x float> %t20, <8 x float> splat (float 0x3FA5558AC0000000))
  %t23 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t22, <8 x float> %t20, <8 x float> splat (float 0x3FC5554920000000))
  %t24 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t23, <8 x float> %t20, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %t25 = fmul <8 x float> %t20, %t20
  %t26 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t24, <8 x float> %t25, <8 x float> %t20)
  %t27 = fadd <8 x float> %t26, splat (float 0x3FF0000000000000)
  %t28 = fcmp olt <8 x float> %t16, splat (float 0xC05F800000000000)
  %t29 = fadd <8 x float> %t16, splat (float 0x4062A00000000000)
  %t30 = add <8 x i32> %t18, splat (i32 149)
  %t31 = select <8 x i1> %t28, <8 x float> %t29, <8 x float> %t16
  %t32 = select <8 x i1> %t28, <8 x i32> %t30, <8 x i32> %t18
  %t33 = ashr <8 x i32> %t32, splat (i32 1)
  %t34 = sub <8 x i32> %t32, %t33
  %t35 = add <8 x i32> %t33, splat (i32 127)
  %t36 = shl <8 x i32> %t35, splat (i32 23)
  %t37 = bitcast <8 x i32> %t36 to <8 x float>
  %t38 = fmul <8 x float> %t27, %t37
  %t39 = add <8 x i32> %t34, splat (i32 127)
  %t40 = shl <8 x i32> %t39, splat (i32 23)
  %t41 = bitcast <8 x i32> %t40 to <8 x float>
  %t42 = fmul <8 x float> %t38, %t41
  %t43 = fadd <8 x float> %t42, splat (float 0x4160000000000000)
  %t44 = bitcast <8 x float> %t43 to <8 x i32>
  %t45 = sub <8 x i32> %t44, splat (i32 1258291200)
  %t46 = bitcast <8 x i32> %t45 to <8 x float>
  %t47 = select <8 x i1> %t28, <8 x float> %t46, <8 x float> %t42
  %t48 = fadd <8 x float> splat (float 0x3FF0000000000000), %t47
  %t49 = fdiv <8 x float> splat (float 0x3FF0000000000000), %t48
  %t50 = getelementptr float, ptr %t4, i64 %t7
  store <8 x float> %t49, ptr %t50, align 4
  %t51 = add nuw nsw i64 %t7, 8
  %t52 = icmp slt i64 %t51, 40
  br i1 %t52, label %loop5, label %after6
after6:
  ret i32 0
}
