define void @run_0(ptr %weights, ptr %arena) #0 {
entry:
  ret void
}
define void @run_1(ptr %weights, ptr %arena) #0 {
entry:
  call void @segment_0(ptr %weights, ptr %arena)
  call void @give(i32 0)
  call void @launch(i32 0)
  ret void
}
define void @run_2(ptr %weights, ptr %arena) #0 {
entry:
  call void @segment_1(ptr %weights, ptr %arena)
  call void @give(i32 1)
  call void @launch(i32 1)
  ret void
}
