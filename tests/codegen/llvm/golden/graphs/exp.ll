declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t48, %loop5 ]
  %t8 = getelementptr float, ptr %t2, i64 %t7
  %t9 = load <8 x float>, ptr %t8, align 4
  %t10 = fcmp olt <8 x float> %t9, splat (float 0xC05A000000000000)
  %t11 = select <8 x i1> %t10, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t9
  %t12 = fcmp ogt <8 x float> %t11, splat (float 0x4056400000000000)
  %t13 = select <8 x i1> %t12, <8 x float> splat (float 0x4056400000000000), <8 x float> %t11
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
  %t27 = fcmp olt <8 x float> %t15, splat (float 0xC05F800000000000)
  %t28 = fadd <8 x float> %t15, splat (float 0x4062A00000000000)
  %t29 = add <8 x i32> %t17, splat (i32 149)
  %t30 = select <8 x i1> %t27, <8 x float> %t28, <8 x float> %t15
  %t31 = select <8 x i1> %t27, <8 x i32> %t29, <8 x i32> %t17
  %t32 = ashr <8 x i32> %t31, splat (i32 1)
  %t33 = sub <8 x i32> %t31, %t32
  %t34 = add <8 x i32> %t32, splat (i32 127)
  %t35 = shl <8 x i32> %t34, splat (i32 23)
  %t36 = bitcast <8 x i32> %t35 to <8 x float>
  %t37 = fmul <8 x float> %t26, %t36
  %t38 = add <8 x i32> %t33, splat (i32 127)
  %t39 = shl <8 x i32> %t38, splat (i32 23)
  %t40 = bitcast <8 x i32> %t39 to <8 x float>
  %t41 = fmul <8 x float> %t37, %t40
  %t42 = fadd <8 x float> %t41, splat (float 0x4160000000000000)
  %t43 = bitcast <8 x float> %t42 to <8 x i32>
  %t44 = sub <8 x i32> %t43, splat (i32 1258291200)
  %t45 = bitcast <8 x i32> %t44 to <8 x float>
  %t46 = select <8 x i1> %t27, <8 x float> %t45, <8 x float> %t41
  %t47 = getelementptr float, ptr %t4, i64 %t7
  store <8 x float> %t46, ptr %t47, align 4
  %t48 = add nuw nsw i64 %t7, 8
  %t49 = icmp slt i64 %t48, 40
  br i1 %t49, label %loop5, label %after6
after6:
  ret i32 0
}
