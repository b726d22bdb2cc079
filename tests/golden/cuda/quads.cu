extern "C" __global__ void __launch_bounds__(3) run(const int4 *__restrict__ b0, const int *__restrict__ b1, int4 *__restrict__ b2) {
  const int thread_x = threadIdx.x;
  const int4 t0 = b0[thread_x];
  const int t1 = b1[thread_x];
  b2[thread_x] = bits<int4>(bits<uint4>(bits<int4>(bits<uint4>(signed_quads(t0 & all4(252645135), all4(t1))) + bits<uint4>(all4(bits<int>(bits<unsigned>(signed_quads(t1 ^ (-2139062144), 2130804991)) + bits<unsigned>(-128)))))) + bits<uint4>(bits<int4>(bits<uint4>(signed_quads(t0 ^ all4(-2139062144), t0)) + bits<uint4>(signed_quads(all4(16843009), t0) << all4(7)))));
}
