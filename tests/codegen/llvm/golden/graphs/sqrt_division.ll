declare <8 x float> @llvm.sqrt.v8f32(<8 x float>)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t15, %loop5 ]
  %t8 = getelementptr float, ptr %t2, i64 %t7
  %t9 = load <8 x float>, ptr %t8, align 4
  %t10 = fmul <8 x float> %t9, %t9
  %t11 = fadd <8 x float> %t10, splat (float 0x3FF0000000000000)
  %t12 = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %t11)
  %t13 = fdiv <8 x float> %t9, %t12
  %t14 = getelementptr float, ptr %t4, i64 %t7
  store <8 x float> %t13, ptr %t14, align 4
  %t15 = add nuw nsw i64 %t7, 8
  %t16 = icmp slt i64 %t15, 40
  br i1 %t16, label %loop5, label %after6
after6:
  ret i32 0
}
