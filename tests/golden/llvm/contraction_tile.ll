define internal void @tile_c44f8c6f41b2ee96(ptr %p0, ptr %p1, ptr %p2) noinline #0 {
entry:
  %local1 = alloca [8 x float], align 16
  store <4 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>, ptr %local1, align 4
  %v2 = getelementptr inbounds float, ptr %local1, i32 4
  store <4 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>, ptr %v2, align 4
  br label %loop3
loop3:
  %i7 = phi i32 [ 0, %entry ], [ %v25, %loop3 ]
  %at5 = phi ptr [ %p0, %entry ], [ %v26, %loop3 ]
  %at6 = phi ptr [ %p1, %entry ], [ %v27, %loop3 ]
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
  %v17 = getelementptr inbounds nuw i8, ptr %at5, i32 20
  %v18 = load float, ptr %v17, align 4
  %v19 = insertelement <4 x float> poison, float %v18, i32 0
  %v20 = shufflevector <4 x float> %v19, <4 x float> poison, <4 x i32> zeroinitializer
  %v21 = load <4 x float>, ptr %at6, align 4
  %v22 = fmul contract <4 x float> %v20, %v21
  %v23 = fadd contract <4 x float> %v16, %v22
  %v24 = getelementptr inbounds float, ptr %local1, i32 4
  store <4 x float> %v23, ptr %v24, align 4
  %v25 = add nuw nsw i32 %i7, 1
  %v26 = getelementptr inbounds i8, ptr %at5, i32 4
  %v27 = getelementptr inbounds i8, ptr %at6, i32 16
  %v28 = icmp eq i32 %v25, 5
  br i1 %v28, label %done4, label %loop3
done4:
  %v29 = load <4 x float>, ptr %local1, align 4
  store <4 x float> %v29, ptr %p2, align 4
  %v30 = getelementptr inbounds float, ptr %local1, i32 4
  %v31 = load <4 x float>, ptr %v30, align 4
  %v32 = getelementptr inbounds nuw i8, ptr %p2, i32 28
  store <4 x float> %v31, ptr %v32, align 4
  ret void
}
define internal void @tile_ac13449582eb17ea(ptr %p0, ptr %p1, ptr %p2) noinline #0 {
entry:
  %local1 = alloca [6 x float], align 16
  store float 0x0000000000000000, ptr %local1, align 4
  %v2 = getelementptr inbounds float, ptr %local1, i32 1
  store float 0x0000000000000000, ptr %v2, align 4
  %v3 = getelementptr inbounds float, ptr %local1, i32 2
  store float 0x0000000000000000, ptr %v3, align 4
  %v4 = getelementptr inbounds float, ptr %local1, i32 3
  store float 0x0000000000000000, ptr %v4, align 4
  %v5 = getelementptr inbounds float, ptr %local1, i32 4
  store float 0x0000000000000000, ptr %v5, align 4
  %v6 = getelementptr inbounds float, ptr %local1, i32 5
  store float 0x0000000000000000, ptr %v6, align 4
  br label %loop7
loop7:
  %i11 = phi i32 [ 0, %entry ], [ %v59, %loop7 ]
  %at9 = phi ptr [ %p0, %entry ], [ %v60, %loop7 ]
  %at10 = phi ptr [ %p1, %entry ], [ %v61, %loop7 ]
  %v12 = load float, ptr %local1, align 4
  %v13 = load float, ptr %at9, align 4
  %v14 = load float, ptr %at10, align 4
  %v15 = fmul contract float %v13, %v14
  %v16 = fadd contract float %v12, %v15
  store float %v16, ptr %local1, align 4
  %v17 = getelementptr inbounds float, ptr %local1, i32 1
  %v18 = load float, ptr %v17, align 4
  %v19 = load float, ptr %at9, align 4
  %v20 = getelementptr inbounds nuw i8, ptr %at10, i32 4
  %v21 = load float, ptr %v20, align 4
  %v22 = fmul contract float %v19, %v21
  %v23 = fadd contract float %v18, %v22
  %v24 = getelementptr inbounds float, ptr %local1, i32 1
  store float %v23, ptr %v24, align 4
  %v25 = getelementptr inbounds float, ptr %local1, i32 2
  %v26 = load float, ptr %v25, align 4
  %v27 = load float, ptr %at9, align 4
  %v28 = getelementptr inbounds nuw i8, ptr %at10, i32 8
  %v29 = load float, ptr %v28, align 4
  %v30 = fmul contract float %v27, %v29
  %v31 = fadd contract float %v26, %v30
  %v32 = getelementptr inbounds float, ptr %local1, i32 2
  store float %v31, ptr %v32, align 4
  %v33 = getelementptr inbounds float, ptr %local1, i32 3
  %v34 = load float, ptr %v33, align 4
  %v35 = getelementptr inbounds nuw i8, ptr %at9, i32 20
  %v36 = load float, ptr %v35, align 4
  %v37 = load float, ptr %at10, align 4
  %v38 = fmul contract float %v36, %v37
  %v39 = fadd contract float %v34, %v38
  %v40 = getelementptr inbounds float, ptr %local1, i32 3
  store float %v39, ptr %v40, align 4
  %v41 = getelementptr inbounds float, ptr %local1, i32 4
  %v42 = load float, ptr %v41, align 4
  %v43 = getelementptr inbounds nuw i8, ptr %at9, i32 20
  %v44 = load float, ptr %v43, align 4
  %v45 = getelementptr inbounds nuw i8, ptr %at10, i32 4
  %v46 = load float, ptr %v45, align 4
  %v47 = fmul contract float %v44, %v46
  %v48 = fadd contract float %v42, %v47
  %v49 = getelementptr inbounds float, ptr %local1, i32 4
  store float %v48, ptr %v49, align 4
  %v50 = getelementptr inbounds float, ptr %local1, i32 5
  %v51 = load float, ptr %v50, align 4
  %v52 = getelementptr inbounds nuw i8, ptr %at9, i32 20
  %v53 = load float, ptr %v52, align 4
  %v54 = getelementptr inbounds nuw i8, ptr %at10, i32 8
  %v55 = load float, ptr %v54, align 4
  %v56 = fmul contract float %v53, %v55
  %v57 = fadd contract float %v51, %v56
  %v58 = getelementptr inbounds float, ptr %local1, i32 5
  store float %v57, ptr %v58, align 4
  %v59 = add nuw nsw i32 %i11, 1
  %v60 = getelementptr inbounds i8, ptr %at9, i32 4
  %v61 = getelementptr inbounds i8, ptr %at10, i32 16
  %v62 = icmp eq i32 %v59, 5
  br i1 %v62, label %done8, label %loop7
