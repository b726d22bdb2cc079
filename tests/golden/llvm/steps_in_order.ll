define internal void @kernel_a5f376e571b6437b(ptr %p0, ptr %p1, ptr %p2) noinline #0 {
entry:
  %local1 = alloca [8 x float], align 16
  store <4 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>, ptr %local1, align 4
  %v2 = getelementptr inbounds float, ptr %local1, i32 4
  store <4 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>, ptr %v2, align 4
  br label %loop3
loop3:
  %i7 = phi i32 [ 0, %entry ], [ %v51, %loop3 ]
  %at5 = phi ptr [ %p0, %entry ], [ %v52, %loop3 ]
  %at6 = phi ptr [ %p1, %entry ], [ %v53, %loop3 ]
  %v8 = load <4 x float>, ptr %local1, align 4
  %v9 = load float, ptr %at5, align 4
  %v10 = insertelement <4 x float> poison, float %v9, i32 0
  %v11 = shufflevector <4 x float> %v10, <4 x float> poison, <4 x i32> zeroinitializer
  %v12 = load <4 x float>, ptr %at6, align 4
  %v13 = fmul contract <4 x float> %v11, %v12
  %v14 = fadd contract <4 x float> %v8, %v13
  store <4 x float> %v14, ptr %local1, align 4
  %v15 = getelementptr inbounds float, ptr %local1, i32 4
  %v16 = load <4 x float>, ptr %v15, align 4
  %v17 = getelementptr inbounds nuw i8, ptr %at5, i32 24
  %v18 = load float, ptr %v17, align 4
  %v19 = insertelement <4 x float> poison, float %v18, i32 0
  %v20 = shufflevector <4 x float> %v19, <4 x float> poison, <4 x i32> zeroinitializer
  %v21 = load <4 x float>, ptr %at6, align 4
  %v22 = fmul contract <4 x float> %v20, %v21
  %v23 = fadd contract <4 x float> %v16, %v22
  %v24 = getelementptr inbounds float, ptr %local1, i32 4
  store <4 x float> %v23, ptr %v24, align 4
  %v25 = load <4 x float>, ptr %local1, align 4
  %v26 = call <4 x float> asm sideeffect "", "=xr,0"(<4 x float> %v25)
  store <4 x float> %v26, ptr %local1, align 4
  %v27 = getelementptr inbounds float, ptr %local1, i32 4
  %v28 = load <4 x float>, ptr %v27, align 4
  %v29 = call <4 x float> asm sideeffect "", "=xr,0"(<4 x float> %v28)
  store <4 x float> %v29, ptr %v27, align 4
  %v30 = getelementptr inbounds nuw i8, ptr %at5, i32 4
  %v31 = call ptr asm sideeffect "", "=r,0"(ptr %v30)
  %v32 = load <4 x float>, ptr %local1, align 4
  %v33 = load float, ptr %v31, align 4
  %v34 = insertelement <4 x float> poison, float %v33, i32 0
  %v35 = shufflevector <4 x float> %v34, <4 x float> poison, <4 x i32> zeroinitializer
  %v36 = getelementptr inbounds nuw i8, ptr %at6, i32 16
  %v37 = load <4 x float>, ptr %v36, align 4
  %v38 = fmul contract <4 x float> %v35, %v37
  %v39 = fadd contract <4 x float> %v32, %v38
  store <4 x float> %v39, ptr %local1, align 4
  %v40 = getelementptr inbounds float, ptr %local1, i32 4
  %v41 = load <4 x float>, ptr %v40, align 4
  %v42 = getelementptr inbounds nuw i8, ptr %v31, i32 24
  %v43 = load float, ptr %v42, align 4
  %v44 = insertelement <4 x float> poison, float %v43, i32 0
  %v45 = shufflevector <4 x float> %v44, <4 x float> poison, <4 x i32> zeroinitializer
  %v46 = getelementptr inbounds nuw i8, ptr %at6, i32 16
  %v47 = load <4 x float>, ptr %v46, align 4
  %v48 = fmul contract <4 x float> %v45, %v47
  %v49 = fadd contract <4 x float> %v41, %v48
  %v50 = getelementptr inbounds float, ptr %local1, i32 4
  store <4 x float> %v49, ptr %v50, align 4
  %v51 = add nuw nsw i32 %i7, 1
  %v52 = getelementptr inbounds i8, ptr %at5, i32 8
  %v53 = getelementptr inbounds i8, ptr %at6, i32 32
  %v54 = icmp eq i32 %v51, 3
  br i1 %v54, label %done4, label %loop3
done4:
  %v55 = load <4 x float>, ptr %local1, align 4
  store <4 x float> %v55, ptr %p2, align 4
  %v56 = getelementptr inbounds float, ptr %local1, i32 4
  %v57 = load <4 x float>, ptr %v56, align 4
  %v58 = getelementptr inbounds nuw i8, ptr %p2, i32 16
  store <4 x float> %v57, ptr %v58, align 4
  ret void
}
attributes #0 = { nounwind }
