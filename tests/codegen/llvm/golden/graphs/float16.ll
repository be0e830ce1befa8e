declare <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float>)
declare i64 @llvm.smin.i64(i64, i64)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t37, %loop5 ]
  %t8 = call i64 @llvm.smin.i64(i64 %t7, i64 24)
  %t9 = getelementptr float, ptr %t2, i64 %t8
  %t10 = load <8 x float>, ptr %t9, align 4
  %t11 = getelementptr float, ptr %t9, i64 8
  %t12 = load <8 x float>, ptr %t11, align 4
  %t13 = fptrunc <8 x float> %t10 to <8 x half>
  %t14 = bitcast <8 x half> %t13 to <8 x i16>
  %t15 = fptrunc <8 x float> %t12 to <8 x half>
  %t16 = bitcast <8 x half> %t15 to <8 x i16>
  %t17 = bitcast <8 x i16> %t14 to <8 x half>
  %t18 = fpext <8 x half> %t17 to <8 x float>
  %t19 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t18)
  %t20 = bitcast <8 x i16> %t16 to <8 x half>
  %t21 = fpext <8 x half> %t20 to <8 x float>
  %t22 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t21)
  %t23 = fadd <8 x float> %t19, splat (float 0x3FF0000000000000)
  %t24 = fadd <8 x float> %t22, splat (float 0x3FF0000000000000)
  %t25 = fptrunc <8 x float> %t23 to <8 x half>
  %t26 = bitcast <8 x half> %t25 to <8 x i16>
  %t27 = fptrunc <8 x float> %t24 to <8 x half>
  %t28 = bitcast <8 x half> %t27 to <8 x i16>
  %t29 = bitcast <8 x i16> %t26 to <8 x half>
  %t30 = fpext <8 x half> %t29 to <8 x float>
  %t31 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t30)
  %t32 = bitcast <8 x i16> %t28 to <8 x half>
  %t33 = fpext <8 x half> %t32 to <8 x float>
  %t34 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t33)
  %t35 = getelementptr float, ptr %t4, i64 %t8
  store <8 x float> %t31, ptr %t35, align 4
  %t36 = getelementptr float, ptr %t35, i64 8
  store <8 x float> %t34, ptr %t36, align 4
  %t37 = add nuw nsw i64 %t7, 16
  %t38 = icmp slt i64 %t37, 40
  br i1 %t38, label %loop5, label %after6
after6:
  ret i32 0
}
