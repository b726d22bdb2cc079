__kernel __attribute__((reqd_work_group_size(4, 1, 1)))
void run(__global const float *restrict b0, __global int *restrict b1, __global uint *restrict b2, __global float *restrict b3, __global int *restrict b4) {
  const int thread_x = get_local_id(0);
  const float t0 = b0[thread_x];
  const int t1 = as_int(t0) & 2147483647;
  const int t2 = 2139095040 < t1;
  const int t3 = t2 ? 0 : ((2.1474836e+09f <= t0) ? 2147483647 : (int)((2.1474835e+09f < ((t0 < (-2.1474836e+09f)) ? -2.1474836e+09f : t0)) ? 2.1474835e+09f : ((t0 < (-2.1474836e+09f)) ? -2.1474836e+09f : t0)));
  b1[thread_x] = t3;
  b2[thread_x] = t2 ? 0u : ((4.2949673e+09f <= t0) ? 4294967295u : (uint)((4.294967e+09f < ((t0 < 0.0f) ? 0.0f : t0)) ? 4.294967e+09f : ((t0 < 0.0f) ? 0.0f : t0)));
  const int t4 = t3 / 3;
  const int t5 = as_int(as_uint(t3) - as_uint(as_int(as_uint(t4) * as_uint(3))));
  b3[thread_x] = (float)(((t5 != 0) & ((t5 ^ 3) < 0)) ? as_int(as_uint(t4) - as_uint(1)) : t4);
  b4[thread_x] = as_int(as_uint(t1) - as_uint(t3 << 2));
}
