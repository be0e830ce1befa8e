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
  %t9 = phi i64 [ 0, %entry ], [ %t30, %checked19 ]
  %t10 = getelementptr i64, ptr %t2, i64 %t9
  %t11 = load i64, ptr %t10, align 8
  %t12 = icmp slt i64 %t11, 0
  %t13 = add i64 %t11, 10
  %t14 = select i1 %t12, i64 %t13, i64 %t11
  %t15 = icmp sge i64 %t14, 0
  %t16 = icmp slt i64 %t14, 10
  %t17 = and i1 %t15, %t16
  %t18 = xor i1 %t17, true
  br i1 %t18, label %failed_check_0, label %checked19
checked19:
  %t20 = mul nsw i64 %t14, 16
  %t21 = getelementptr float, ptr %t4, i64 %t20
  %t22 = load <8 x float>, ptr %t21, align 4
  %t23 = getelementptr float, ptr %t21, i64 8
  %t24 = load <8 x float>, ptr %t23, align 4
  %t25 = fmul <8 x float> %t22, splat (float 0x4000000000000000)
  %t26 = fmul <8 x float> %t24, splat (float 0x4000000000000000)
  %t27 = mul nsw i64 %t9, 16
  %t28 = getelementptr float, ptr %t6, i64 %t27
  store <8 x float> %t25, ptr %t28, align 4
  %t29 = getelementptr float, ptr %t28, i64 8
  store <8 x float> %t26, ptr %t29, align 4
  %t30 = add nuw nsw i64 %t9, 1
  %t31 = icmp slt i64 %t30, 2
  br i1 %t31, label %loop7, label %after8
after8:
  ret i32 0
failed_check_0:
  ret i32 1
}
