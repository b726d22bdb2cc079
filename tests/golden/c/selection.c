typedef float f32x4 __attribute__((vector_size(16), aligned(4), may_alias));
static inline f32x4 all_f32x4(float a) { return (f32x4){a, a, a, a}; }
typedef int32_t i32x4 __attribute__((vector_size(16), aligned(4), may_alias));
static inline f32x4 choose_f32x4(i32x4 m, f32x4 a, f32x4 b) { const i32x4 w = m; return (f32x4)((w & (i32x4)a) | (~w & (i32x4)b)); }
typedef float ANY_TYPE f32_t;
static void selection(const f32_t *b0, f32_t *b1) {
  const f32x4 t0 = *(const f32x4 *)&b0[0];
  *(f32x4 *)&b1[0] = choose_f32x4(all_f32x4(0.0f) < t0, choose_f32x4(all_f32x4(6.0f) < choose_f32x4(t0 < all_f32x4(0.0f), all_f32x4(0.0f), t0), all_f32x4(6.0f), choose_f32x4(t0 < all_f32x4(0.0f), all_f32x4(0.0f), t0)), t0 * all_f32x4(0.1f));
}
