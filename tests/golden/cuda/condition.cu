extern "C" __global__ void __launch_bounds__(8) run(const float *__restrict__ b0, float *__restrict__ b1) {
  const int thread_x = threadIdx.x;
  b1[thread_x] = 0.0f;
  if (1.0f < b0[thread_x]) {
    b1[thread_x] = b0[thread_x] - 1.0f;
  }
}