done8:
  %v63 = load float, ptr %local1, align 4
  store float %v63, ptr %p2, align 4
  %v64 = getelementptr inbounds float, ptr %local1, i32 1
  %v65 = load float, ptr %v64, align 4
  %v66 = getelementptr inbounds nuw i8, ptr %p2, i32 4
  store float %v65, ptr %v66, align 4
  %v67 = getelementptr inbounds float, ptr %local1, i32 2
  %v68 = load float, ptr %v67, align 4
  %v69 = getelementptr inbounds nuw i8, ptr %p2, i32 8
  store float %v68, ptr %v69, align 4
  %v70 = getelementptr inbounds float, ptr %local1, i32 3
  %v71 = load float, ptr %v70, align 4
  %v72 = getelementptr inbounds nuw i8, ptr %p2, i32 28
  store float %v71, ptr %v72, align 4
  %v73 = getelementptr inbounds float, ptr %local1, i32 4
  %v74 = load float, ptr %v73, align 4
  %v75 = getelementptr inbounds nuw i8, ptr %p2, i32 32
  store float %v74, ptr %v75, align 4
  %v76 = getelementptr inbounds float, ptr %local1, i32 5
  %v77 = load float, ptr %v76, align 4
  %v78 = getelementptr inbounds nuw i8, ptr %p2, i32 36
  store float %v77, ptr %v78, align 4
  ret void
}
define internal void @kernel_7c9330773dd5ae35(ptr %p0, ptr %p1, ptr %p2) noinline #0 {
entry:
  br label %loop1
loop1:
  %i5 = phi i32 [ 0, %entry ], [ %v6, %loop1 ]
  %at3 = phi ptr [ %p0, %entry ], [ %v7, %loop1 ]
  %at4 = phi ptr [ %p2, %entry ], [ %v8, %loop1 ]
  call void @tile_c44f8c6f41b2ee96(ptr %at3, ptr %p1, ptr %at4)
  %v6 = add nuw nsw i32 %i5, 1
  %v7 = getelementptr inbounds i8, ptr %at3, i32 40
  %v8 = getelementptr inbounds i8, ptr %at4, i32 56
  %v9 = icmp eq i32 %v6, 2
  br i1 %v9, label %done2, label %loop1
done2:
  br label %loop10
loop10:
  %i14 = phi i32 [ 0, %done2 ], [ %v17, %loop10 ]
  %at12 = phi ptr [ %p0, %done2 ], [ %v18, %loop10 ]
  %at13 = phi ptr [ %p2, %done2 ], [ %v19, %loop10 ]
  %v15 = getelementptr inbounds nuw i8, ptr %p1, i32 80
  %v16 = getelementptr inbounds nuw i8, ptr %at13, i32 16
  call void @tile_ac13449582eb17ea(ptr %at12, ptr %v15, ptr %v16)
  %v17 = add nuw nsw i32 %i14, 1
  %v18 = getelementptr inbounds i8, ptr %at12, i32 40
  %v19 = getelementptr inbounds i8, ptr %at13, i32 56
  %v20 = icmp eq i32 %v17, 2
  br i1 %v20, label %done11, label %loop10
done11:
  ret void
}
attributes #0 = { nounwind }
