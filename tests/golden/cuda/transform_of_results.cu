extern "C" __global__ void __launch_bounds__(64) run(const float *__restrict__ b0, const float *__restrict__ b1, float *__restrict__ b2) {
  const int group_x = blockIdx.x;
  const int thread_x = threadIdx.x;
  if ((group_x * 64 + thread_x) < 72) {
    const int t0 = group_x * 64 + thread_x;
    float values_0_0 = b0[t0];
    float values_0_1 = b0[t0 + 288];
    float values_0_2 = b0[t0 + 576];
    float values_0_3 = b0[t0 + 864];
    float values_0_4 = values_0_0 + values_0_1 + values_0_2;
    float values_0_5 = values_0_1 + values_0_3 - values_0_2;
    float values_0_6 = b0[t0 + 72];
    float values_0_7 = b0[t0 + 360];
    float values_0_8 = b0[t0 + 648];
    float values_0_9 = b0[t0 + 936];
    float values_0_10 = values_0_6 + values_0_7 + values_0_8;
    float values_0_11 = values_0_7 + values_0_9 - values_0_8;
    float values_0_12 = b0[t0 + 144];
    float values_0_13 = b0[t0 + 432];
    float values_0_14 = b0[t0 + 720];
    float values_0_15 = b0[t0 + 1008];
    float values_0_16 = values_0_12 + values_0_13 + values_0_14;
    float values_0_17 = values_0_13 + values_0_15 - values_0_14;
    float values_0_18 = b0[t0 + 216];
    float values_0_19 = b0[t0 + 504];
    float values_0_20 = b0[t0 + 792];
    float values_0_21 = b0[t0 + 1080];
    float values_0_22 = values_0_18 + values_0_19 + values_0_20;
    float values_0_23 = values_0_19 + values_0_21 - values_0_20;
    float values_0_24 = values_0_4 + values_0_10 + values_0_16;
    const int t1 = thread_x & 7;
    const float t2 = values_0_24 + b1[t1];
    const int t3 = thread_x >> 3;
    const int t4 = group_x * 8 + t3;
    const int t5 = t4 / 3;
    b2[t1 + group_x * 128 + t3 * 16 + t5 * 32] = (t2 < 0.0f) ? 0.0f : t2;
    float values_0_25 = values_0_10 + values_0_22 - values_0_16;
    const bool t6 = ((t4 - t5 * 3) * 2 + 1) < 5;
    if (t6) {
      const float t7 = values_0_25 + b1[t1];
      b2[t1 + group_x * 128 + t3 * 16 + t5 * 32 + 8] = (t7 < 0.0f) ? 0.0f : t7;
    }
    float values_0_26 = values_0_5 + values_0_11 + values_0_17;
    const bool t8 = (t5 * 2 + 1) < 5;
    if (t8) {
      const float t9 = values_0_26 + b1[t1];
      b2[t1 + group_x * 128 + t3 * 16 + t5 * 32 + 40] = (t9 < 0.0f) ? 0.0f : t9;
    }
    float values_0_27 = values_0_11 + values_0_23 - values_0_17;
    if (t8 & t6) {
      const float t10 = values_0_27 + b1[t1];
      b2[t1 + group_x * 128 + t3 * 16 + t5 * 32 + 48] = (t10 < 0.0f) ? 0.0f : t10;
    }
  }
}
