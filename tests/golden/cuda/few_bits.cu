extern "C" __global__ void __launch_bounds__(3) run(const int *__restrict__ b0, const int *__restrict__ b1, int4 *__restrict__ b2) {
  const int thread_x = threadIdx.x;
  const int t0 = b0[thread_x];
  const int t1 = thread_x * 3;
  const int t2 = thread_x * 2;
  b2[thread_x] = bits<int4>(bits<uint4>(bits<int4>(bits<uint4>(bits<int4>(bits<uint4>((all4(t0) << bits<int4>(bits<uint4>(all4(24)) - bits<uint4>(bits<int4>(bits<uint4>(make_int4(0, 1, 2, 3) & all4(3)) * bits<uint4>(all4(8)))))) >> all4(24)) + bits<uint4>(bits<int4>(bits<uint4>((choose(make_int4(0, 1, 2, 3) <= all4(0), all4(t0), all4(b0[thread_x + 1])) << bits<int4>(bits<uint4>(all4(24)) - bits<uint4>(bits<int4>(bits<uint4>(bits<int4>(bits<uint4>(all4(3)) + bits<uint4>(make_int4(0, 1, 2, 3))) & all4(3)) * bits<uint4>(all4(8)))))) >> all4(24)) * bits<uint4>(all4(2)))))) + bits<uint4>(all4(bits<int>(bits<unsigned>((b0[t1 >> 2] << ((t1 & 3) * (-8) + 24)) >> 24) * bits<unsigned>(3)))))) + bits<uint4>(bits<int4>(bits<uint4>((choose(make_int4(0, 1, 2, 3) <= all4(1), all4(b1[t2]), all4(b1[t2 + 1])) >> bits<int4>(bits<uint4>(make_int4(0, 1, 2, 3) & all4(1)) * bits<uint4>(all4(16)))) & all4(65535)) * bits<uint4>(all4(4)))));
}
