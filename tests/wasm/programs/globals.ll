; A WebAssembly global of the module's own.
@state = internal addrspace(1) global i32 undef

define void @set_state(i32 %x) {
  store i32 %x, ptr addrspace(1) @state
  ret void
}

define i32 @get_state() {
  %x = load i32, ptr addrspace(1) @state
  ret i32 %x
}
