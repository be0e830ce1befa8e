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
  store <8 x float> splat (float 0x0000000000000000), ptr %t5, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t6, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t7, align 64
  store <8 x float> splat (float 0x0000000000000000), ptr %t8, align 64
  br label %loop9
loop9:
  %t11 = phi i64 [ 0, %entry ], [ %t29, %loop9 ]
  %t12 = mul nsw i64 %t11, 32
  %t13 = getelementptr float, ptr %t2, i64 %t12
  %t14 = load <8 x float>, ptr %t13, align 4
  %t15 = getelementptr float, ptr %t13, i64 8
  %t16 = load <8 x float>, ptr %t15, align 4
  %t17 = getelementptr float, ptr %t13, i64 16
  %t18 = load <8 x float>, ptr %t17, align 4
  %t19 = getelementptr float, ptr %t13, i64 24
  %t20 = load <8 x float>, ptr %t19, align 4
  %t21 = load <8 x float>, ptr %t5, align 64
  %t22 = fadd <8 x float> %t21, %t14
  store <8 x float> %t22, ptr %t5, align 64
  %t23 = load <8 x float>, ptr %t6, align 64
  %t24 = fadd <8 x float> %t23, %t16
  store <8 x float> %t24, ptr %t6, align 64
  %t25 = load <8 x float>, ptr %t7, align 64
  %t26 = fadd <8 x float> %t25, %t18
  store <8 x float> %t26, ptr %t7, align 64
  %t27 = load <8 x float>, ptr %t8, align 64
  %t28 = fadd <8 x float> %t27, %t20
  store <8 x float> %t28, ptr %t8, align 64
  %t29 = add nuw nsw i64 %t11, 1
  %t30 = icmp slt i64 %t29, 40
  br i1 %t30, label %loop9, label %after10
after10:
  %t31 = load <8 x float>, ptr %t5, align 64
  %t32 = load <8 x float>, ptr %t6, align 64
  %t33 = load <8 x float>, ptr %t7, align 64
  %t34 = load <8 x float>, ptr %t8, align 64
  store <8 x float> %t31, ptr %t4, align 4
  %t35 = getelementptr float, ptr %t4, i64 8
  store <8 x float> %t32, ptr %t35, align 4
  %t36 = getelementptr float, ptr %t4, i64 16
  store <8 x float> %t33, ptr %t36, align 4
  %t37 = getelementptr float, ptr %t4, i64 24
  store <8 x float> %t34, ptr %t37, align 4
  ret i32 0
}
