define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t14, %loop5 ]
  %t8 = mul nsw i64 %t7, 8
  %t9 = getelementptr float, ptr %t2, i64 %t8
  %t10 = load <8 x float>, ptr %t9, align 4
  %t11 = fadd <8 x float> %t10, splat (float 0x3FF0000000000000)
  %t12 = mul nsw i64 %t7, 11
  %t13 = getelementptr float, ptr %t4, i64 %t12
  store <8 x float> %t11, ptr %t13, align 4
  %t14 = add nuw nsw i64 %t7, 1
  %t15 = icmp slt i64 %t14, 4
  br i1 %t15, label %loop5, label %after6
after6:
  ret i32 0
}

declare void @llvm.masked.scatter.v4f32.v4p0(<4 x float>, <4 x ptr>, <4 x i1>)
define i32 @k1(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t9 = mul <4 x i64> splat (i64 3), <i64 0, i64 1, i64 2, i64 3>
  %t24 = mul <4 x i64> splat (i64 11), <i64 0, i64 1, i64 2, i64 3>
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t26, %loop5 ]
  %t8 = getelementptr float, ptr %t2, i64 %t7
  %t10 = getelementptr float, ptr %t8, i64 0
  %t11 = load float, ptr %t10, align 4
  %t12 = insertelement <4 x float> poison, float %t11, i64 0
  %t13 = getelementptr float, ptr %t8, i64 3
  %t14 = load float, ptr %t13, align 4
  %t15 = insertelement <4 x float> %t12, float %t14, i64 1
  %t16 = getelementptr float, ptr %t8, i64 6
  %t17 = load float, ptr %t16, align 4
  %t18 = insertelement <4 x float> %t15, float %t17, i64 2
  %t19 = getelementptr float, ptr %t8, i64 9
  %t20 = load float, ptr %t19, align 4
  %t21 = insertelement <4 x float> %t18, float %t20, i64 3
  %t22 = getelementptr float, ptr %t4, i64 %t7
  %t23 = getelementptr float, ptr %t22, i64 8
  %t25 = getelementptr float, ptr %t23, <4 x i64> %t24
  call void @llvm.masked.scatter.v4f32.v4p0(<4 x float> %t21, <4 x ptr> align 4 %t25, <4 x i1> splat (i1 true))
  %t26 = add nuw nsw i64 %t7, 1
  %t27 = icmp slt i64 %t26, 3
  br i1 %t27, label %loop5, label %after6
after6:
  ret i32 0
}
