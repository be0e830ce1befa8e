declare i64 @llvm.smin.i64(i64, i64)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t23, %loop5 ]
  %t8 = call i64 @llvm.smin.i64(i64 %t7, i64 24)
  %t9 = getelementptr float, ptr %t2, i64 %t8
  %t10 = load <8 x float>, ptr %t9, align 4
  %t11 = getelementptr float, ptr %t9, i64 8
  %t12 = load <8 x float>, ptr %t11, align 4
  %t13 = fcmp ogt <8 x float> splat (float 0xBFE0000000000000), %t10
  %t14 = select <8 x i1> %t13, <8 x float> splat (float 0xBFE0000000000000), <8 x float> %t10
  %t15 = fcmp ogt <8 x float> splat (float 0xBFE0000000000000), %t12
  %t16 = select <8 x i1> %t15, <8 x float> splat (float 0xBFE0000000000000), <8 x float> %t12
  %t17 = fcmp olt <8 x float> splat (float 0x3FE0000000000000), %t14
  %t18 = select <8 x i1> %t17, <8 x float> splat (float 0x3FE0000000000000), <8 x float> %t14
  %t19 = fcmp olt <8 x float> splat (float 0x3FE0000000000000), %t16
  %t20 = select <8 x i1> %t19, <8 x float> splat (float 0x3FE0000000000000), <8 x float> %t16
  %t21 = getelementptr float, ptr %t4, i64 %t8
  store <8 x float> %t18, ptr %t21, align 4
  %t22 = getelementptr float, ptr %t21, i64 8
  store <8 x float> %t20, ptr %t22, align 4
  %t23 = add nuw nsw i64 %t7, 16
  %t24 = icmp slt i64 %t23, 40
  br i1 %t24, label %loop5, label %after6
after6:
  ret i32 0
}
