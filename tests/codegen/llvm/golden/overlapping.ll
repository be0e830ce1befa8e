declare i64 @llvm.smin.i64(i64, i64)
define i32 @kernel(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t13, %loop5 ]
  %t8 = call i64 @llvm.smin.i64(i64 %t7, i64 34)
  %t9 = getelementptr float, ptr %t2, i64 %t8
  %t10 = load <16 x float>, ptr %t9, align 4
  %t11 = fadd <16 x float> %t10, %t10
  %t12 = getelementptr float, ptr %t4, i64 %t8
  store <16 x float> %t11, ptr %t12, align 4
  %t13 = add nuw nsw i64 %t7, 16
  %t14 = icmp slt i64 %t13, 50
  br i1 %t14, label %loop5, label %after6
after6:
  ret i32 0
}
