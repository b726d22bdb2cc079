define internal void @kernel_16736e8ff8eee078(ptr %p0, ptr %p1, ptr %p2) noinline #0 {
entry:
  br label %loop1
loop1:
  %i6 = phi i32 [ 0, %entry ], [ %v17, %loop1 ]
  %at3 = phi ptr [ %p2, %entry ], [ %v18, %loop1 ]
  %at4 = phi ptr [ %p0, %entry ], [ %v19, %loop1 ]
  %at5 = phi ptr [ %p1, %entry ], [ %v20, %loop1 ]
  %v7 = load float, ptr %at4, align 4
  %v8 = fcmp ole float %v7, 0x3FE0000000000000
  %v9 = load i8, ptr %at5, align 1
  %v10 = icmp ne i8 %v9, 0
  %v11 = and i1 %v8, %v10
  %v12 = load float, ptr %at4, align 4
  %v13 = fcmp oeq float %v12, 0x3FF0000000000000
  %v14 = xor i1 %v13, true
  %v15 = xor i1 %v11, %v14
  %v16 = zext i1 %v15 to i8
  store i8 %v16, ptr %at3, align 1
  %v17 = add nuw nsw i32 %i6, 1
  %v18 = getelementptr inbounds i8, ptr %at3, i32 1
  %v19 = getelementptr inbounds i8, ptr %at4, i32 4
  %v20 = getelementptr inbounds i8, ptr %at5, i32 1
  %v21 = icmp eq i32 %v17, 5
  br i1 %v21, label %done2, label %loop1
done2:
  ret void
}
attributes #0 = { nounwind }
