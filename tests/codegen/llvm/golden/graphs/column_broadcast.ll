declare i64 @llvm.smin.i64(i64, i64)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = getelementptr ptr, ptr %buffers, i64 2
  %t6 = load ptr, ptr %t5, align 8
  br label %loop7
loop7:
  %t9 = phi i64 [ 0, %entry ], [ %t31, %after13 ]
  %t10 = getelementptr float, ptr %t4, i64 %t9
  %t11 = load float, ptr %t10, align 4
  %t16 = mul nsw i64 %t9, 24
  %t17 = getelementptr float, ptr %t2, i64 %t16
  %t22 = insertelement <8 x float> poison, float %t11, i64 0
  %t23 = shufflevector <8 x float> %t22, <8 x float> poison, <8 x i32> zeroinitializer
  %t26 = getelementptr float, ptr %t6, i64 %t16
  br label %loop12
loop12:
  %t14 = phi i64 [ 0, %loop7 ], [ %t29, %loop12 ]
  %t15 = call i64 @llvm.smin.i64(i64 %t14, i64 8)
  %t18 = getelementptr float, ptr %t17, i64 %t15
  %t19 = load <8 x float>, ptr %t18, align 4
  %t20 = getelementptr float, ptr %t18, i64 8
  %t21 = load <8 x float>, ptr %t20, align 4
  %t24 = fmul <8 x float> %t19, %t23
  %t25 = fmul <8 x float> %t21, %t23
  %t27 = getelementptr float, ptr %t26, i64 %t15
  store <8 x float> %t24, ptr %t27, align 4
  %t28 = getelementptr float, ptr %t27, i64 8
  store <8 x float> %t25, ptr %t28, align 4
  %t29 = add nuw nsw i64 %t14, 16
  %t30 = icmp slt i64 %t29, 24
  br i1 %t30, label %loop12, label %after13
after13:
  %t31 = add nuw nsw i64 %t9, 1
  %t32 = icmp slt i64 %t31, 4
  br i1 %t32, label %loop7, label %after8
after8:
  ret i32 0
}
