define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = icmp slt i64 %begin, %end
  br i1 %t5, label %do6, label %done7
do6:
  br label %loop8
loop8:
  %t10 = phi i64 [ %begin, %do6 ], [ %t21, %loop8 ]
  %t11 = add <8 x i64> splat (i64 0), <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %t12 = insertelement <8 x i64> poison, i64 %t10, i64 0
  %t13 = shufflevector <8 x i64> %t12, <8 x i64> poison, <8 x i32> zeroinitializer
  %t14 = sub <8 x i64> %t11, %t13
  %t15 = icmp sle <8 x i64> %t14, splat (i64 0)
  %t16 = mul nsw i64 %t10, 8
  %t17 = getelementptr float, ptr %t2, i64 %t16
  %t18 = load <8 x float>, ptr %t17, align 4
  %t19 = select <8 x i1> %t15, <8 x float> %t18, <8 x float> splat (float 0x0000000000000000)
  %t20 = getelementptr float, ptr %t4, i64 %t16
  store <8 x float> %t19, ptr %t20, align 4
  %t21 = add nuw nsw i64 %t10, 1
  %t22 = icmp slt i64 %t21, %end
  br i1 %t22, label %loop8, label %after9
after9:
  br label %done7
done7:
  ret i32 0
}
