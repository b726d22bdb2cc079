define internal void @kernel_9c9a483d3a7b5d8d(ptr %p0, ptr %p1) noinline #0 {
entry:
  %local6 = alloca [1 x float], align 16
  %local31 = alloca [1 x float], align 16
  %local58 = alloca [1 x float], align 16
  br label %loop1
loop1:
  %i5 = phi i32 [ 0, %entry ], [ %v17, %loop1 ]
  %at3 = phi ptr [ %p0, %entry ], [ %v18, %loop1 ]
  %at4 = phi ptr [ %p1, %entry ], [ %v19, %loop1 ]
  store float 0x0000000000000000, ptr %local6, align 4
  %v7 = load float, ptr %local6, align 4
  %v8 = fadd contract float %v7, 0x0000000000000000
  store float %v8, ptr %local6, align 4
  %v9 = load float, ptr %local6, align 4
  %v10 = load float, ptr %at3, align 4
  %v11 = fadd contract float %v9, %v10
  store float %v11, ptr %local6, align 4
  %v12 = load float, ptr %local6, align 4
  %v13 = getelementptr inbounds nuw i8, ptr %at3, i32 8
  %v14 = load float, ptr %v13, align 4
  %v15 = fadd contract float %v12, %v14
  store float %v15, ptr %local6, align 4
  %v16 = load float, ptr %local6, align 4
  store float %v16, ptr %at4, align 4
  %v17 = add nuw nsw i32 %i5, 1
  %v18 = getelementptr inbounds i8, ptr %at3, i32 4
  %v19 = getelementptr inbounds i8, ptr %at4, i32 4
  %v20 = icmp eq i32 %v17, 2
  br i1 %v20, label %done2, label %loop1
done2:
  br label %loop21
loop21:
  %i25 = phi i32 [ 0, %done2 ], [ %v49, %done27 ]
  %at23 = phi ptr [ %p0, %done2 ], [ %v50, %done27 ]
  %at24 = phi ptr [ %p1, %done2 ], [ %v51, %done27 ]
  br label %loop26
loop26:
  %i30 = phi i32 [ 0, %loop21 ], [ %v45, %loop26 ]
  %at28 = phi ptr [ %at23, %loop21 ], [ %v46, %loop26 ]
  %at29 = phi ptr [ %at24, %loop21 ], [ %v47, %loop26 ]
  store float 0x0000000000000000, ptr %local31, align 4
  %v32 = load float, ptr %local31, align 4
  %v33 = load float, ptr %at28, align 4
  %v34 = fadd contract float %v32, %v33
  store float %v34, ptr %local31, align 4
  %v35 = load float, ptr %local31, align 4
  %v36 = getelementptr inbounds nuw i8, ptr %at28, i32 8
  %v37 = load float, ptr %v36, align 4
  %v38 = fadd contract float %v35, %v37
  store float %v38, ptr %local31, align 4
  %v39 = load float, ptr %local31, align 4
  %v40 = getelementptr inbounds nuw i8, ptr %at28, i32 16
  %v41 = load float, ptr %v40, align 4
  %v42 = fadd contract float %v39, %v41
  store float %v42, ptr %local31, align 4
  %v43 = load float, ptr %local31, align 4
  %v44 = getelementptr inbounds nuw i8, ptr %at29, i32 8
  store float %v43, ptr %v44, align 4
  %v45 = add nuw nsw i32 %i30, 1
  %v46 = getelementptr inbounds i8, ptr %at28, i32 4
  %v47 = getelementptr inbounds i8, ptr %at29, i32 4
  %v48 = icmp eq i32 %v45, 2
  br i1 %v48, label %done27, label %loop26
done27:
  %v49 = add nuw nsw i32 %i25, 1
  %v50 = getelementptr inbounds i8, ptr %at23, i32 8
  %v51 = getelementptr inbounds i8, ptr %at24, i32 8
  %v52 = icmp eq i32 %v49, 4
  br i1 %v52, label %done22, label %loop21
done22:
  br label %loop53
loop53:
  %i57 = phi i32 [ 0, %done22 ], [ %v71, %loop53 ]
  %at55 = phi ptr [ %p0, %done22 ], [ %v72, %loop53 ]
  %at56 = phi ptr [ %p1, %done22 ], [ %v73, %loop53 ]
  store float 0x0000000000000000, ptr %local58, align 4
  %v59 = load float, ptr %local58, align 4
  %v60 = getelementptr inbounds nuw i8, ptr %at55, i32 32
  %v61 = load float, ptr %v60, align 4
  %v62 = fadd contract float %v59, %v61
  store float %v62, ptr %local58, align 4
  %v63 = load float, ptr %local58, align 4
  %v64 = getelementptr inbounds nuw i8, ptr %at55, i32 40
  %v65 = load float, ptr %v64, align 4
  %v66 = fadd contract float %v63, %v65
  store float %v66, ptr %local58, align 4
  %v67 = load float, ptr %local58, align 4
  %v68 = fadd contract float %v67, 0x0000000000000000
  store float %v68, ptr %local58, align 4
  %v69 = load float, ptr %local58, align 4
  %v70 = getelementptr inbounds nuw i8, ptr %at56, i32 40
  store float %v69, ptr %v70, align 4
  %v71 = add nuw nsw i32 %i57, 1
  %v72 = getelementptr inbounds i8, ptr %at55, i32 4
  %v73 = getelementptr inbounds i8, ptr %at56, i32 4
  %v74 = icmp eq i32 %v71, 2
  br i1 %v74, label %done54, label %loop53
done54:
  ret void
}
attributes #0 = { nounwind }
