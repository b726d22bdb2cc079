typedef float ANY_TYPE f32_t;
static void nested_index(const f32_t *b0, f32_t *b1) {
  for (int i_0 = 0; i_0 < 2; i_0++) {
    const int32_t t0 = i_0 * 9;
    const int32_t t1 = i_0 * 3;
    for (int j_0 = 0; j_0 < 9; j_0++) {
      b1[t0 + j_0] = b0[t1 + j_0 / 3];
    }
  }
}
