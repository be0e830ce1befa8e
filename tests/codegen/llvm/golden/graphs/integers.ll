declare i1 @llvm.vector.reduce.or.v4i1(<4 x i1>)
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
  %t9 = phi i64 [ 0, %entry ], [ %t39, %checked14 ]
  %t10 = getelementptr i64, ptr %t2, i64 %t9
  %t11 = load <4 x i64>, ptr %t10, align 8
  %t12 = icmp ne <4 x i64> %t11, splat (i64 0)
  %t13 = xor <4 x i1> %t12, splat (i1 true)
  %t15 = call i1 @llvm.vector.reduce.or.v4i1(<4 x i1> %t13)
  br i1 %t15, label %failed_check_0, label %checked14
checked14:
  %t16 = getelementptr i64, ptr %t4, i64 %t9
  %t17 = load <4 x i64>, ptr %t16, align 8
  %t18 = icmp eq <4 x i64> %t11, splat (i64 0)
  %t19 = icmp eq <4 x i64> %t17, splat (i64 -9223372036854775808)
  %t20 = icmp eq <4 x i64> %t11, splat (i64 -1)
  %t21 = and <4 x i1> %t19, %t20
  %t22 = or <4 x i1> %t18, %t21
  %t23 = select <4 x i1> %t22, <4 x i64> splat (i64 1), <4 x i64> %t11
  %t24 = sdiv <4 x i64> %t17, %t23
  %t25 = mul <4 x i64> %t24, %t23
  %t26 = sub <4 x i64> %t17, %t25
  %t27 = xor <4 x i64> %t26, %t23
  %t28 = icmp slt <4 x i64> %t27, splat (i64 0)
  %t29 = icmp ne <4 x i64> %t26, splat (i64 0)
  %t30 = and <4 x i1> %t28, %t29
  %t31 = sext <4 x i1> %t30 to <4 x i64>
  %t32 = add <4 x i64> %t24, %t31
  %t33 = select <4 x i1> %t18, <4 x i64> splat (i64 0), <4 x i64> %t32
  %t34 = add <4 x i64> %t26, %t23
  %t35 = select <4 x i1> %t30, <4 x i64> %t34, <4 x i64> %t26
  %t36 = select <4 x i1> %t18, <4 x i64> splat (i64 0), <4 x i64> %t35
  %t37 = add <4 x i64> %t33, %t36
  %t38 = getelementptr i64, ptr %t6, i64 %t9
  store <4 x i64> %t37, ptr %t38, align 8
  %t39 = add nuw nsw i64 %t9, 4
  %t40 = icmp slt i64 %t39, 40
  br i1 %t40, label %loop7, label %after8
after8:
  ret i32 0
failed_check_0:
  ret i32 1
}
