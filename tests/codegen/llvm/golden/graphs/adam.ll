declare <8 x float> @llvm.fabs.v8f32(<8 x float>)
declare <8 x float> @llvm.sqrt.v8f32(<8 x float>)
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
  %t9 = phi i64 [ 0, %entry ], [ %t25, %loop7 ]
  %t10 = getelementptr float, ptr %t2, i64 %t9
  %t11 = load <8 x float>, ptr %t10, align 4
  %t12 = getelementptr float, ptr %t4, i64 %t9
  %t13 = load <8 x float>, ptr %t12, align 4
  %t14 = getelementptr float, ptr %t6, i64 %t9
  %t15 = load <8 x float>, ptr %t14, align 4
  %t16 = fsub <8 x float> %t15, %t13
  %t17 = fmul <8 x float> splat (float 0x3FB99999A0000000), %t16
  %t18 = fadd <8 x float> %t13, %t17
  %t19 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %t15)
  %t20 = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %t19)
  %t21 = fadd <8 x float> %t20, splat (float 0x3E45798EE0000000)
  %t22 = fdiv <8 x float> %t18, %t21
  %t23 = fmul <8 x float> %t22, splat (float 0x3F847AE140000000)
  %t24 = fsub <8 x float> %t11, %t23
  store <8 x float> %t24, ptr %t10, align 4
  %t25 = add nuw nsw i64 %t9, 8
  %t26 = icmp slt i64 %t25, 40
  br i1 %t26, label %loop7, label %after8
after8:
  ret i32 0
}
