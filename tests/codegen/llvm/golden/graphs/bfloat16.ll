declare i64 @llvm.smin.i64(i64, i64)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t65, %loop5 ]
  %t8 = call i64 @llvm.smin.i64(i64 %t7, i64 24)
  %t9 = getelementptr float, ptr %t2, i64 %t8
  %t10 = load <8 x float>, ptr %t9, align 4
  %t11 = getelementptr float, ptr %t9, i64 8
  %t12 = load <8 x float>, ptr %t11, align 4
  %t13 = bitcast <8 x float> %t10 to <8 x i32>
  %t14 = lshr <8 x i32> %t13, splat (i32 16)
  %t15 = and <8 x i32> %t14, splat (i32 1)
  %t16 = add <8 x i32> %t15, splat (i32 32767)
  %t17 = add <8 x i32> %t13, %t16
  %t18 = lshr <8 x i32> %t17, splat (i32 16)
  %t19 = fcmp uno <8 x float> %t10, %t10
  %t20 = select <8 x i1> %t19, <8 x i32> splat (i32 32704), <8 x i32> %t18
  %t21 = trunc <8 x i32> %t20 to <8 x i16>
  %t22 = bitcast <8 x float> %t12 to <8 x i32>
  %t23 = lshr <8 x i32> %t22, splat (i32 16)
  %t24 = and <8 x i32> %t23, splat (i32 1)
  %t25 = add <8 x i32> %t24, splat (i32 32767)
  %t26 = add <8 x i32> %t22, %t25
  %t27 = lshr <8 x i32> %t26, splat (i32 16)
  %t28 = fcmp uno <8 x float> %t12, %t12
  %t29 = select <8 x i1> %t28, <8 x i32> splat (i32 32704), <8 x i32> %t27
  %t30 = trunc <8 x i32> %t29 to <8 x i16>
  %t31 = zext <8 x i16> %t21 to <8 x i32>
  %t32 = shl <8 x i32> %t31, splat (i32 16)
  %t33 = bitcast <8 x i32> %t32 to <8 x float>
  %t34 = zext <8 x i16> %t30 to <8 x i32>
  %t35 = shl <8 x i32> %t34, splat (i32 16)
  %t36 = bitcast <8 x i32> %t35 to <8 x float>
  %t37 = fadd <8 x float> %t33, splat (float 0x3FF0000000000000)
  %t38 = fadd <8 x float> %t36, splat (float 0x3FF0000000000000)
  %t39 = bitcast <8 x float> %t37 to <8 x i32>
  %t40 = lshr <8 x i32> %t39, splat (i32 16)
  %t41 = and <8 x i32> %t40, splat (i32 1)
  %t42 = add <8 x i32> %t41, splat (i32 32767)
  %t43 = add <8 x i32> %t39, %t42
  %t44 = lshr <8 x i32> %t43, splat (i32 16)
  %t45 = fcmp uno <8 x float> %t37, %t37
  %t46 = select <8 x i1> %t45, <8 x i32> splat (i32 32704), <8 x i32> %t44
  %t47 = trunc <8 x i32> %t46 to <8 x i16>
  %t48 = bitcast <8 x float> %t38 to <8 x i32>
  %t49 = lshr <8 x i32> %t48, splat (i32 16)
  %t50 = and <8 x i32> %t49, splat (i32 1)
  %t51 = add <8 x i32> %t50, splat (i32 32767)
  %t52 = add <8 x i32> %t48, %t51
  %t53 = lshr <8 x i32> %t52, splat (i32 16)
  %t54 = fcmp uno <8 x float> %t38, %t38
  %t55 = select <8 x i1> %t54, <8 x i32> splat (i32 32704), <8 x i32> %t53
  %t56 = trunc <8 x i32> %t55 to <8 x i16>
  %t57 = zext <8 x i16> %t47 to <8 x i32>
  %t58 = shl <8 x i32> %t57, splat (i32 16)
  %t59 = bitcast <8 x i32> %t58 to <8 x float>
  %t60 = zext <8 x i16> %t56 to <8 x i32>
  %t61 = shl <8 x i32> %t60, splat (i32 16)
  %t62 = bitcast <8 x i32> %t61 to <8 x float>
  %t63 = getelementptr float, ptr %t4, i64 %t8
  store <8 x float> %t59, ptr %t63, align 4
  %t64 = getelementptr float, ptr %t63, i64 8
  store <8 x float> %t62, ptr %t64, align 4
  %t65 = add nuw nsw i64 %t7, 16
  %t66 = icmp slt i64 %t65, 40
  br i1 %t66, label %loop5, label %after6
after6:
  ret i32 0
}
