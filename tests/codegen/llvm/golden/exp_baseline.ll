define i32 @kernel(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="128" "prefer-vector-width"="128" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t56, %loop5 ]
  %t8 = getelementptr float, ptr %t2, i64 %t7
  %t9 = load <4 x float>, ptr %t8, align 4
  %t10 = fcmp olt <4 x float> %t9, splat (float 0xC05A000000000000)
  %t11 = select <4 x i1> %t10, <4 x float> splat (float 0xC05A000000000000), <4 x float> %t9
  %t12 = fcmp ogt <4 x float> %t11, splat (float 0x4056400000000000)
  %t13 = select <4 x i1> %t12, <4 x float> splat (float 0x4056400000000000), <4 x float> %t11
  %t14 = fmul <4 x float> %t13, splat (float 0x3FF7154760000000)
  %t15 = fadd <4 x float> %t14, splat (float 0x4168000000000000)
  %t16 = fsub <4 x float> %t15, splat (float 0x4168000000000000)
  %t17 = bitcast <4 x float> %t15 to <4 x i32>
  %t18 = sub <4 x i32> %t17, splat (i32 1262485504)
  %t19 = fmul <4 x float> %t16, splat (float 0xBFE6300000000000)
  %t20 = fadd <4 x float> %t19, %t13
  %t21 = fmul <4 x float> %t16, splat (float 0x3F2BD01060000000)
  %t22 = fadd <4 x float> %t21, %t20
  %t23 = fmul <4 x float> splat (float 0x3F56A51360000000), %t22
  %t24 = fadd <4 x float> %t23, splat (float 0x3F812397A0000000)
  %t25 = fmul <4 x float> %t24, %t22
  %t26 = fadd <4 x float> %t25, splat (float 0x3FA5558AC0000000)
  %t27 = fmul <4 x float> %t26, %t22
  %t28 = fadd <4 x float> %t27, splat (float 0x3FC5554920000000)
  %t29 = fmul <4 x float> %t28, %t22
  %t30 = fadd <4 x float> %t29, splat (float 0x3FDFFFFFC0000000)
  %t31 = fmul <4 x float> %t22, %t22
  %t32 = fmul <4 x float> %t30, %t31
  %t33 = fadd <4 x float> %t32, %t22
  %t34 = fadd <4 x float> %t33, splat (float 0x3FF0000000000000)
  %t35 = fcmp olt <4 x float> %t16, splat (float 0xC05F800000000000)
  %t36 = fadd <4 x float> %t16, splat (float 0x4062A00000000000)
  %t37 = add <4 x i32> %t18, splat (i32 149)
  %t38 = select <4 x i1> %t35, <4 x float> %t36, <4 x float> %t16
  %t39 = select <4 x i1> %t35, <4 x i32> %t37, <4 x i32> %t18
  %t40 = ashr <4 x i32> %t39, splat (i32 1)
  %t41 = sub <4 x i32> %t39, %t40
  %t42 = add <4 x i32> %t40, splat (i32 127)
  %t43 = shl <4 x i32> %t42, splat (i32 23)
  %t44 = bitcast <4 x i32> %t43 to <4 x float>
  %t45 = fmul <4 x float> %t34, %t44
  %t46 = add <4 x i32> %t41, splat (i32 127)
  %t47 = shl <4 x i32> %t46, splat (i32 23)
  %t48 = bitcast <4 x i32> %t47 to <4 x float>
  %t49 = fmul <4 x float> %t45, %t48
  %t50 = fadd <4 x float> %t49, splat (float 0x4160000000000000)
  %t51 = bitcast <4 x float> %t50 to <4 x i32>
  %t52 = sub <4 x i32> %t51, splat (i32 1258291200)
  %t53 = bitcast <4 x i32> %t52 to <4 x float>
  %t54 = select <4 x i1> %t35, <4 x float> %t53, <4 x float> %t49
  %t55 = getelementptr float, ptr %t4, i64 %t7
  store <4 x float> %t54, ptr %t55, align 4
  %t56 = add nuw nsw i64 %t7, 4
  %t57 = icmp slt i64 %t56, 16
  br i1 %t57, label %loop5, label %after6
after6:
  ret i32 0
}
