declare i32 @llvm.fptosi.sat.i32.f32(float)
declare i8 @llvm.fptosi.sat.i8.f32(float)
declare i8 @llvm.fptoui.sat.i8.f32(float)
define internal void @kernel_9d6798e442cd7c3b(ptr %p0, ptr %p1, ptr %p2, ptr %p3, ptr %p4, ptr %p5, ptr %p6) noinline #0 {
entry:
  br label %loop1
loop1:
  %i10 = phi i32 [ 0, %entry ], [ %v69, %loop1 ]
  %at3 = phi ptr [ %p1, %entry ], [ %v70, %loop1 ]
  %at4 = phi ptr [ %p0, %entry ], [ %v71, %loop1 ]
  %at5 = phi ptr [ %p2, %entry ], [ %v72, %loop1 ]
  %at6 = phi ptr [ %p3, %entry ], [ %v73, %loop1 ]
  %at7 = phi ptr [ %p4, %entry ], [ %v74, %loop1 ]
  %at8 = phi ptr [ %p5, %entry ], [ %v75, %loop1 ]
  %at9 = phi ptr [ %p6, %entry ], [ %v76, %loop1 ]
  %v11 = load float, ptr %at4, align 4
  %v12 = call i8 @llvm.fptosi.sat.i8.f32(float %v11)
  store i8 %v12, ptr %at3, align 1
  %v13 = load float, ptr %at4, align 4
  %v14 = call i8 @llvm.fptoui.sat.i8.f32(float %v13)
  store i8 %v14, ptr %at5, align 1
  %v15 = load float, ptr %at4, align 4
  %v16 = call i32 @llvm.fptosi.sat.i32.f32(float %v15)
  %v17 = sext i32 %v16 to i64
  store i64 %v17, ptr %at6, align 8
  %v18 = load float, ptr %at4, align 4
  %v19 = fcmp une float %v18, 0.0
  %v20 = zext i1 %v19 to i8
  store i8 %v20, ptr %at7, align 1
  %v21 = load float, ptr %at4, align 4
  %v22 = bitcast float %v21 to i32
  %v23 = and i32 %v22, 2147483647
  %v24 = icmp slt i32 1199566847, %v23
  %v25 = icmp slt i32 2139095040, %v23
  %v26 = select i1 %v25, i32 32256, i32 31744
  %v27 = icmp slt i32 %v23, 947912704
  %v28 = bitcast i32 %v23 to float
  %v29 = fadd contract float %v28, 0x3FE0000000000000
  %v30 = bitcast float %v29 to i32
  %v31 = sub i32 %v30, 1056964608
  %v32 = add i32 %v23, -939524096
  %v33 = add i32 %v32, 4095
  %v34 = ashr i32 %v23, 13
  %v35 = and i32 %v34, 1
  %v36 = add i32 %v33, %v35
  %v37 = ashr i32 %v36, 13
  %v38 = select i1 %v27, i32 %v31, i32 %v37
  %v39 = select i1 %v24, i32 %v26, i32 %v38
  %v40 = ashr i32 %v22, 16
  %v41 = and i32 %v40, 32768
  %v42 = or i32 %v39, %v41
  %v43 = trunc i32 %v42 to i16
  %v44 = bitcast i16 %v43 to half
  store half %v44, ptr %at8, align 2
  %v45 = load float, ptr %at4, align 4
  %v46 = bitcast float %v45 to i32
  %v47 = and i32 %v46, 2147483647
  %v48 = icmp slt i32 1199566847, %v47
  %v49 = icmp slt i32 2139095040, %v47
  %v50 = select i1 %v49, i32 2143289344, i32 2139095040
  %v51 = icmp slt i32 %v47, 947912704
  %v52 = bitcast i32 %v47 to float
  %v53 = fadd contract float %v52, 0x3FE0000000000000
  %v54 = bitcast float %v53 to i32
  %v55 = sub i32 %v54, 1056964608
  %v56 = sitofp i32 %v55 to float
  %v57 = fmul contract float %v56, 0x3E70000000000000
  %v58 = bitcast float %v57 to i32
  %v59 = add i32 %v47, 4095
  %v60 = ashr i32 %v47, 13
  %v61 = and i32 %v60, 1
  %v62 = add i32 %v59, %v61
  %v63 = and i32 %v62, -8192
  %v64 = select i1 %v51, i32 %v58, i32 %v63
  %v65 = select i1 %v48, i32 %v50, i32 %v64
  %v66 = and i32 %v46, -2147483648
  %v67 = or i32 %v65, %v66
  %v68 = bitcast i32 %v67 to float
  store float %v68, ptr %at9, align 4
  %v69 = add nuw nsw i32 %i10, 1
  %v70 = getelementptr inbounds i8, ptr %at3, i32 1
  %v71 = getelementptr inbounds i8, ptr %at4, i32 4
  %v72 = getelementptr inbounds i8, ptr %at5, i32 1
  %v73 = getelementptr inbounds i8, ptr %at6, i32 8
  %v74 = getelementptr inbounds i8, ptr %at7, i32 1
  %v75 = getelementptr inbounds i8, ptr %at8, i32 2
  %v76 = getelementptr inbounds i8, ptr %at9, i32 4
  %v77 = icmp eq i32 %v69, 6
  br i1 %v77, label %done2, label %loop1
done2:
  ret void
}
attributes #0 = { nounwind }
