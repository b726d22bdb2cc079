__kernel __attribute__((reqd_work_group_size(3, 1, 1)))
void run(__global const float4 *restrict b0, __global const int *restrict b1, __global float4 *restrict b2) {
  const int thread_x = get_local_id(0);
  const int t0 = b1[thread_x];
  const int t1 = (t0 < 0) ? as_int(as_uint(t0) + as_uint(5)) : t0;
  const int t2 = (0 <= t1) & (t1 < 5);
  b2[thread_x] = t2 ? b0[t2 ? t1 : 0] : (float4)(0.0f);
}
