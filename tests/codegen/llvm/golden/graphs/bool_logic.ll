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
  %t9 = phi i64 [ 0, %entry ], [ %t31, %loop7 ]
  %t10 = call i64 @llvm.smin.i64(i64 %t9, i64 24)
  %t11 = getelementptr float, ptr %t2, i64 %t10
  %t12 = load <8 x float>, ptr %t11, align 4
  %t13 = getelementptr float, ptr %t11, i64 8
  %t14 = load <8 x float>, ptr %t13, align 4
  %t15 = fcmp ogt <8 x float> %t12, splat (float 0x0000000000000000)
  %t16 = fcmp ogt <8 x float> %t14, splat (float 0x0000000000000000)
  %t17 = getelementptr float, ptr %t4, i64 %t10
  %t18 = load <8 x float>, ptr %t17, align 4
  %t19 = getelementptr float, ptr %t17, i64 8
  %t20 = load <8 x float>, ptr %t19, align 4
  %t21 = fcmp ogt <8 x float> %t18, splat (float 0x0000000000000000)
  %t22 = fcmp ogt <8 x float> %t20, splat (float 0x0000000000000000)
  %t23 = xor <8 x i1> %t21, splat (i1 true)
  %t24 = xor <8 x i1> %t22, splat (i1 true)
  %t25 = and <8 x i1> %t15, %t23
  %t26 = and <8 x i1> %t16, %t24
  %t27 = getelementptr i8, ptr %t6, i64 %t10
  %t28 = zext <8 x i1> %t25 to <8 x i8>
  store <8 x i8> %t28, ptr %t27, align 1
  %t29 = getelementptr i8, ptr %t27, i64 8
  %t30 = zext <8 x i1> %t26 to <8 x i8>
  store <8 x i8> %t30, ptr %t29, align 1
  %t31 = add nuw nsw i64 %t9, 16
  %t32 = icmp slt i64 %t31, 40
  br i1 %t32, label %loop7, label %after8
after8:
  ret i32 0
}
