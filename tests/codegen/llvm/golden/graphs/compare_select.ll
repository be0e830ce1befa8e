declare i64 @llvm.smin.i64(i64, i64)
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
  %t9 = phi i64 [ 0, %entry ], [ %t27, %loop7 ]
  %t10 = call i64 @llvm.smin.i64(i64 %t9, i64 24)
  %t11 = getelementptr float, ptr %t2, i64 %t10
  %t12 = load <8 x float>, ptr %t11, align 4
  %t13 = getelementptr float, ptr %t11, i64 8
  %t14 = load <8 x float>, ptr %t13, align 4
  %t15 = getelementptr float, ptr %t4, i64 %t10
  %t16 = load <8 x float>, ptr %t15, align 4
  %t17 = getelementptr float, ptr %t15, i64 8
  %t18 = load <8 x float>, ptr %t17, align 4
  %t19 = fcmp ogt <8 x float> %t12, %t16
  %t20 = fcmp ogt <8 x float> %t14, %t18
  %t21 = fneg <8 x float> %t16
  %t22 = fneg <8 x float> %t18
  %t23 = select <8 x i1> %t19, <8 x float> %t12, <8 x float> %t21
  %t24 = select <8 x i1> %t20, <8 x float> %t14, <8 x float> %t22
  %t25 = getelementptr float, ptr %t6, i64 %t10
  store <8 x float> %t23, ptr %t25, align 4
  %t26 = getelementptr float, ptr %t25, i64 8
  store <8 x float> %t24, ptr %t26, align 4
  %t27 = add nuw nsw i64 %t9, 16
  %t28 = icmp slt i64 %t27, 40
  br i1 %t28, label %loop7, label %after8
after8:
  ret i32 0
}
