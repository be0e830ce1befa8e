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
  %t9 = phi i64 [ 0, %entry ], [ %t23, %loop7 ]
  %t10 = call i64 @llvm.smin.i64(i64 %t9, i64 24)
  %t11 = getelementptr float, ptr %t2, i64 %t10
  %t12 = load <8 x float>, ptr %t11, align 4
  %t13 = getelementptr float, ptr %t11, i64 8
  %t14 = load <8 x float>, ptr %t13, align 4
  %t15 = fadd <8 x float> %t12, splat (float 0x3FF0000000000000)
  %t16 = fadd <8 x float> %t14, splat (float 0x3FF0000000000000)
  %t17 = getelementptr float, ptr %t4, i64 %t10
  store <8 x float> %t15, ptr %t17, align 4
  %t18 = getelementptr float, ptr %t17, i64 8
  store <8 x float> %t16, ptr %t18, align 4
  %t19 = fmul <8 x float> %t15, splat (float 0x4000000000000000)
  %t20 = fmul <8 x float> %t16, splat (float 0x4000000000000000)
  %t21 = getelementptr float, ptr %t6, i64 %t10
  store <8 x float> %t19, ptr %t21, align 4
  %t22 = getelementptr float, ptr %t21, i64 8
  store <8 x float> %t20, ptr %t22, align 4
  %t23 = add nuw nsw i64 %t9, 16
  %t24 = icmp slt i64 %t23, 40
  br i1 %t24, label %loop7, label %after8
after8:
  ret i32 0
}
