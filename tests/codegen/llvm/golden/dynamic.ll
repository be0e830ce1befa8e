declare <8 x double> @llvm.masked.load.v8f64.p0(ptr, <8 x i1>, <8 x double>)
declare void @llvm.masked.store.v8f64.p0(<8 x double>, ptr, <8 x i1>)
declare i64 @llvm.smin.i64(i64, i64)
define i32 @kernel(ptr %buffers, ptr %sizes, i64 %begin, i64 %end) nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" {
entry:
  %t1 = getelementptr i64, ptr %sizes, i64 0
  %t2 = load i64, ptr %t1, align 8
  %t3 = getelementptr ptr, ptr %buffers, i64 0
  %t4 = load ptr, ptr %t3, align 8
  %t5 = getelementptr ptr, ptr %buffers, i64 1
  %t6 = load ptr, ptr %t5, align 8
  %t7 = sub nsw i64 %t2, 0
  %t8 = urem i64 %t7, 8
  %t9 = sub nsw i64 %t2, %t8
  %t10 = icmp slt i64 0, %t9
  br i1 %t10, label %do11, label %done12
do11:
  br label %loop13
loop13:
  %t15 = phi i64 [ 0, %do11 ], [ %t20, %loop13 ]
  %t16 = getelementptr double, ptr %t4, i64 %t15
  %t17 = load <8 x double>, ptr %t16, align 8
  %t18 = fadd <8 x double> %t17, %t17
  %t19 = getelementptr double, ptr %t6, i64 %t15
  store <8 x double> %t18, ptr %t19, align 8
  %t20 = add nuw nsw i64 %t15, 8
  %t21 = icmp slt i64 %t20, %t9
  br i1 %t21, label %loop13, label %after14
after14:
  br label %done12
done12:
  %t22 = icmp slt i64 %t9, %t2
  br i1 %t22, label %do23, label %done24
do23:
  br label %loop25
loop25:
  %t27 = phi i64 [ %t9, %do23 ], [ %t38, %loop25 ]
  %t28 = sub nsw i64 %t2, %t27
  %t29 = call i64 @llvm.smin.i64(i64 %t28, i64 8)
  %t30 = trunc i64 %t29 to i32
  %t31 = insertelement <8 x i32> poison, i32 %t30, i64 0
  %t32 = shufflevector <8 x i32> %t31, <8 x i32> poison, <8 x i32> zeroinitializer
  %t33 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %t32
  %t34 = getelementptr double, ptr %t4, i64 %t27
  %t35 = call <8 x double> @llvm.masked.load.v8f64.p0(ptr align 8 %t34, <8 x i1> %t33, <8 x double> splat (double 0x0000000000000000))
  %t36 = fadd <8 x double> %t35, %t35
  %t37 = getelementptr double, ptr %t6, i64 %t27
  call void @llvm.masked.store.v8f64.p0(<8 x double> %t36, ptr align 8 %t37, <8 x i1> %t33)
  %t38 = add nuw nsw i64 %t27, 8
  %t39 = icmp slt i64 %t38, %t2
  br i1 %t39, label %loop25, label %after26
after26:
  br label %done24
done24:
  ret i32 0
}
