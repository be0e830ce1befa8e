declare i64 @llvm.smin.i64(i64, i64)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = getelementptr ptr, ptr %buffers, i64 2
  %t6 = load ptr, ptr %t5, align 8
  %t7 = icmp slt i64 %begin, %end
  br i1 %t7, label %do8, label %done9
do8:
  br label %loop10
loop10:
  %t12 = phi i64 [ %begin, %do8 ], [ %t34, %after14 ]
  %t17 = mul nsw i64 %t12, 24
  %t18 = getelementptr float, ptr %t2, i64 %t17
  %t29 = getelementptr float, ptr %t6, i64 %t17
  br label %loop13
loop13:
  %t15 = phi i64 [ 0, %loop10 ], [ %t32, %loop13 ]
  %t16 = call i64 @llvm.smin.i64(i64 %t15, i64 8)
  %t19 = getelementptr float, ptr %t18, i64 %t16
  %t20 = load <8 x float>, ptr %t19, align 4
  %t21 = getelementptr float, ptr %t19, i64 8
  %t22 = load <8 x float>, ptr %t21, align 4
  %t23 = getelementptr float, ptr %t4, i64 %t16
  %t24 = load <8 x float>, ptr %t23, align 4
  %t25 = getelementptr float, ptr %t23, i64 8
  %t26 = load <8 x float>, ptr %t25, align 4
  %t27 = fadd <8 x float> %t20, %t24
  %t28 = fadd <8 x float> %t22, %t26
  %t30 = getelementptr float, ptr %t29, i64 %t16
  store <8 x float> %t27, ptr %t30, align 4
  %t31 = getelementptr float, ptr %t30, i64 8
  store <8 x float> %t28, ptr %t31, align 4
  %t32 = add nuw nsw i64 %t15, 16
  %t33 = icmp slt i64 %t32, 24
  br i1 %t33, label %loop13, label %after14
after14:
  %t34 = add nuw nsw i64 %t12, 1
  %t35 = icmp slt i64 %t34, %end
  br i1 %t35, label %loop10, label %after11
after11:
  br label %done9
done9:
  ret i32 0
}
