extern "C" __global__ void __launch_bounds__(3) run(const float4 *__restrict__ b0, const int *__restrict__ b1, float4 *__restrict__ b2) {
  const int thread_x = threadIdx.x;
  const int t0 = b1[thread_x];
  const int t1 = (t0 < 0) ? bits<int>(bits<unsigned>(t0) + bits<unsigned>(5)) : t0;
  const bool t2 = (0 <= t1) & (t1 < 5);
  b2[thread_x] = t2 ? b0[t2 ? t1 : 0] : all4(0.0f);
}
