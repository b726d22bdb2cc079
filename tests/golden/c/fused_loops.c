typedef float f32x4 __attribute__((vector_size(16), aligned(4), may_alias));
static inline f32x4 all_f32x4(float a) { return (f32x4){a, a, a, a}; }
typedef float ANY_TYPE f32_t;
static void fused_loops(const f32_t *b0, f32_t *b1) {
  for (int ijo_0 = 0; ijo_0 < 6; ijo_0++) {
    const int32_t t0 = ijo_0 * 4;
    *(f32x4 *)&b1[t0] = *(const f32x4 *)&b0[t0] * all_f32x4(2.0f) + all_f32x4(1.0f);
  }
}
