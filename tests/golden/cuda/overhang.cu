extern "C" __global__ void __launch_bounds__(64) run(const float *__restrict__ b0, float *__restrict__ b1) {
  const int group_x = blockIdx.x;
  const int thread_x = threadIdx.x;
  if ((group_x * 64 + thread_x) < 70) {
    const int t0 = group_x * 64 + thread_x;
    b1[t0] = b0[t0] * 2.0f + 1.0f;
  }
}
