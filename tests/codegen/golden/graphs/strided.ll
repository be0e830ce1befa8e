declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, <8 x i1>, <8 x float>)
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
  %t20 = mul <8 x i64> splat (i64 2), <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  br label %loop8
loop8:
  %t10 = phi i64 [ %begin, %do6 ], [ %t34, %after12 ]
  %t15 = mul nsw i64 %t10, 96
  %t17 = getelementptr float, ptr %t2, i64 %t15
  %t28 = mul nsw i64 %t10, 24
  %t29 = getelementptr float, ptr %t4, i64 %t28
  br label %loop11
loop11:
  %t13 = phi i64 [ 0, %loop8 ], [ %t32, %loop11 ]
  %t14 = call i64 @llvm.smin.i64(i64 %t13, i64 8)
  %t16 = mul nsw i64 %t14, 2
  %t18 = getelementptr float, ptr %t17, i64 %t16
  %t19 = getelementptr float, ptr %t18, i64 1
  %t21 = getelementptr float, ptr %t19, <8 x i64> %t20
  %t22 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> align 4 %t21, <8 x i1> splat (i1 true), <8 x float> splat (float 0x0000000000000000))
  %t23 = getelementptr float, ptr %t18, i64 17
  %t24 = getelementptr float, ptr %t23, <8 x i64> %t20
  %t25 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> align 4 %t24, <8 x i1> splat (i1 true), <8 x float> splat (float 0x0000000000000000))
  %t26 = fmul <8 x float> %t22, splat (float 0x4000000000000000)
  %t27 = fmul <8 x float> %t25, splat (float 0x4000000000000000)
  %t30 = getelementptr float, ptr %t29, i64 %t14
  store <8 x float> %t26, ptr %t30, align 4
  %t31 = getelementptr float, ptr %t30, i64 8
  store <8 x float> %t27, ptr %t31, align 4
  %t32 = add nuw nsw i64 %t13, 16
  %t33 = icmp slt i64 %t32, 24
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
