declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare i64 @llvm.smin.i64(i64, i64)
declare i1 @llvm.vector.reduce.or.v8i1(<8 x i1>)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t33, %after9 ]
  %t19 = mul nsw i64 %t7, 8
  %t20 = getelementptr float, ptr %t2, i64 %t19
  %t28 = mul nsw i64 %t7, 11
  %t29 = getelementptr float, ptr %t4, i64 %t28
  br label %loop8
loop8:
  %t10 = phi i64 [ 0, %loop5 ], [ %t31, %loop8 ]
  %t11 = call i64 @llvm.smin.i64(i64 %t10, i64 3)
  %t12 = insertelement <8 x i64> poison, i64 %t11, i64 0
  %t13 = shufflevector <8 x i64> %t12, <8 x i64> poison, <8 x i32> zeroinitializer
  %t14 = add <8 x i64> %t13, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %t15 = add <8 x i64> %t14, splat (i64 -1)
  %t16 = icmp sge <8 x i64> %t15, splat (i64 0)
  %t17 = icmp slt <8 x i64> %t15, splat (i64 8)
  %t18 = and <8 x i1> %t16, %t17
  %t21 = getelementptr float, ptr %t20, i64 %t11
  %t22 = getelementptr float, ptr %t21, i64 -1
  %t23 = call i1 @llvm.vector.reduce.or.v8i1(<8 x i1> %t18)
  %t24 = select i1 %t23, ptr %t22, ptr %t2
  %t25 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %t24, <8 x i1> %t18, <8 x float> splat (float 0x0000000000000000))
  %t26 = select <8 x i1> %t18, <8 x float> %t25, <8 x float> splat (float 0x0000000000000000)
  %t27 = fmul <8 x float> %t26, splat (float 0x4000000000000000)
  %t30 = getelementptr float, ptr %t29, i64 %t11
  store <8 x float> %t27, ptr %t30, align 4
  %t31 = add nuw nsw i64 %t10, 8
  %t32 = icmp slt i64 %t31, 11
  br i1 %t32, label %loop8, label %after9
after9:
  %t33 = add nuw nsw i64 %t7, 1
  %t34 = icmp slt i64 %t33, 4
  br i1 %t34, label %loop5, label %after6
after6:
  ret i32 0
}
