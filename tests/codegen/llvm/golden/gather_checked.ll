declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, <8 x i1>, <8 x float>)
declare <8 x i64> @llvm.masked.load.v8i64.p0(ptr, <8 x i1>, <8 x i64>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)
declare i64 @llvm.smin.i64(i64, i64)
declare i1 @llvm.vector.reduce.or.v8i1(<8 x i1>)
define i32 @kernel(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="256" "prefer-vector-width"="256" {
entry:
  %t1 = getelementptr i64, ptr %sizes, i64 0
  %t2 = load i64, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 0
  %t4 = load ptr, ptr %t3, align 8
  %t5 = getelementptr ptr, ptr %buffers, i64 1
  %t6 = load ptr, ptr %t5, align 8
  %t7 = getelementptr ptr, ptr %buffers, i64 2
  %t8 = load ptr, ptr %t7, align 8
  %t9 = sub nsw i64 %t2, 0
  %t10 = urem i64 %t9, 8
  %t11 = sub nsw i64 %t2, %t10
  %t12 = icmp slt i64 0, %t11
  br i1 %t12, label %do13, label %done14
do13:
  br label %loop15
loop15:
  %t17 = phi i64 [ 0, %do13 ], [ %t27, %checked22 ]
  %t18 = getelementptr i64, ptr %t4, i64 %t17
  %t19 = load <8 x i64>, ptr %t18, align 8
  %t20 = icmp slt <8 x i64> %t19, splat (i64 100)
  %t21 = xor <8 x i1> %t20, splat (i1 true)
  %t23 = call i1 @llvm.vector.reduce.or.v8i1(<8 x i1> %t21)
  br i1 %t23, label %failed_check_0, label %checked22
checked22:
  %t24 = getelementptr float, ptr %t6, <8 x i64> %t19
  %t25 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> align 4 %t24, <8 x i1> splat (i1 true), <8 x float> splat (float 0x0000000000000000))
  %t26 = getelementptr float, ptr %t8, i64 %t17
  store <8 x float> %t25, ptr %t26, align 4
  %t27 = add nuw nsw i64 %t17, 8
  %t28 = icmp slt i64 %t27, %t11
  br i1 %t28, label %loop15, label %after16
after16:
  br label %done14
done14:
  %t29 = icmp slt i64 %t11, %t2
  br i1 %t29, label %do30, label %done31
do30:
  br label %loop32
loop32:
  %t34 = phi i64 [ %t11, %do30 ], [ %t51, %checked46 ]
  %t35 = sub nsw i64 %t2, %t34
  %t36 = call i64 @llvm.smin.i64(i64 %t35, i64 8)
  %t37 = trunc i64 %t36 to i32
  %t38 = insertelement <8 x i32> poison, i32 %t37, i64 0
  %t39 = shufflevector <8 x i32> %t38, <8 x i32> poison, <8 x i32> zeroinitializer
  %t40 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %t39
  %t41 = getelementptr i64, ptr %t4, i64 %t34
  %t42 = call <8 x i64> @llvm.masked.load.v8i64.p0(ptr align 8 %t41, <8 x i1> %t40, <8 x i64> splat (i64 0))
  %t43 = icmp slt <8 x i64> %t42, splat (i64 100)
  %t44 = xor <8 x i1> %t43, splat (i1 true)
  %t45 = and <8 x i1> %t44, %t40
  %t47 = call i1 @llvm.vector.reduce.or.v8i1(<8 x i1> %t45)
  br i1 %t47, label %failed_check_0, label %checked46
checked46:
  %t48 = getelementptr float, ptr %t6, <8 x i64> %t42
  %t49 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> align 4 %t48, <8 x i1> %t40, <8 x float> splat (float 0x0000000000000000))
  %t50 = getelementptr float, ptr %t8, i64 %t34
  call void @llvm.masked.store.v8f32.p0(<8 x float> %t49, ptr align 4 %t50, <8 x i1> %t40)
  %t51 = add nuw nsw i64 %t34, 8
  %t52 = icmp slt i64 %t51, %t2
  br i1 %t52, label %loop32, label %after33
after33:
  br label %done31
done31:
  ret i32 0
failed_check_0:
  ret i32 1
}
