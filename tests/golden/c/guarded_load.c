typedef float ANY_TYPE f32_t;
static void guarded_load(const f32_t *b0, f32_t *b1) {
  for (int i_0 = 0; i_0 < 6; i_0++) {
    const int32_t t0 = i_0 * 2;
    for (int c_0 = 0; c_0 < 2; c_0++) {
      float acc_0 = 0.0f;
      const int32_t t1 = c_0 + t0;
      for (int r_0 = 0; r_0 < 3; r_0++) {
        const int32_t t2 = i_0 + r_0 - 1;
        const int t3 = (0 <= t2) & (t2 < 6);
        acc_0 = acc_0 + (t3 ? b0[t3 ? t1 + r_0 * 2 - 2 : 0] : 0.0f);
      }
      b1[t0 + c_0] = acc_0;
    }
  }
}
