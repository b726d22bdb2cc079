; Functions of the host: one that is called, one that only unneeded code calls, one named by attributes.
declare i32 @ask(i32)
declare void @tell(i32, double)
declare void @never()
declare i32 @renamed(i32) #0

define i32 @talk(i32 %x) {
  %answer = call i32 @ask(i32 %x)
  %more = call i32 @renamed(i32 %answer)
  call void @tell(i32 %more, double 2.5)
  ret i32 %more
}

define void @unused() {
  call void @never()
  ret void
}

attributes #0 = { "wasm-import-module"="env" "wasm-import-name"="triple" }
