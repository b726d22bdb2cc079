define internal void @tile_b9a14125d25d71ae(ptr %p0, ptr %p1, ptr %p2, ptr %p3, ptr %p4) noinline #0 {
entry:
  %local1 = alloca [1 x float], align 16
  %local2 = alloca [4 x float], align 16
  store float 0x0000000000000000, ptr %local1, align 4
  store <4 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>, ptr %local2, align 4
  br label %loop3
loop3:
  %i7 = phi i32 [ 0, %entry ], [ %v13, %loop3 ]
  %at5 = phi ptr [ %p0, %entry ], [ %v14, %loop3 ]
  %at6 = phi ptr [ %p1, %entry ], [ %v15, %loop3 ]
  %v8 = load <4 x float>, ptr %local2, align 4
  %v9 = load <4 x float>, ptr %at5, align 4
  %v10 = load <4 x float>, ptr %at6, align 4
  %v11 = fmul contract <4 x float> %v9, %v10
  %v12 = fadd contract <4 x float> %v8, %v11
  store <4 x float> %v12, ptr %local2, align 4
  %v13 = add nuw nsw i32 %i7, 1
  %v14 = getelementptr inbounds i8, ptr %at5, i32 16
  %v15 = getelementptr inbounds i8, ptr %at6, i32 16
  %v16 = icmp eq i32 %v13, 2
  br i1 %v16, label %done4, label %loop3
done4:
  %v17 = load float, ptr %local1, align 4
  %v18 = load float, ptr %local2, align 4
  %v19 = getelementptr inbounds float, ptr %local2, i32 2
  %v20 = load float, ptr %v19, align 4
  %v21 = fadd contract float %v18, %v20
  %v22 = getelementptr inbounds float, ptr %local2, i32 1
  %v23 = load float, ptr %v22, align 4
  %v24 = getelementptr inbounds float, ptr %local2, i32 3
  %v25 = load float, ptr %v24, align 4
  %v26 = fadd contract float %v23, %v25
  %v27 = fadd contract float %v21, %v26
  %v28 = fadd contract float %v17, %v27
  store float %v28, ptr %local1, align 4
  br label %loop29
loop29:
  %i33 = phi i32 [ 0, %done4 ], [ %v39, %loop29 ]
  %at31 = phi ptr [ %p2, %done4 ], [ %v40, %loop29 ]
  %at32 = phi ptr [ %p3, %done4 ], [ %v41, %loop29 ]
  %v34 = load float, ptr %local1, align 4
  %v35 = load float, ptr %at31, align 4
  %v36 = load float, ptr %at32, align 4
  %v37 = fmul contract float %v35, %v36
  %v38 = fadd contract float %v34, %v37
  store float %v38, ptr %local1, align 4
  %v39 = add nuw nsw i32 %i33, 1
  %v40 = getelementptr inbounds i8, ptr %at31, i32 4
  %v41 = getelementptr inbounds i8, ptr %at32, i32 4
  %v42 = icmp eq i32 %v39, 3
  br i1 %v42, label %done30, label %loop29
done30:
  %v43 = load float, ptr %local1, align 4
  store float %v43, ptr %p4, align 4
  ret void
}
define internal void @kernel_a0d7dc9228ae4803(ptr %p0, ptr %p1, ptr %p2) noinline #0 {
entry:
  %v1 = getelementptr inbounds nuw i8, ptr %p0, i32 32
  %v2 = getelementptr inbounds nuw i8, ptr %p1, i32 32
  call void @tile_b9a14125d25d71ae(ptr %p0, ptr %p1, ptr %v1, ptr %v2, ptr %p2)
  ret void
}
attributes #0 = { nounwind }
