; Internal calls, recursion, a function that nobody needs, and arrays on the stack.
define internal i32 @square(i32 %x) noinline {
  %r = mul i32 %x, %x
  ret i32 %r
}

define i32 @unused(i32 %x) {
  %r = call i32 @square(i32 %x)
  %s = call i32 @unused_helper(i32 %r)
  ret i32 %s
}

define internal i32 @unused_helper(i32 %x) noinline {
  %r = add i32 %x, 77
  ret i32 %r
}

define i32 @sum_of_squares(i32 %n) {
  %done = icmp eq i32 %n, 0
  br i1 %done, label %zero, label %more
zero:
  ret i32 0
more:
  %square = call i32 @square(i32 %n)
  %less = sub i32 %n, 1
  %rest = call i32 @sum_of_squares(i32 %less)
  %sum = add i32 %square, %rest
  ret i32 %sum
}

define internal void @fill(ptr %p, i32 %value) noinline {
  %p0 = getelementptr inbounds nuw i8, ptr %p, i32 0
  %p1 = getelementptr inbounds nuw i8, ptr %p, i32 4
  store volatile i32 %value, ptr %p0
  store volatile i32 %value, ptr %p1
  ret void
}

define i32 @on_stack(i32 %depth) {
  %cells = alloca [64 x i32], align 16
  call void @fill(ptr %cells, i32 %depth)
  %stop = icmp eq i32 %depth, 0
  br i1 %stop, label %end, label %again
again:
  %less = sub i32 %depth, 1
  %below = call i32 @on_stack(i32 %less)
  br label %end
end:
  %deeper = phi i32 [ 0, %0 ], [ %below, %again ]
  %p1 = getelementptr inbounds nuw i8, ptr %cells, i32 4
  %own = load volatile i32, ptr %p1
  %sum = add i32 %own, %deeper
  ret i32 %sum
}
