define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t18, %loop5 ]
  %t8 = add <8 x i64> splat (i64 0), <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %t9 = insertelement <8 x i64> poison, i64 %t7, i64 0
  %t10 = shufflevector <8 x i64> %t9, <8 x i64> poison, <8 x i32> zeroinitializer
  %t11 = sub <8 x i64> %t8, %t10
  %t12 = icmp sle <8 x i64> %t11, splat (i64 0)
  %t13 = mul nsw i64 %t7, 8
  %t14 = getelementptr float, ptr %t2, i64 %t13
  %t15 = load <8 x float>, ptr %t14, align 4
  %t16 = select <8 x i1> %t12, <8 x float> %t15, <8 x float> splat (float 0x0000000000000000)
  %t17 = getelementptr float, ptr %t4, i64 %t13
  store <8 x float> %t16, ptr %t17, align 4
  %t18 = add nuw nsw i64 %t7, 1
  %t19 = icmp slt i64 %t18, 8
  br i1 %t19, label %loop5, label %after6
after6:
  ret i32 0
}
