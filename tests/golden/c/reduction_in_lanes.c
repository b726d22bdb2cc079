typedef float f32x4 __attribute__((vector_size(16), aligned(4), may_alias));
static inline f32x4 all_f32x4(float a) { return (f32x4){a, a, a, a}; }
typedef float ANY_TYPE f32_t;
static void reduction_in_lanes(const f32_t *b0, const f32_t *b1, f32_t *b2) {
  float acc_0 = 0.0f;
  f32x4 part_0 = all_f32x4(0.0f);
  for (int ko_0 = 0; ko_0 < 2; ko_0++) {
    const int32_t t0 = ko_0 * 4;
    part_0 = part_0 + *(const f32x4 *)&b0[t0] * (*(const f32x4 *)&b1[t0]);
  }
  acc_0 = acc_0 + (part_0[0] + part_0[2] + (part_0[1] + part_0[3]));
  for (int k_0 = 0; k_0 < 3; k_0++) {
    const int32_t t1 = k_0 + 8;
    acc_0 = acc_0 + b0[t1] * b1[t1];
  }
  b2[0] = acc_0;
}
