extern "C" __global__ void __launch_bounds__(4) run(const float *__restrict__ b0, float *__restrict__ b1) {
  const int thread_x = threadIdx.x;
  const float t0 = b0[thread_x];
  b1[thread_x] = (0.0f < t0) ? ((t0 < 6.0f) ? t0 : 6.0f) : ((2139095040 < (bits<int>(t0) & 2147483647)) ? t0 : -INFINITY);
}
