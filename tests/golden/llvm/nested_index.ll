define internal void @kernel_62a86f1a84742e02(ptr %p0, ptr %p1) noinline #0 {
entry:
  br label %loop1
loop1:
  %i5 = phi i32 [ 0, %entry ], [ %v17, %done7 ]
  %at3 = phi ptr [ %p1, %entry ], [ %v18, %done7 ]
  %at4 = phi ptr [ %p0, %entry ], [ %v19, %done7 ]
  br label %loop6
loop6:
  %i9 = phi i32 [ 0, %loop1 ], [ %v14, %loop6 ]
  %at8 = phi ptr [ %at3, %loop1 ], [ %v15, %loop6 ]
  %v10 = sdiv i32 %i9, 3
  %v11 = mul nsw i32 %v10, 4
  %v12 = getelementptr inbounds i8, ptr %at4, i32 %v11
  %v13 = load float, ptr %v12, align 4
  store float %v13, ptr %at8, align 4
  %v14 = add nuw nsw i32 %i9, 1
  %v15 = getelementptr inbounds i8, ptr %at8, i32 4
  %v16 = icmp eq i32 %v14, 9
  br i1 %v16, label %done7, label %loop6
done7:
  %v17 = add nuw nsw i32 %i5, 1
  %v18 = getelementptr inbounds i8, ptr %at3, i32 36
  %v19 = getelementptr inbounds i8, ptr %at4, i32 12
  %v20 = icmp eq i32 %v17, 2
  br i1 %v20, label %done2, label %loop1
done2:
  ret void
}
attributes #0 = { nounwind }
