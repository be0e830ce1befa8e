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
  %t9 = phi i64 [ 0, %entry ], [ %t31, %after11 ]
  %t14 = mul nsw i64 %t9, 24
  %t15 = getelementptr float, ptr %t2, i64 %t14
  %t26 = getelementptr float, ptr %t6, i64 %t14
  br label %loop10
loop10:
  %t12 = phi i64 [ 0, %loop7 ], [ %t29, %loop10 ]
  %t13 = call i64 @llvm.smin.i64(i64 %t12, i64 8)
  %t16 = getelementptr float, ptr %t15, i64 %t13
  %t17 = load <8 x float>, ptr %t16, align 4
  %t18 = getelementptr float, ptr %t16, i64 8
  %t19 = load <8 x float>, ptr %t18, align 4
  %t20 = getelementptr float, ptr %t4, i64 %t13
  %t21 = load <8 x float>, ptr %t20, align 4
  %t22 = getelementptr float, ptr %t20, i64 8
  %t23 = load <8 x float>, ptr %t22, align 4
  %t24 = fadd <8 x float> %t17, %t21
  %t25 = fadd <8 x float> %t19, %t23
  %t27 = getelementptr float, ptr %t26, i64 %t13
  store <8 x float> %t24, ptr %t27, align 4
  %t28 = getelementptr float, ptr %t27, i64 8
  store <8 x float> %t25, ptr %t28, align 4
  %t29 = add nuw nsw i64 %t12, 16
  %t30 = icmp slt i64 %t29, 24
  br i1 %t30, label %loop10, label %after11
after11:
  %t31 = add nuw nsw i64 %t9, 1
  %t32 = icmp slt i64 %t31, 4
  br i1 %t32, label %loop7, label %after8
after8:
  ret i32 0
}
