; Vector arithmetic on memory that the caller fills: y = a * x + y over n vectors of four floats.
define void @axpy(ptr noalias %x, ptr noalias %y, float %a, i32 %n) {
entry:
  %a1 = insertelement <4 x float> poison, float %a, i32 0
  %a4 = shufflevector <4 x float> %a1, <4 x float> poison, <4 x i32> zeroinitializer
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %px = getelementptr inbounds nuw <4 x float>, ptr %x, i32 %i
  %py = getelementptr inbounds nuw <4 x float>, ptr %y, i32 %i
  %vx = load <4 x float>, ptr %px, align 16
  %vy = load <4 x float>, ptr %py, align 16
  %product = fmul contract <4 x float> %a4, %vx
  %sum = fadd contract <4 x float> %product, %vy
  store <4 x float> %sum, ptr %py, align 16
  %next = add nuw nsw i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
