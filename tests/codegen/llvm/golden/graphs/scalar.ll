define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = load float, ptr %t2, align 4
  %t6 = fmul float %t5, 0x4000000000000000
  %t7 = fsub float %t6, 0x3FF0000000000000
  store float %t7, ptr %t4, align 4
  ret i32 0
}
