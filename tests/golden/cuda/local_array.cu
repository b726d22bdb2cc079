extern "C" __global__ void __launch_bounds__(2) run(const float *__restrict__ b0, float *__restrict__ b1) {
  const int thread_x = threadIdx.x;
  float acc_0[3];
  for (int i_0 = 0; i_0 < 3; i_0++) {
    acc_0[i_0] = 0.0f;
  }
  for (int r_0 = 0; r_0 < 2; r_0++) {
    const int t0 = thread_x + r_0 * 2;
    for (int i_1 = 0; i_1 < 3; i_1++) {
      acc_0[i_1] = acc_0[i_1] + b0[t0 + i_1 * 2];
    }
  }
  for (int i_2 = 0; i_2 < 3; i_2++) {
    b1[thread_x + i_2 * 2] = acc_0[i_2];
  }
}
