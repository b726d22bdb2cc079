define internal void @kernel_41dbed57a87c71a9(ptr %p0, ptr %p1) noinline #0 {
entry:
  %v1 = load <4 x float>, ptr %p0, align 4
  %v2 = fcmp olt <4 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>, %v1
  %v3 = fcmp olt <4 x float> %v1, <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>
  %v4 = select <4 x i1> %v3, <4 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>, <4 x float> %v1
  %v5 = fcmp olt <4 x float> <float 0x4018000000000000, float 0x4018000000000000, float 0x4018000000000000, float 0x4018000000000000>, %v4
  %v6 = select <4 x i1> %v5, <4 x float> <float 0x4018000000000000, float 0x4018000000000000, float 0x4018000000000000, float 0x4018000000000000>, <4 x float> %v4
  %v7 = fmul contract <4 x float> %v1, <float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000, float 0x3FB99999A0000000>
  %v8 = select <4 x i1> %v2, <4 x float> %v6, <4 x float> %v7
  store <4 x float> %v8, ptr %p1, align 4
  ret void
}
attributes #0 = { nounwind }
