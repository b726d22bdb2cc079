define internal void @kernel_2cff427cbd6ec407(ptr %p0, ptr %p1) noinline #0 {
entry:
  %local11 = alloca [1 x float], align 16
  br label %loop1
loop1:
  %i5 = phi i32 [ 0, %entry ], [ %v36, %done7 ]
  %at3 = phi ptr [ %p0, %entry ], [ %v37, %done7 ]
  %at4 = phi ptr [ %p1, %entry ], [ %v38, %done7 ]
  br label %loop6
loop6:
  %i10 = phi i32 [ 0, %loop1 ], [ %v32, %done13 ]
  %at8 = phi ptr [ %at3, %loop1 ], [ %v33, %done13 ]
  %at9 = phi ptr [ %at4, %loop1 ], [ %v34, %done13 ]
  store float 0x0000000000000000, ptr %local11, align 4
  br label %loop12
loop12:
  %i15 = phi i32 [ 0, %loop6 ], [ %v28, %out23 ]
  %at14 = phi ptr [ %at8, %loop6 ], [ %v29, %out23 ]
  %v16 = load float, ptr %local11, align 4
  %v17 = add i32 %i5, %i15
  %v18 = sub i32 %v17, 1
  %v19 = icmp sle i32 0, %v18
  %v20 = icmp slt i32 %v18, 6
  %v21 = and i1 %v19, %v20
  br i1 %v21, label %in22, label %out23
in22:
  %v24 = getelementptr inbounds i8, ptr %at14, i32 -8
  %v25 = load float, ptr %v24, align 4
  br label %out23
out23:
  %v26 = phi float [ %v25, %in22 ], [ 0x0000000000000000, %loop12 ]
  %v27 = fadd contract float %v16, %v26
  store float %v27, ptr %local11, align 4
  %v28 = add nuw nsw i32 %i15, 1
  %v29 = getelementptr inbounds i8, ptr %at14, i32 8
  %v30 = icmp eq i32 %v28, 3
  br i1 %v30, label %done13, label %loop12
done13:
  %v31 = load float, ptr %local11, align 4
  store float %v31, ptr %at9, align 4
  %v32 = add nuw nsw i32 %i10, 1
  %v33 = getelementptr inbounds i8, ptr %at8, i32 4
  %v34 = getelementptr inbounds i8, ptr %at9, i32 4
  %v35 = icmp eq i32 %v32, 2
  br i1 %v35, label %done7, label %loop6
done7:
  %v36 = add nuw nsw i32 %i5, 1
  %v37 = getelementptr inbounds i8, ptr %at3, i32 8
  %v38 = getelementptr inbounds i8, ptr %at4, i32 8
  %v39 = icmp eq i32 %v36, 6
  br i1 %v39, label %done2, label %loop1
done2:
  ret void
}
attributes #0 = { nounwind }
