extern "C" __global__ void __launch_bounds__(12) run(const float *__restrict__ b0, float *__restrict__ b1) {
  const int thread_x = threadIdx.x;
  float acc_0 = 0.0f;
  const int t0 = thread_x >> 1;
  for (int r_0 = 0; r_0 < 3; r_0++) {
    const int t1 = t0 + r_0 - 1;
    const bool t2 = (0 <= t1) & (t1 < 6);
    acc_0 = acc_0 + (t2 ? b0[t2 ? r_0 * 2 + thread_x - 2 : 0] : 0.0f);
  }
  b1[thread_x] = acc_0;
}
