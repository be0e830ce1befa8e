declare void @llvm.masked.scatter.v4f32.v4p0(<4 x float>, <4 x ptr>, <4 x i1>)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = getelementptr ptr, ptr %buffers, i64 2
  %t6 = load ptr, ptr %t5, align 8
  %t18 = mul <4 x i64> splat (i64 8), <i64 0, i64 1, i64 2, i64 3>
  %t32 = mul <4 x i64> splat (i64 2), <i64 0, i64 1, i64 2, i64 3>
  br label %loop7
loop7:
  %t9 = phi i64 [ 0, %entry ], [ %t34, %checked16 ]
  %t10 = getelementptr i64, ptr %t2, i64 %t9
  %t11 = load i64, ptr %t10, align 8
  %t12 = icmp sge i64 %t11, 0
  %t13 = icmp slt i64 %t11, 8
  %t14 = and i1 %t12, %t13
  %t15 = xor i1 %t14, true
  br i1 %t15, label %failed_check_0, label %checked16
checked16:
  %t17 = getelementptr float, ptr %t4, i64 %t11
  %t19 = getelementptr float, ptr %t17, i64 0
  %t20 = load float, ptr %t19, align 4
  %t21 = insertelement <4 x float> poison, float %t20, i64 0
  %t22 = getelementptr float, ptr %t17, i64 8
  %t23 = load float, ptr %t22, align 4
  %t24 = insertelement <4 x float> %t21, float %t23, i64 1
  %t25 = getelementptr float, ptr %t17, i64 16
  %t26 = load float, ptr %t25, align 4
  %t27 = insertelement <4 x float> %t24, float %t26, i64 2
  %t28 = getelementptr float, ptr %t17, i64 24
  %t29 = load float, ptr %t28, align 4
  %t30 = insertelement <4 x float> %t27, float %t29, i64 3
  %t31 = getelementptr float, ptr %t6, i64 %t9
  %t33 = getelementptr float, ptr %t31, <4 x i64> %t32
  call void @llvm.masked.scatter.v4f32.v4p0(<4 x float> %t30, <4 x ptr> align 4 %t33, <4 x i1> splat (i1 true))
  %t34 = add nuw nsw i64 %t9, 1
  %t35 = icmp slt i64 %t34, 2
  br i1 %t35, label %loop7, label %after8
after8:
  ret i32 0
failed_check_0:
  ret i32 1
}
