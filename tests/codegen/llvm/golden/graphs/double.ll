define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t18, %loop5 ]
  %t8 = getelementptr float, ptr %t2, i64 %t7
  %t9 = load <4 x float>, ptr %t8, align 4
  %t10 = getelementptr float, ptr %t8, i64 4
  %t11 = load <4 x float>, ptr %t10, align 4
  %t12 = fpext <4 x float> %t9 to <4 x double>
  %t13 = fpext <4 x float> %t11 to <4 x double>
  %t14 = fmul <4 x double> %t12, splat (double 0x4008000000000000)
  %t15 = fmul <4 x double> %t13, splat (double 0x4008000000000000)
  %t16 = getelementptr double, ptr %t4, i64 %t7
  store <4 x double> %t14, ptr %t16, align 8
  %t17 = getelementptr double, ptr %t16, i64 4
  store <4 x double> %t15, ptr %t17, align 8
  %t18 = add nuw nsw i64 %t7, 8
  %t19 = icmp slt i64 %t18, 40
  br i1 %t19, label %loop5, label %after6
after6:
  ret i32 0
}
