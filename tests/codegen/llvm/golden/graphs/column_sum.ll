declare i64 @llvm.smin.i64(i64, i64)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = alloca <8 x float>, align 64
  %t6 = alloca <8 x float>, align 64
  %t7 = alloca <8 x float>, align 64
  %t8 = alloca <8 x float>, align 64
  %t9 = alloca <8 x float>, align 64
  %t11 = alloca <8 x float>, align 64
  %t13 = alloca <8 x float>, align 64
  %t15 = alloca <8 x float>, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t5, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t6, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t7, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t8, align 64
  %t10 = load <8 x float>, ptr %t5, align 64
  store <8 x float> %t10, ptr %t9, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t5, align 64
  %t12 = load <8 x float>, ptr %t6, align 64
  store <8 x float> %t12, ptr %t11, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t6, align 64
  %t14 = load <8 x float>, ptr %t7, align 64
  store <8 x float> %t14, ptr %t13, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t7, align 64
  %t16 = load <8 x float>, ptr %t8, align 64
  store <8 x float> %t16, ptr %t15, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t8, align 64
  br label %loop17
loop17:
  %t19 = phi i64 [ 0, %entry ], [ %t56, %after23 ]
  %t20 = add nsw i64 %t19, 16
  %t21 = call i64 @llvm.smin.i64(i64 %t20, i64 40)
  br label %loop22
loop22:
  %t24 = phi i64 [ %t19, %loop17 ], [ %t42, %loop22 ]
  %t25 = mul nsw i64 %t24, 32
  %t26 = getelementptr float, ptr %t2, i64 %t25
  %t27 = load <8 x float>, ptr %t26, align 4
  %t28 = getelementptr float, ptr %t26, i64 8
  %t29 = load <8 x float>, ptr %t28, align 4
  %t30 = getelementptr float, ptr %t26, i64 16
  %t31 = load <8 x float>, ptr %t30, align 4
  %t32 = getelementptr float, ptr %t26, i64 24
  %t33 = load <8 x float>, ptr %t32, align 4
  %t34 = load <8 x float>, ptr %t5, align 64
  %t35 = fadd <8 x float> %t34, %t27
  store <8 x float> %t35, ptr %t5, align 64
  %t36 = load <8 x float>, ptr %t6, align 64
  %t37 = fadd <8 x float> %t36, %t29
  store <8 x float> %t37, ptr %t6, align 64
  %t38 = load <8 x float>, ptr %t7, align 64
  %t39 = fadd <8 x float> %t38, %t31
  store <8 x float> %t39, ptr %t7, align 64
  %t40 = load <8 x float>, ptr %t8, align 64
  %t41 = fadd <8 x float> %t40, %t33
  store <8 x float> %t41, ptr %t8, align 64
  %t42 = add nuw nsw i64 %t24, 1
  %t43 = icmp slt i64 %t42, %t21
  br i1 %t43, label %loop22, label %after23
after23:
  %t44 = load <8 x float>, ptr %t9, align 64
  %t45 = load <8 x float>, ptr %t5, align 64
  %t46 = fadd <8 x float> %t44, %t45
  store <8 x float> %t46, ptr %t9, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t5, align 64
  %t47 = load <8 x float>, ptr %t11, align 64
  %t48 = load <8 x float>, ptr %t6, align 64
  %t49 = fadd <8 x float> %t47, %t48
  store <8 x float> %t49, ptr %t11, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t6, align 64
  %t50 = load <8 x float>, ptr %t13, align 64
  %t51 = load <8 x float>, ptr %t7, align 64
  %t52 = fadd <8 x float> %t50, %t51
  store <8 x float> %t52, ptr %t13, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t7, align 64
  %t53 = load <8 x float>, ptr %t15, align 64
  %t54 = load <8 x float>, ptr %t8, align 64
  %t55 = fadd <8 x float> %t53, %t54
  store <8 x float> %t55, ptr %t15, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t8, align 64
  %t56 = add nuw nsw i64 %t19, 16
  %t57 = icmp slt i64 %t56, 40
  br i1 %t57, label %loop17, label %after18
after18:
  %t58 = load <8 x float>, ptr %t9, align 64
  store <8 x float> %t58, ptr %t5, align 64
  %t59 = load <8 x float>, ptr %t11, align 64
  store <8 x float> %t59, ptr %t6, align 64
  %t60 = load <8 x float>, ptr %t13, align 64
  store <8 x float> %t60, ptr %t7, align 64
  %t61 = load <8 x float>, ptr %t15, align 64
  store <8 x float> %t61, ptr %t8, align 64
  %t62 = load <8 x float>, ptr %t5, align 64
  %t63 = load <8 x float>, ptr %t6, align 64
  %t64 = load <8 x float>, ptr %t7, align 64
  %t65 = load <8 x float>, ptr %t8, align 64
  store <8 x float> %t62, ptr %t4, align 4
  %t66 = getelementptr float, ptr %t4, i64 8
  store <8 x float> %t63, ptr %t66, align 4
  %t67 = getelementptr float, ptr %t4, i64 16
  store <8 x float> %t64, ptr %t67, align 4
  %t68 = getelementptr float, ptr %t4, i64 24
  store <8 x float> %t65, ptr %t68, align 4
  ret i32 0
}
