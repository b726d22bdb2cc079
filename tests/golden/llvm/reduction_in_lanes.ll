define internal void @tile_b23124c17e51e1e5(ptr %p0, ptr %p1, ptr %p2, ptr %p3, ptr %p4) noinline #0 {
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
  %v19 = fadd contract float %v17, %v18
  store float %v19, ptr %local1, align 4
  %v20 = load float, ptr %local1, align 4
  %v21 = getelementptr inbounds float, ptr %local2, i32 1
  %v22 = load float, ptr %v21, align 4
  %v23 = fadd contract float %v20, %v22
  store float %v23, ptr %local1, align 4
  %v24 = load float, ptr %local1, align 4
  %v25 = getelementptr inbounds float, ptr %local2, i32 2
  %v26 = load float, ptr %v25, align 4
  %v27 = fadd contract float %v24, %v26
  store float %v27, ptr %local1, align 4
  %v28 = load float, ptr %local1, align 4
  %v29 = getelementptr inbounds float, ptr %local2, i32 3
  %v30 = load float, ptr %v29, align 4
  %v31 = fadd contract float %v28, %v30
  store float %v31, ptr %local1, align 4
  br label %loop32
loop32:
  %i36 = phi i32 [ 0, %done4 ], [ %v42, %loop32 ]
  %at34 = phi ptr [ %p2, %done4 ], [ %v43, %loop32 ]
  %at35 = phi ptr [ %p3, %done4 ], [ %v44, %loop32 ]
  %v37 = load float, ptr %local1, align 4
  %v38 = load float, ptr %at34, align 4
  %v39 = load float, ptr %at35, align 4
  %v40 = fmul contract float %v38, %v39
  %v41 = fadd contract float %v37, %v40
  store float %v41, ptr %local1, align 4
  %v42 = add nuw nsw i32 %i36, 1
  %v43 = getelementptr inbounds i8, ptr %at34, i32 4
  %v44 = getelementptr inbounds i8, ptr %at35, i32 4
  %v45 = icmp eq i32 %v42, 3
  br i1 %v45, label %done33, label %loop32
done33:
  %v46 = load float, ptr %local1, align 4
  store float %v46, ptr %p4, align 4
  ret void
}
define internal void @kernel_92298d63226af1d1(ptr %p0, ptr %p1, ptr %p2) noinline #0 {
entry:
  %v1 = getelementptr inbounds nuw i8, ptr %p0, i32 32
  %v2 = getelementptr inbounds nuw i8, ptr %p1, i32 32
  call void @tile_b23124c17e51e1e5(ptr %p0, ptr %p1, ptr %v1, ptr %v2, ptr %p2)
  ret void
}
attributes #0 = { nounwind }
