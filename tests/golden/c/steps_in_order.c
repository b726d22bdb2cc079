typedef float f32x4 __attribute__((vector_size(16), aligned(4), may_alias));
static inline f32x4 all_f32x4(float a) { return (f32x4){a, a, a, a}; }
typedef float ANY_TYPE f32_t;
static void steps_in_order(const f32_t *b0, const f32_t *b1, f32_t *b2) {
  f32x4 acc_0_0 = all_f32x4(0.0f);
  f32x4 acc_0_1 = all_f32x4(0.0f);
  for (int ko_0 = 0; ko_0 < 3; ko_0++) {
    const int32_t t0 = ko_0 * 2;
    const int32_t t1 = ko_0 * 8;
    for (int ki_0 = 0; ki_0 < 2; ki_0++) {
      const int32_t t2 = t0 + ki_0;
      const f32x4 t3 = *(const f32x4 *)&b1[t1 + ki_0 * 4];
      acc_0_0 = acc_0_0 + all_f32x4(b0[t2]) * t3;
      acc_0_1 = acc_0_1 + all_f32x4(b0[t2 + 6]) * t3;
    }
  }
  *(f32x4 *)&b2[0] = acc_0_0;
  *(f32x4 *)&b2[4] = acc_0_1;
}
