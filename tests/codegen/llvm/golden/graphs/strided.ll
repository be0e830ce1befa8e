declare i64 @llvm.smin.i64(i64, i64)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t17 = mul <8 x i64> splat (i64 2), <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t35, %after9 ]
  %t12 = mul nsw i64 %t7, 96
  %t14 = getelementptr float, ptr %t2, i64 %t12
  %t29 = mul nsw i64 %t7, 24
  %t30 = getelementptr float, ptr %t4, i64 %t29
  br label %loop8
loop8:
  %t10 = phi i64 [ 0, %loop5 ], [ %t33, %loop8 ]
  %t11 = call i64 @llvm.smin.i64(i64 %t10, i64 8)
  %t13 = mul nsw i64 %t11, 2
  %t15 = getelementptr float, ptr %t14, i64 %t13
  %t16 = getelementptr float, ptr %t15, i64 1
  %t18 = load <8 x float>, ptr %t16, align 4
  %t19 = getelementptr float, ptr %t16, i64 7
  %t20 = load <8 x float>, ptr %t19, align 4
  %t21 = shufflevector <8 x float> %t18, <8 x float> %t20, <8 x i32> <i32 0, i32 2, i32 4, i32 6, i32 9, i32 11, i32 13, i32 15>
  %t22 = getelementptr float, ptr %t15, i64 17
  %t23 = load <8 x float>, ptr %t22, align 4
  %t24 = getelementptr float, ptr %t22, i64 7
  %t25 = load <8 x float>, ptr %t24, align 4
  %t26 = shufflevector <8 x float> %t23, <8 x float> %t25, <8 x i32> <i32 0, i32 2, i32 4, i32 6, i32 9, i32 11, i32 13, i32 15>
  %t27 = fmul <8 x float> %t21, splat (float 0x4000000000000000)
  %t28 = fmul <8 x float> %t26, splat (float 0x4000000000000000)
  %t31 = getelementptr float, ptr %t30, i64 %t11
  store <8 x float> %t27, ptr %t31, align 4
  %t32 = getelementptr float, ptr %t31, i64 8
  store <8 x float> %t28, ptr %t32, align 4
  %t33 = add nuw nsw i64 %t10, 16
  %t34 = icmp slt i64 %t33, 24
  br i1 %t34, label %loop8, label %after9
after9:
  %t35 = add nuw nsw i64 %t7, 1
  %t36 = icmp slt i64 %t35, 4
  br i1 %t36, label %loop5, label %after6
after6:
  ret i32 0
}
