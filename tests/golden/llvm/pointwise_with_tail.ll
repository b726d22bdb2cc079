define internal void @kernel_d1588f1d6596da30(ptr %p0, ptr %p1) noinline #0 {
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
  %v12 = icmp eq i32 %v9, 2
  br i1 %v12, label %done2, label %loop1
done2:
  br label %loop13
loop13:
  %i17 = phi i32 [ 0, %done2 ], [ %v23, %loop13 ]
  %at15 = phi ptr [ %p1, %done2 ], [ %v24, %loop13 ]
  %at16 = phi ptr [ %p0, %done2 ], [ %v25, %loop13 ]
  %v18 = getelementptr inbounds nuw i8, ptr %at16, i32 32
  %v19 = load float, ptr %v18, align 4
  %v20 = fmul contract float %v19, 0x4000000000000000
  %v21 = fadd contract float %v20, 0x3FF0000000000000
  %v22 = getelementptr inbounds nuw i8, ptr %at15, i32 32
  store float %v21, ptr %v22, align 4
  %v23 = add nuw nsw i32 %i17, 1
  %v24 = getelementptr inbounds i8, ptr %at15, i32 4
  %v25 = getelementptr inbounds i8, ptr %at16, i32 4
  %v26 = icmp eq i32 %v23, 2
  br i1 %v26, label %done14, label %loop13
done14:
  ret void
}
attributes #0 = { nounwind }
