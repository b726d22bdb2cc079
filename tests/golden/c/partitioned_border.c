typedef float ANY_TYPE f32_t;
static void partitioned_border(const f32_t *b0, f32_t *b1) {
  for (int c_0 = 0; c_0 < 2; c_0++) {
    float acc_0 = 0.0f;
    acc_0 = acc_0 + 0.0f;
    acc_0 = acc_0 + b0[c_0];
    acc_0 = acc_0 + b0[c_0 + 2];
    b1[c_0] = acc_0;
  }
  for (int i_0 = 0; i_0 < 4; i_0++) {
    const int32_t t0 = i_0 * 2;
    for (int c_1 = 0; c_1 < 2; c_1++) {
      float acc_1 = 0.0f;
      const int32_t t1 = t0 + c_1;
      acc_1 = acc_1 + b0[t1];
      const int32_t t2 = t1 + 2;
      acc_1 = acc_1 + b0[t2];
      acc_1 = acc_1 + b0[t1 + 4];
      b1[t2] = acc_1;
    }
  }
  for (int c_2 = 0; c_2 < 2; c_2++) {
    float acc_2 = 0.0f;
    acc_2 = acc_2 + b0[c_2 + 8];
    const int32_t t3 = c_2 + 10;
    acc_2 = acc_2 + b0[t3];
    acc_2 = acc_2 + 0.0f;
    b1[t3] = acc_2;
  }
}
