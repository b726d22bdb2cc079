typedef float f32x4 __attribute__((vector_size(16), aligned(4), may_alias));
static inline f32x4 all_f32x4(float a) { return (f32x4){a, a, a, a}; }
typedef float ANY_TYPE f32_t;
static void contraction_tile(const f32_t *b0, const f32_t *b1, f32_t *b2) {
  for (int io_0 = 0; io_0 < 2; io_0++) {
    f32x4 acc_0_0 = all_f32x4(0.0f);
    f32x4 acc_0_1 = all_f32x4(0.0f);
    const int32_t t0 = io_0 * 10;
    for (int k_0 = 0; k_0 < 5; k_0++) {
      const int32_t t1 = t0 + k_0;
      const f32x4 t2 = *(const f32x4 *)&b1[k_0 * 4];
      acc_0_0 = acc_0_0 + all_f32x4(b0[t1]) * t2;
      acc_0_1 = acc_0_1 + all_f32x4(b0[t1 + 5]) * t2;
    }
    const int32_t t3 = io_0 * 14;
    *(f32x4 *)&b2[t3] = acc_0_0;
    *(f32x4 *)&b2[t3 + 7] = acc_0_1;
  }
  for (int io_1 = 0; io_1 < 2; io_1++) {
    float acc_1_0 = 0.0f;
    float acc_1_1 = 0.0f;
    float acc_1_2 = 0.0f;
    float acc_1_3 = 0.0f;
    float acc_1_4 = 0.0f;
    float acc_1_5 = 0.0f;
    const int32_t t4 = io_1 * 10;
    for (int k_1 = 0; k_1 < 5; k_1++) {
      const int32_t t5 = t4 + k_1;
      const float t6 = b0[t5];
      const int32_t t7 = k_1 * 4;
      const float t8 = b1[t7 + 20];
      acc_1_0 = acc_1_0 + t6 * t8;
      const float t9 = b1[t7 + 21];
      acc_1_1 = acc_1_1 + t6 * t9;
      const float t10 = b1[t7 + 22];
      acc_1_2 = acc_1_2 + t6 * t10;
      const float t11 = b0[t5 + 5];
      acc_1_3 = acc_1_3 + t11 * t8;
      acc_1_4 = acc_1_4 + t11 * t9;
      acc_1_5 = acc_1_5 + t11 * t10;
    }
    const int32_t t12 = io_1 * 14;
    b2[t12 + 4] = acc_1_0;
    b2[t12 + 5] = acc_1_1;
    b2[t12 + 6] = acc_1_2;
    b2[t12 + 11] = acc_1_3;
    b2[t12 + 12] = acc_1_4;
    b2[t12 + 13] = acc_1_5;
  }
}
