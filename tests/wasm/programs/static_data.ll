; Static data: constants, an address inside other data, variables, zeros, alignment, and what nobody needs.
@table = internal constant [4 x i32] [i32 10, i32 20, i32 30, i32 40], align 16
@third = internal constant ptr getelementptr inbounds nuw (i8, ptr @table, i32 8)
@counter = internal global i32 100
@byte = internal constant i8 7
@aligned = internal constant [2 x i64] [i64 1, i64 -2], align 64
@zeros = internal global [300 x i32] zeroinitializer, align 16
@unused = internal constant [4 x i32] [i32 286331153, i32 286331153, i32 286331153, i32 286331153]
@__heap_base = external global i8

define i32 @lookup(i32 %i) {
  %p = getelementptr inbounds nuw i32, ptr @table, i32 %i
  %v = load volatile i32, ptr %p
  ret i32 %v
}

define i32 @through_pointer() {
  %p = load volatile ptr, ptr @third
  %v = load i32, ptr %p
  ret i32 %v
}

define i32 @count() {
  %v = load i32, ptr @counter
  %w = add i32 %v, 1
  store i32 %w, ptr @counter
  %b = load volatile i8, ptr @byte
  %x = zext i8 %b to i32
  %r = add i32 %w, %x
  ret i32 %r
}

define i32 @address_of_aligned() {
  %p = ptrtoint ptr @aligned to i32
  %v = load volatile i64, ptr getelementptr inbounds nuw (i8, ptr @aligned, i32 8)
  %t = trunc i64 %v to i32
  %r = add i32 %p, %t
  ret i32 %r
}

define i32 @zero_cell(i32 %i) {
  %p = getelementptr inbounds nuw i32, ptr @zeros, i32 %i
  %old = load i32, ptr %p
  store i32 %i, ptr %p
  ret i32 %old
}

define i32 @heap_base() {
  %p = ptrtoint ptr @__heap_base to i32
  ret i32 %p
}
