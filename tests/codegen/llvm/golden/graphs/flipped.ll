declare i64 @llvm.smin.i64(i64, i64)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t12 = mul <8 x i64> splat (i64 -1), <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t24, %loop5 ]
  %t8 = call i64 @llvm.smin.i64(i64 %t7, i64 24)
  %t9 = mul nsw i64 %t8, -1
  %t10 = getelementptr float, ptr %t2, i64 %t9
  %t11 = getelementptr float, ptr %t10, i64 39
  %t13 = getelementptr float, ptr %t11, i64 -7
  %t14 = load <8 x float>, ptr %t13, align 4
  %t15 = shufflevector <8 x float> %t14, <8 x float> poison, <8 x i32> <i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>
  %t16 = getelementptr float, ptr %t10, i64 31
  %t17 = getelementptr float, ptr %t16, i64 -7
  %t18 = load <8 x float>, ptr %t17, align 4
  %t19 = shufflevector <8 x float> %t18, <8 x float> poison, <8 x i32> <i32 7, i32 6, i32 5, i32 4, i32 3, i32 2, i32 1, i32 0>
  %t20 = fadd <8 x float> %t15, splat (float 0x3FF0000000000000)
  %t21 = fadd <8 x float> %t19, splat (float 0x3FF0000000000000)
  %t22 = getelementptr float, ptr %t4, i64 %t8
  store <8 x float> %t20, ptr %t22, align 4
  %t23 = getelementptr float, ptr %t22, i64 8
  store <8 x float> %t21, ptr %t23, align 4
  %t24 = add nuw nsw i64 %t7, 16
  %t25 = icmp slt i64 %t24, 40
  br i1 %t25, label %loop5, label %after6
after6:
  ret i32 0
}
