declare void @parallel_for(ptr, ptr, i32)
define internal void @cores_00f13f4cfae8fea8(ptr %arguments, i32 %begin, i32 %end) noinline #0 {
entry:
  %v1 = getelementptr inbounds { ptr, ptr }, ptr %arguments, i32 0, i32 0
  %v2 = load ptr, ptr %v1
  %v3 = getelementptr inbounds { ptr, ptr }, ptr %arguments, i32 0, i32 1
  %v4 = load ptr, ptr %v3
  %v8 = mul nsw i32 %begin, 16
  %v9 = getelementptr inbounds i8, ptr %v2, i32 %v8
  %v11 = mul nsw i32 %begin, 16
  %v12 = getelementptr inbounds i8, ptr %v4, i32 %v11
  br label %loop5
loop5:
  %i13 = phi i32 [ %begin, %entry ], [ %v17, %loop5 ]
  %at7 = phi ptr [ %v9, %entry ], [ %v18, %loop5 ]
  %at10 = phi ptr [ %v12, %entry ], [ %v19, %loop5 ]
  %v14 = load <4 x float>, ptr %at10, align 4
  %v15 = fmul contract <4 x float> %v14, <float 0x4000000000000000, float 0x4000000000000000, float 0x4000000000000000, float 0x4000000000000000>
  %v16 = fadd contract <4 x float> %v15, <float 0x3FF0000000000000, float 0x3FF0000000000000, float 0x3FF0000000000000, float 0x3FF0000000000000>
  store <4 x float> %v16, ptr %at7, align 4
  %v17 = add nuw nsw i32 %i13, 1
  %v18 = getelementptr inbounds i8, ptr %at7, i32 16
  %v19 = getelementptr inbounds i8, ptr %at10, i32 16
  %v20 = icmp eq i32 %v17, %end
  br i1 %v20, label %done6, label %loop5
done6:
  ret void
}
define internal void @kernel_c00a522d5b209dce(ptr %p0, ptr %p1) noinline #0 {
entry:
  %arguments1 = alloca { ptr, ptr }, align 16
  %v2 = getelementptr inbounds { ptr, ptr }, ptr %arguments1, i32 0, i32 0
  store ptr %p1, ptr %v2
  %v3 = getelementptr inbounds { ptr, ptr }, ptr %arguments1, i32 0, i32 1
  store ptr %p0, ptr %v3
  call void @parallel_for(ptr @cores_00f13f4cfae8fea8, ptr %arguments1, i32 6)
  ret void
}
attributes #0 = { nounwind }
