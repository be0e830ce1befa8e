define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t19, %loop5 ]
  %t8 = trunc i64 %t7 to i32
  %t9 = add <8 x i32> splat (i32 0), <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t10 = insertelement <8 x i32> poison, i32 %t8, i64 0
  %t11 = shufflevector <8 x i32> %t10, <8 x i32> poison, <8 x i32> zeroinitializer
  %t12 = sub <8 x i32> %t9, %t11
  %t13 = icmp sle <8 x i32> %t12, splat (i32 0)
  %t14 = mul nsw i64 %t7, 8
  %t15 = getelementptr float, ptr %t2, i64 %t14
  %t16 = load <8 x float>, ptr %t15, align 4
  %t17 = select <8 x i1> %t13, <8 x float> %t16, <8 x float> splat (float 0x0000000000000000)
  %t18 = getelementptr float, ptr %t4, i64 %t14
  store <8 x float> %t17, ptr %t18, align 4
  %t19 = add nuw nsw i64 %t7, 1
  %t20 = icmp slt i64 %t19, 8
  br i1 %t20, label %loop5, label %after6
after6:
  ret i32 0
}
