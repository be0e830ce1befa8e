declare i64 @llvm.smin.i64(i64, i64)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = icmp slt i64 %begin, %end
  br i1 %t5, label %do6, label %done7
do6:
  %t20 = mul <8 x i64> splat (i64 2), <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  br label %loop8
loop8:
  %t10 = phi i64 [ %begin, %do6 ], [ %t38, %after12 ]
  %t15 = mul nsw i64 %t10, 96
  %t17 = getelementptr float, ptr %t2, i64 %t15
  %t32 = mul nsw i64 %t10, 24
  %t33 = getelementptr float, ptr %t4, i64 %t32
  br label %loop11
loop11:
  %t13 = phi i64 [ 0, %loop8 ], [ %t36, %loop11 ]
  %t14 = call i64 @llvm.smin.i64(i64 %t13, i64 8)
  %t16 = mul nsw i64 %t14, 2
  %t18 = getelementptr float, ptr %t17, i64 %t16
  %t19 = getelementptr float, ptr %t18, i64 1
  %t21 = load <8 x float>, ptr %t19, align 4
  %t22 = getelementptr float, ptr %t19, i64 7
  %t23 = load <8 x float>, ptr %t22, align 4
  %t24 = shufflevector <8 x float> %t21, <8 x float> %t23, <8 x i32> <i32 0, i32 2, i32 4, i32 6, i32 9, i32 11, i32 13, i32 15>
  %t25 = getelementptr float, ptr %t18, i64 17
  %t26 = load <8 x float>, ptr %t25, align 4
  %t27 = getelementptr float, ptr %t25, i64 7
  %t28 = load <8 x float>, ptr %t27, align 4
  %t29 = shufflevector <8 x float> %t26, <8 x float> %t28, <8 x i32> <i32 0, i32 2, i32 4, i32 6, i32 9, i32 11, i32 13, i32 15>
  %t30 = fmul <8 x float> %t24, splat (float 0x4000000000000000)
  %t31 = fmul <8 x float> %t29, splat (float 0x4000000000000000)
  %t34 = getelementptr float, ptr %t33, i64 %t14
  store <8 x float> %t30, ptr %t34, align 4
  %t35 = getelementptr float, ptr %t34, i64 8
  store <8 x float> %t31, ptr %t35, align 4
  %t36 = add nuw nsw i64 %t13, 16
  %t37 = icmp slt i64 %t36, 24
  br i1 %t37, label %loop11, label %after12
after12:
  %t38 = add nuw nsw i64 %t10, 1
  %t39 = icmp slt i64 %t38, %end
  br i1 %t39, label %loop8, label %after9
after9:
  br label %done7
done7:
  ret i32 0
}
