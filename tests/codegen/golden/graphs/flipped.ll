declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, <8 x i1>, <8 x float>)
declare i64 @llvm.smin.i64(i64, i64)
define i32 @k0(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
start:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %starts = icmp eq i64 %begin, 0
  %has_work = icmp sgt i64 %end, 0
  %is_first = and i1 %starts, %has_work
  br i1 %is_first, label %entry, label %elsewhere
elsewhere:
  ret i32 0
entry:
  %t12 = mul <8 x i64> splat (i64 -1), <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  br label %loop5
loop5:
  %t7 = phi i64 [ 0, %entry ], [ %t22, %loop5 ]
  %t8 = call i64 @llvm.smin.i64(i64 %t7, i64 24)
  %t9 = mul nsw i64 %t8, -1
  %t10 = getelementptr float, ptr %t2, i64 %t9
  %t11 = getelementptr float, ptr %t10, i64 39
  %t13 = getelementptr float, ptr %t11, <8 x i64> %t12
  %t14 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> align 4 %t13, <8 x i1> splat (i1 true), <8 x float> splat (float 0x0000000000000000))
  %t15 = getelementptr float, ptr %t10, i64 31
  %t16 = getelementptr float, ptr %t15, <8 x i64> %t12
  %t17 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> align 4 %t16, <8 x i1> splat (i1 true), <8 x float> splat (float 0x0000000000000000))
  %t18 = fadd <8 x float> %t14, splat (float 0x3FF0000000000000)
  %t19 = fadd <8 x float> %t17, splat (float 0x3FF0000000000000)
  %t20 = getelementptr float, ptr %t4, i64 %t8
  store <8 x float> %t18, ptr %t20, align 4
  %t21 = getelementptr float, ptr %t20, i64 8
  store <8 x float> %t19, ptr %t21, align 4
  %t22 = add nuw nsw i64 %t7, 16
  %t23 = icmp slt i64 %t22, 40
  br i1 %t23, label %loop5, label %after6
after6:
  ret i32 0
}
