declare <8 x float> @Sleef_tanf8_u10avx2(<8 x float>) nounwind willreturn memory(none)
define i32 @kernel(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" alignstack(32) {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t12, %loop5 ]
  %t8 = getelementptr float, ptr %t2, i64 %t7
  %t9 = load <8 x float>, ptr %t8, align 4
  %t10 = call <8 x float> @Sleef_tanf8_u10avx2(<8 x float> %t9)
  %t11 = getelementptr float, ptr %t4, i64 %t7
  store <8 x float> %t10, ptr %t11, align 4
  %t12 = add nuw nsw i64 %t7, 8
  %t13 = icmp slt i64 %t12, 16
  br i1 %t13, label %loop5, label %after6
after6:
  ret i32 0
}
