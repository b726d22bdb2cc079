define internal void @kernel_f2b7fa62734df55a(ptr %p0, ptr %p1, ptr %p2) noinline #0 {
entry:
  br label %loop1
loop1:
  %i5 = phi i32 [ 0, %entry ], [ %v14, %loop1 ]
  %at3 = phi ptr [ %p2, %entry ], [ %v15, %loop1 ]
  %at4 = phi ptr [ %p1, %entry ], [ %v16, %loop1 ]
  %v6 = load i64, ptr %at4, align 8
  %v7 = trunc i64 %v6 to i32
  %v8 = icmp slt i32 %v7, 0
  %v9 = add i32 %v7, 5
  %v10 = select i1 %v8, i32 %v9, i32 %v7
  %v11 = mul nsw i32 %v10, 16
  %v12 = getelementptr inbounds i8, ptr %p0, i32 %v11
  %v13 = load <4 x float>, ptr %v12, align 4
  store <4 x float> %v13, ptr %at3, align 4
  %v14 = add nuw nsw i32 %i5, 1
  %v15 = getelementptr inbounds i8, ptr %at3, i32 16
  %v16 = getelementptr inbounds i8, ptr %at4, i32 8
  %v17 = icmp eq i32 %v14, 3
  br i1 %v17, label %done2, label %loop1
done2:
  ret void
}
attributes #0 = { nounwind }
