declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare i64 @llvm.smin.i64(i64, i64)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = icmp slt i64 %begin, %end
  br i1 %t5, label %do6, label %done7
do6:
  br label %loop8
loop8:
  %t10 = phi i64 [ %begin, %do6 ], [ %t34, %after12 ]
  %t22 = mul nsw i64 %t10, 8
  %t23 = getelementptr float, ptr %t2, i64 %t22
  %t29 = mul nsw i64 %t10, 11
  %t30 = getelementptr float, ptr %t4, i64 %t29
  br label %loop11
loop11:
  %t13 = phi i64 [ 0, %loop8 ], [ %t32, %loop11 ]
  %t14 = call i64 @llvm.smin.i64(i64 %t13, i64 3)
  %t15 = insertelement <8 x i64> poison, i64 %t14, i64 0
  %t16 = shufflevector <8 x i64> %t15, <8 x i64> poison, <8 x i32> zeroinitializer
  %t17 = add <8 x i64> %t16, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %t18 = add <8 x i64> %t17, splat (i64 -1)
  %t19 = icmp sge <8 x i64> %t18, splat (i64 0)
  %t20 = icmp slt <8 x i64> %t18, splat (i64 8)
  %t21 = and <8 x i1> %t19, %t20
  %t24 = getelementptr float, ptr %t23, i64 %t14
  %t25 = getelementptr float, ptr %t24, i64 -1
  %t26 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %t25, <8 x i1> %t21, <8 x float> splat (float 0x0000000000000000))
  %t27 = select <8 x i1> %t21, <8 x float> %t26, <8 x float> splat (float 0x0000000000000000)
  %t28 = fmul <8 x float> %t27, splat (float 0x4000000000000000)
  %t31 = getelementptr float, ptr %t30, i64 %t14
  store <8 x float> %t28, ptr %t31, align 4
  %t32 = add nuw nsw i64 %t13, 8
  %t33 = icmp slt i64 %t32, 11
  br i1 %t33, label %loop11, label %after12
after12:
  %t34 = add nuw nsw i64 %t10, 1
  %t35 = icmp slt i64 %t34, %end
  br i1 %t35, label %loop8, label %after9
after9:
  br label %done7
done7:
  ret i32 0
}
