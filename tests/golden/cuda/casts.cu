extern "C" __global__ void __launch_bounds__(4) run(const float *__restrict__ b0, int *__restrict__ b1, unsigned *__restrict__ b2, float *__restrict__ b3, int *__restrict__ b4) {
  const int thread_x = threadIdx.x;
  const float t0 = b0[thread_x];
  const int t1 = bits<int>(t0) & 2147483647;
  const bool t2 = 2139095040 < t1;
  const int t3 = t2 ? 0 : ((2.1474836e+09f <= t0) ? 2147483647 : (int)((2.1474835e+09f < ((t0 < (-2.1474836e+09f)) ? -2.1474836e+09f : t0)) ? 2.1474835e+09f : ((t0 < (-2.1474836e+09f)) ? -2.1474836e+09f : t0)));
  b1[thread_x] = t3;
  b2[thread_x] = t2 ? 0u : ((4.2949673e+09f <= t0) ? 4294967295u : (unsigned)((4.294967e+09f < ((t0 < 0.0f) ? 0.0f : t0)) ? 4.294967e+09f : ((t0 < 0.0f) ? 0.0f : t0)));
  const int t4 = t3 / 3;
  const int t5 = bits<int>(bits<unsigned>(t3) - bits<unsigned>(bits<int>(bits<unsigned>(t4) * bits<unsigned>(3))));
  b3[thread_x] = (float)(((t5 != 0) & ((t5 ^ 3) < 0)) ? bits<int>(bits<unsigned>(t4) - bits<unsigned>(1)) : t4);
  b4[thread_x] = bits<int>(bits<unsigned>(t1) - bits<unsigned>(t3 << 2));
}
