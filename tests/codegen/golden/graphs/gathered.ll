define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = getelementptr ptr, ptr %buffers, i64 2
  %t6 = load ptr, ptr %t5, align 8
  %t7 = icmp slt i64 %begin, %end
  br i1 %t7, label %do8, label %done9
do8:
  br label %loop10
loop10:
  %t12 = phi i64 [ %begin, %do8 ], [ %t33, %checked22 ]
  %t13 = getelementptr i64, ptr %t2, i64 %t12
  %t14 = load i64, ptr %t13, align 8
  %t15 = icmp slt i64 %t14, 0
  %t16 = add i64 %t14, 10
  %t17 = select i1 %t15, i64 %t16, i64 %t14
  %t18 = icmp sge i64 %t17, 0
  %t19 = icmp slt i64 %t17, 10
  %t20 = and i1 %t18, %t19
  %t21 = xor i1 %t20, true
  br i1 %t21, label %failed_check_0, label %checked22
checked22:
  %t23 = mul nsw i64 %t17, 16
  %t24 = getelementptr float, ptr %t4, i64 %t23
  %t25 = load <8 x float>, ptr %t24, align 4
  %t26 = getelementptr float, ptr %t24, i64 8
  %t27 = load <8 x float>, ptr %t26, align 4
  %t28 = fmul <8 x float> %t25, splat (float 0x4000000000000000)
  %t29 = fmul <8 x float> %t27, splat (float 0x4000000000000000)
  %t30 = mul nsw i64 %t12, 16
  %t31 = getelementptr float, ptr %t6, i64 %t30
  store <8 x float> %t28, ptr %t31, align 4
  %t32 = getelementptr float, ptr %t31, i64 8
  store <8 x float> %t29, ptr %t32, align 4
  %t33 = add nuw nsw i64 %t12, 1
  %t34 = icmp slt i64 %t33, %end
  br i1 %t34, label %loop10, label %after11
after11:
  br label %done9
done9:
  ret i32 0
failed_check_0:
  ret i32 1
}
