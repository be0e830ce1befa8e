declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)
define i32 @kernel(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = load <16 x float>, ptr %t2, align 4
  %t4 = fmul <16 x float> %t3, splat (float 0x4000000000000000)
  store <16 x float> %t4, ptr %t2, align 4
  %t5 = getelementptr float, ptr %t2, i64 16
  %t6 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %t5, <16 x i1> <i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>, <16 x float> splat (float 0x0000000000000000))
  %t7 = fmul <16 x float> %t6, splat (float 0x4000000000000000)
  call void @llvm.masked.store.v16f32.p0(<16 x float> %t7, ptr align 4 %t5, <16 x i1> <i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>)
  ret i32 0
}
