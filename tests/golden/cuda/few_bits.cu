extern "C" __global__ void __launch_bounds__(3) run(const int *__restrict__ b0, const int *__restrict__ b1, int4 *__restrict__ b2) {
  const int thread_x = threadIdx.x;
  const int t0 = b0[thread_x];
  const int t1 = b0[thread_x + 1];
  const int t2 = thread_x * 3;
  const int t3 = thread_x * 2;
  const int t4 = b1[t3];
  const int t5 = b1[t3 + 1];
  b2[thread_x] = bits<int4>(bits<uint4>(bits<int4>(bits<uint4>(bits<int4>(bits<uint4>((all4(t0) << bits<int4>(bits<uint4>(all4(24)) - bits<uint4>(bits<int4>(bits<uint4>(make_int4(0, 1, 2, 3) & all4(3)) * bits<uint4>(all4(8)))))) >> all4(24)) + bits<uint4>(bits<int4>(bits<uint4>((make_int4(t0, t1, t1, t1) << bits<int4>(bits<uint4>(all4(24)) - bits<uint4>(bits<int4>(bits<uint4>(bits<int4>(bits<uint4>(all4(3)) + bits<uint4>(make_int4(0, 1, 2, 3))) & all4(3)) * bits<uint4>(all4(8)))))) >> all4(24)) * bits<uint4>(all4(2)))))) + bits<uint4>(all4(bits<int>(bits<unsigned>((b0[t2 >> 2] << ((t2 & 3) * (-8) + 24)) >> 24) * bits<unsigned>(3)))))) + bits<uint4>(bits<int4>(bits<uint4>((make_int4(t4, t4, t5, t5) >> bits<int4>(bits<uint4>(make_int4(0, 1, 2, 3) & all4(1)) * bits<uint4>(all4(16)))) & all4(65535)) * bits<uint4>(all4(4)))));
}
