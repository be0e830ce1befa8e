declare <16 x float> @llvm.sqrt.v16f32(<16 x float>)
define i32 @kernel(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" {
entry:
  %t1 = getelementptr ptr, ptr %buffers, i64 0
  %t2 = load ptr, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 1
  %t4 = load ptr, ptr %t3, align 8
  %t5 = load <16 x i16>, ptr %t2, align 2
  %t6 = zext <16 x i16> %t5 to <16 x i32>
  %t7 = shl <16 x i32> %t6, splat (i32 16)
  %t8 = bitcast <16 x i32> %t7 to <16 x float>
  %t9 = call <16 x float> @llvm.sqrt.v16f32(<16 x float> %t8)
  %t10 = bitcast <16 x float> %t9 to <16 x i32>
  %t11 = lshr <16 x i32> %t10, splat (i32 16)
  %t12 = and <16 x i32> %t11, splat (i32 1)
  %t13 = add <16 x i32> %t12, splat (i32 32767)
  %t14 = add <16 x i32> %t10, %t13
  %t15 = lshr <16 x i32> %t14, splat (i32 16)
  %t16 = fcmp uno <16 x float> %t9, %t9
  %t17 = select <16 x i1> %t16, <16 x i32> splat (i32 32704), <16 x i32> %t15
  %t18 = trunc <16 x i32> %t17 to <16 x i16>
  store <16 x i16> %t18, ptr %t4, align 2
  ret i32 0
}
