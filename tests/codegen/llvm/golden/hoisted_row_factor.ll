define i32 @kernel(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" {
entry:
  %t1 = getelementptr i64, ptr %sizes, i64 0
  %t2 = load i64, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 0
  %t4 = load ptr, ptr %t3, align 8
  %t5 = getelementptr ptr, ptr %buffers, i64 1
  %t6 = load ptr, ptr %t5, align 8
  %t7 = getelementptr ptr, ptr %buffers, i64 2
  %t8 = load ptr, ptr %t7, align 8
  %t9 = icmp slt i64 0, %t2
  br i1 %t9, label %do10, label %done11
do10:
  br label %loop12
loop12:
  %t14 = phi i64 [ 0, %do10 ], [ %t31, %after16 ]
  %t18 = mul nsw i64 %t14, 64
  %t19 = getelementptr float, ptr %t4, i64 %t18
  %t22 = getelementptr float, ptr %t6, i64 %t14
  %t23 = load float, ptr %t22, align 4
  %t24 = insertelement <16 x float> poison, float %t23, i64 0
  %t25 = shufflevector <16 x float> %t24, <16 x float> poison, <16 x i32> zeroinitializer
  %t27 = getelementptr float, ptr %t8, i64 %t18
  br label %loop15
loop15:
  %t17 = phi i64 [ 0, %loop12 ], [ %t29, %loop15 ]
  %t20 = getelementptr float, ptr %t19, i64 %t17
  %t21 = load <16 x float>, ptr %t20, align 4
  %t26 = fmul <16 x float> %t21, %t25
  %t28 = getelementptr float, ptr %t27, i64 %t17
  store <16 x float> %t26, ptr %t28, align 4
  %t29 = add nuw nsw i64 %t17, 16
  %t30 = icmp slt i64 %t29, 64
  br i1 %t30, label %loop15, label %after16
after16:
  %t31 = add nuw nsw i64 %t14, 1
  %t32 = icmp slt i64 %t31, %t2
  br i1 %t32, label %loop12, label %after13
after13:
  br label %done11
done11:
  ret i32 0
}
