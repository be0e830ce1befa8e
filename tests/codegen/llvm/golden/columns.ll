define i32 @kernel(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = alloca <16 x float>, align 64
  store <16 x float> splat (float 0x0000000000000000), ptr %t5, align 64
  br label %loop6
loop6:
  %t8 = phi i64 [ 0, %entry ], [ %t14, %loop6 ]
  %t9 = mul nsw i64 %t8, 16
  %t10 = getelementptr float, ptr %t2, i64 %t9
  %t11 = load <16 x float>, ptr %t10, align 4
  %t12 = load <16 x float>, ptr %t5, align 64
  %t13 = fadd <16 x float> %t12, %t11
  store <16 x float> %t13, ptr %t5, align 64
  %t14 = add nuw nsw i64 %t8, 1
  %t15 = icmp slt i64 %t14, 9
  br i1 %t15, label %loop6, label %after7
after7:
  %t16 = load <16 x float>, ptr %t5, align 64
  store <16 x float> %t16, ptr %t4, align 4
  ret i32 0
}
