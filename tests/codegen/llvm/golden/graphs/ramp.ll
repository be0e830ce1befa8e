declare i64 @llvm.smin.i64(i64, i64)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t28, %loop5 ]
  %t8 = call i64 @llvm.smin.i64(i64 %t7, i64 24)
  %t9 = getelementptr float, ptr %t2, i64 %t8
  %t10 = load <8 x float>, ptr %t9, align 4
  %t11 = getelementptr float, ptr %t9, i64 8
  %t12 = load <8 x float>, ptr %t11, align 4
  %t13 = trunc i64 %t8 to i32
  %t14 = insertelement <8 x i32> poison, i32 %t13, i64 0
  %t15 = shufflevector <8 x i32> %t14, <8 x i32> poison, <8 x i32> zeroinitializer
  %t16 = add <8 x i32> %t15, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t17 = add nuw nsw i64 %t8, 8
  %t18 = trunc i64 %t17 to i32
  %t19 = insertelement <8 x i32> poison, i32 %t18, i64 0
  %t20 = shufflevector <8 x i32> %t19, <8 x i32> poison, <8 x i32> zeroinitializer
  %t21 = add <8 x i32> %t20, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t22 = sitofp <8 x i32> %t16 to <8 x float>
  %t23 = sitofp <8 x i32> %t21 to <8 x float>
  %t24 = fadd <8 x float> %t10, %t22
  %t25 = fadd <8 x float> %t12, %t23
  %t26 = getelementptr float, ptr %t4, i64 %t8
  store <8 x float> %t24, ptr %t26, align 4
  %t27 = getelementptr float, ptr %t26, i64 8
  store <8 x float> %t25, ptr %t27, align 4
  %t28 = add nuw nsw i64 %t7, 16
  %t29 = icmp slt i64 %t28, 40
  br i1 %t29, label %loop5, label %after6
after6:
  ret i32 0
}
