declare i64 @llvm.smin.i64(i64, i64)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t27, %loop5 ]
  %t8 = call i64 @llvm.smin.i64(i64 %t7, i64 24)
  %t9 = getelementptr float, ptr %t2, i64 %t8
  %t10 = load <8 x float>, ptr %t9, align 4
  %t11 = getelementptr float, ptr %t9, i64 8
  %t12 = load <8 x float>, ptr %t11, align 4
  %t13 = fcmp oge <8 x float> %t10, splat (float 0xC3E0000000000000)
  %t14 = fcmp olt <8 x float> %t10, splat (float 0x43E0000000000000)
  %t15 = and <8 x i1> %t13, %t14
  %t16 = select <8 x i1> %t15, <8 x float> %t10, <8 x float> splat (float 0x0000000000000000)
  %t17 = fptosi <8 x float> %t16 to <8 x i64>
  %t18 = select <8 x i1> %t15, <8 x i64> %t17, <8 x i64> splat (i64 -9223372036854775808)
  %t19 = fcmp oge <8 x float> %t12, splat (float 0xC3E0000000000000)
  %t20 = fcmp olt <8 x float> %t12, splat (float 0x43E0000000000000)
  %t21 = and <8 x i1> %t19, %t20
  %t22 = select <8 x i1> %t21, <8 x float> %t12, <8 x float> splat (float 0x0000000000000000)
  %t23 = fptosi <8 x float> %t22 to <8 x i64>
  %t24 = select <8 x i1> %t21, <8 x i64> %t23, <8 x i64> splat (i64 -9223372036854775808)
  %t25 = getelementptr i64, ptr %t4, i64 %t8
  store <8 x i64> %t18, ptr %t25, align 8
  %t26 = getelementptr i64, ptr %t25, i64 8
  store <8 x i64> %t24, ptr %t26, align 8
  %t27 = add nuw nsw i64 %t7, 16
  %t28 = icmp slt i64 %t27, 40
  br i1 %t28, label %loop5, label %after6
after6:
  ret i32 0
}
