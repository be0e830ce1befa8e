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
  %t9 = phi i64 [ 0, %entry ], [ %t33, %after21 ]
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
  %t23 = mul nsw i64 %t14, 16
  %t24 = getelementptr float, ptr %t4, i64 %t23
  %t28 = mul nsw i64 %t9, 16
  %t29 = getelementptr float, ptr %t6, i64 %t28
  br label %loop20
loop20:
  %t22 = phi i64 [ 0, %checked19 ], [ %t31, %loop20 ]
  %t25 = getelementptr float, ptr %t24, i64 %t22
  %t26 = load <8 x float>, ptr %t25, align 4
  %t27 = fmul <8 x float> %t26, splat (float 0x4000000000000000)
  %t30 = getelementptr float, ptr %t29, i64 %t22
  store <8 x float> %t27, ptr %t30, align 4
  %t31 = add nuw nsw i64 %t22, 8
  %t32 = icmp slt i64 %t31, 16
  br i1 %t32, label %loop20, label %after21
after21:
  %t33 = add nuw nsw i64 %t9, 1
  %t34 = icmp slt i64 %t33, 2
  br i1 %t34, label %loop7, label %after8
after8:
  ret i32 0
failed_check_0:
  ret i32 1
}
