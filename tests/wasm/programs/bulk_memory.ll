; Copies and fills that become memory.copy and memory.fill.
declare void @llvm.memcpy.p0.p0.i32(ptr, ptr, i32, i1)
declare void @llvm.memmove.p0.p0.i32(ptr, ptr, i32, i1)
declare void @llvm.memset.p0.i32(ptr, i8, i32, i1)

define void @copy(ptr %to, ptr %from, i32 %n) {
  call void @llvm.memcpy.p0.p0.i32(ptr %to, ptr %from, i32 %n, i1 false)
  ret void
}

define void @move(ptr %to, ptr %from, i32 %n) {
  call void @llvm.memmove.p0.p0.i32(ptr %to, ptr %from, i32 %n, i1 false)
  ret void
}

define void @fill(ptr %to, i32 %value, i32 %n) {
  %byte = trunc i32 %value to i8
  call void @llvm.memset.p0.i32(ptr %to, i8 %byte, i32 %n, i1 false)
  ret void
}
