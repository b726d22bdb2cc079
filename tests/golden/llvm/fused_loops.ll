define internal void @kernel_2221e89849d682ce(ptr %p0, ptr %p1) noinline #0 {
entry:
  br label %loop1
loop1:
  %i5 = phi i32 [ 0, %entry ], [ %v9, %loop1 ]
  %at3 = phi ptr [ %p1, %entry ], [ %v10, %loop1 ]
  %at4 = phi ptr [ %p0, %entry ], [ %v11, %loop1 ]
  %v6 = load <4 x float>, ptr %at4, align 4
  %v7 = fmul contract <4 x float> %v6, <float 0x4000000000000000, float 0x4000000000000000, float 0x4000000000000000, float 0x4000000000000000>
  %v8 = fadd contract <4 x float> %v7, <float 0x3FF0000000000000, float 0x3FF0000000000000, float 0x3FF0000000000000, float 0x3FF0000000000000>
  store <4 x float> %v8, ptr %at3, align 4
  %v9 = add nuw nsw i32 %i5, 1
  %v10 = getelementptr inbounds i8, ptr %at3, i32 16
  %v11 = getelementptr inbounds i8, ptr %at4, i32 16
  %v12 = icmp eq i32 %v9, 6
  br i1 %v12, label %done2, label %loop1
done2:
  ret void
}
attributes #0 = { nounwind }
