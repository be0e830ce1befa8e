declare i64 @llvm.smin.i64(i64, i64)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t26, %loop5 ]
  %t8 = call i64 @llvm.smin.i64(i64 %t7, i64 24)
  %t9 = getelementptr float, ptr %t2, i64 %t8
  %t10 = load <8 x float>, ptr %t9, align 4
  %t11 = getelementptr float, ptr %t9, i64 8
  %t12 = load <8 x float>, ptr %t11, align 4
  %t13 = insertelement <8 x i64> poison, i64 %t8, i64 0
  %t14 = shufflevector <8 x i64> %t13, <8 x i64> poison, <8 x i32> zeroinitializer
  %t15 = add <8 x i64> %t14, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %t16 = add nuw nsw i64 %t8, 8
  %t17 = insertelement <8 x i64> poison, i64 %t16, i64 0
  %t18 = shufflevector <8 x i64> %t17, <8 x i64> poison, <8 x i32> zeroinitializer
  %t19 = add <8 x i64> %t18, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %t20 = sitofp <8 x i64> %t15 to <8 x float>
  %t21 = sitofp <8 x i64> %t19 to <8 x float>
  %t22 = fadd <8 x float> %t10, %t20
  %t23 = fadd <8 x float> %t12, %t21
  %t24 = getelementptr float, ptr %t4, i64 %t8
  store <8 x float> %t22, ptr %t24, align 4
  %t25 = getelementptr float, ptr %t24, i64 8
  store <8 x float> %t23, ptr %t25, align 4
  %t26 = add nuw nsw i64 %t7, 16
  %t27 = icmp slt i64 %t26, 40
  br i1 %t27, label %loop5, label %after6
after6:
  ret i32 0
}
