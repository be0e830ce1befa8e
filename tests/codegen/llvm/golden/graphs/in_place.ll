define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t20, %loop5 ]
  %t8 = getelementptr float, ptr %t2, i64 %t7
  %t9 = load <8 x float>, ptr %t8, align 4
  %t10 = getelementptr float, ptr %t8, i64 8
  %t11 = load <8 x float>, ptr %t10, align 4
  %t12 = getelementptr float, ptr %t4, i64 %t7
  %t13 = load <8 x float>, ptr %t12, align 4
  %t14 = getelementptr float, ptr %t12, i64 8
  %t15 = load <8 x float>, ptr %t14, align 4
  %t16 = fmul <8 x float> %t13, splat (float 0x3FB99999A0000000)
  %t17 = fmul <8 x float> %t15, splat (float 0x3FB99999A0000000)
  %t18 = fadd <8 x float> %t9, %t16
  %t19 = fadd <8 x float> %t11, %t17
  store <8 x float> %t18, ptr %t8, align 4
  store <8 x float> %t19, ptr %t10, align 4
  %t20 = add nuw nsw i64 %t7, 16
  %t21 = icmp slt i64 %t20, 32
  br i1 %t21, label %loop5, label %after6
after6:
  %t22 = getelementptr float, ptr %t2, i64 32
  %t23 = load <8 x float>, ptr %t22, align 4
  %t24 = getelementptr float, ptr %t4, i64 32
  %t25 = load <8 x float>, ptr %t24, align 4
  %t26 = fmul <8 x float> %t25, splat (float 0x3FB99999A0000000)
  %t27 = fadd <8 x float> %t23, %t26
  store <8 x float> %t27, ptr %t22, align 4
  ret i32 0
}
