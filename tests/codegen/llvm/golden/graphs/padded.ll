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
  %t7 = phi i64 [ 0, %entry ], [ %t34, %after9 ]
  %t20 = mul nsw i64 %t7, 8
  %t21 = getelementptr float, ptr %t2, i64 %t20
  %t29 = mul nsw i64 %t7, 11
  %t30 = getelementptr float, ptr %t4, i64 %t29
  br label %loop8
loop8:
  %t10 = phi i64 [ 0, %loop5 ], [ %t32, %loop8 ]
  %t11 = call i64 @llvm.smin.i64(i64 %t10, i64 3)
  %t12 = trunc i64 %t11 to i32
  %t13 = insertelement <8 x i32> poison, i32 %t12, i64 0
  %t14 = shufflevector <8 x i32> %t13, <8 x i32> poison, <8 x i32> zeroinitializer
  %t15 = add <8 x i32> %t14, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t16 = add <8 x i32> %t15, splat (i32 -1)
  %t17 = icmp sge <8 x i32> %t16, splat (i32 0)
  %t18 = icmp slt <8 x i32> %t16, splat (i32 8)
  %t19 = and <8 x i1> %t17, %t18
  %t22 = getelementptr float, ptr %t21, i64 %t11
  %t23 = getelementptr float, ptr %t22, i64 -1
  %t24 = call i1 @llvm.vector.reduce.or.v8i1(<8 x i1> %t19)
  %t25 = select i1 %t24, ptr %t23, ptr %t2
  %t26 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %t25, <8 x i1> %t19, <8 x float> splat (float 0x0000000000000000))
  %t27 = select <8 x i1> %t19, <8 x float> %t26, <8 x float> splat (float 0x0000000000000000)
  %t28 = fmul <8 x float> %t27, splat (float 0x4000000000000000)
  %t31 = getelementptr float, ptr %t30, i64 %t11
  store <8 x float> %t28, ptr %t31, align 4
  %t32 = add nuw nsw i64 %t10, 8
  %t33 = icmp slt i64 %t32, 11
  br i1 %t33, label %loop8, label %after9
after9:
  %t34 = add nuw nsw i64 %t7, 1
  %t35 = icmp slt i64 %t34, 4
  br i1 %t35, label %loop5, label %after6
after6:
  ret i32 0
}
