define internal void @kernel_0b651c7166defe0a(ptr %p0, ptr %p1) noinline #0 {
entry:
  br label %loop1
loop1:
  %i5 = phi i32 [ 0, %entry ], [ %v25, %done7 ]
  %at3 = phi ptr [ %p1, %entry ], [ %v26, %done7 ]
  %at4 = phi ptr [ %p0, %entry ], [ %v27, %done7 ]
  br label %loop6
loop6:
  %i9 = phi i32 [ 0, %loop1 ], [ %v22, %loop6 ]
  %at8 = phi ptr [ %at3, %loop1 ], [ %v23, %loop6 ]
  %v10 = sdiv i32 %i9, 3
  %v11 = mul i32 %v10, 3
  %v12 = sub i32 %i9, %v11
  %v13 = icmp ne i32 %v12, 0
  %v14 = xor i32 %v12, 3
  %v15 = icmp slt i32 %v14, 0
  %v16 = and i1 %v13, %v15
  %v17 = sub i32 %v10, 1
  %v18 = select i1 %v16, i32 %v17, i32 %v10
  %v19 = mul nsw i32 %v18, 4
  %v20 = getelementptr inbounds i8, ptr %at4, i32 %v19
  %v21 = load float, ptr %v20, align 4
  store float %v21, ptr %at8, align 4
  %v22 = add nuw nsw i32 %i9, 1
  %v23 = getelementptr inbounds i8, ptr %at8, i32 4
  %v24 = icmp eq i32 %v22, 9
  br i1 %v24, label %done7, label %loop6
done7:
  %v25 = add nuw nsw i32 %i5, 1
  %v26 = getelementptr inbounds i8, ptr %at3, i32 36
  %v27 = getelementptr inbounds i8, ptr %at4, i32 12
  %v28 = icmp eq i32 %v25, 2
  br i1 %v28, label %done2, label %loop1
done2:
  ret void
}
attributes #0 = { nounwind }
