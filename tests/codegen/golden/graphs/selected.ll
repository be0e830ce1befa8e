declare void @llvm.masked.scatter.v4f32.v4p0(<4 x float>, <4 x ptr>, <4 x i1>)
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
  %t21 = mul <4 x i64> splat (i64 8), <i64 0, i64 1, i64 2, i64 3>
  %t35 = mul <4 x i64> splat (i64 2), <i64 0, i64 1, i64 2, i64 3>
  br label %loop10
loop10:
  %t12 = phi i64 [ %begin, %do8 ], [ %t37, %checked19 ]
  %t13 = getelementptr i64, ptr %t2, i64 %t12
  %t14 = load i64, ptr %t13, align 8
  %t15 = icmp sge i64 %t14, 0
  %t16 = icmp slt i64 %t14, 8
  %t17 = and i1 %t15, %t16
  %t18 = xor i1 %t17, true
  br i1 %t18, label %failed_check_0, label %checked19
checked19:
  %t20 = getelementptr float, ptr %t4, i64 %t14
  %t22 = getelementptr float, ptr %t20, i64 0
  %t23 = load float, ptr %t22, align 4
  %t24 = insertelement <4 x float> poison, float %t23, i64 0
  %t25 = getelementptr float, ptr %t20, i64 8
  %t26 = load float, ptr %t25, align 4
  %t27 = insertelement <4 x float> %t24, float %t26, i64 1
  %t28 = getelementptr float, ptr %t20, i64 16
  %t29 = load float, ptr %t28, align 4
  %t30 = insertelement <4 x float> %t27, float %t29, i64 2
  %t31 = getelementptr float, ptr %t20, i64 24
  %t32 = load float, ptr %t31, align 4
  %t33 = insertelement <4 x float> %t30, float %t32, i64 3
  %t34 = getelementptr float, ptr %t6, i64 %t12
  %t36 = getelementptr float, ptr %t34, <4 x i64> %t35
  call void @llvm.masked.scatter.v4f32.v4p0(<4 x float> %t33, <4 x ptr> align 4 %t36, <4 x i1> splat (i1 true))
  %t37 = add nuw nsw i64 %t12, 1
  %t38 = icmp slt i64 %t37, %end
  br i1 %t38, label %loop10, label %after11
after11:
  br label %done9
done9:
  ret i32 0
failed_check_0:
  ret i32 1
}
