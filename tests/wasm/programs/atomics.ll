; A shared memory: an atomic counter, constants, and arrays on a stack that the worker chooses.
@counter = internal global i32 0
@step = internal constant [2 x i32] [i32 3, i32 5], align 4

define i32 @advance(i32 %which) {
  %p = getelementptr inbounds nuw i32, ptr @step, i32 %which
  %step = load volatile i32, ptr %p
  %old = atomicrmw add ptr @counter, i32 %step seq_cst
  ret i32 %old
}

define internal void @mark(ptr %p) noinline {
  store volatile i32 1, ptr %p
  ret void
}

define i32 @stack_address() {
  %cell = alloca [4 x i32], align 16
  call void @mark(ptr %cell)
  %address = ptrtoint ptr %cell to i32
  ret i32 %address
}

define i32 @wake() {
  %woken = call i32 @llvm.wasm.memory.atomic.notify(ptr @counter, i32 1)
  ret i32 %woken
}

declare i32 @llvm.wasm.memory.atomic.notify(ptr, i32)
