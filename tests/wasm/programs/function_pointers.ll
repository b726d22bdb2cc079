; A table of function pointers in static data, a function's address in code, and one of a function that is imported.
@operations = internal constant [4 x ptr] [ptr @double, ptr null, ptr @negate, ptr @host_add]

declare i32 @host_add(i32)

define internal i32 @double(i32 %x) {
  %r = shl i32 %x, 1
  ret i32 %r
}

define internal i32 @negate(i32 %x) {
  %r = sub i32 0, %x
  ret i32 %r
}

define internal float @half(float %x) {
  %r = fmul float %x, 0.5
  ret float %r
}

define i32 @apply(i32 %which, i32 %x) {
  %p = getelementptr inbounds nuw ptr, ptr @operations, i32 %which
  %f = load ptr, ptr %p
  %r = call i32 %f(i32 %x)
  ret i32 %r
}

define internal float @twice(ptr %f, float %x) noinline {
  %once = call float %f(float %x)
  %r = call float %f(float %once)
  ret float %r
}

define float @quarter(float %x) {
  %r = call float @twice(ptr @half, float %x)
  ret float %r
}
