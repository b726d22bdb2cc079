__kernel __attribute__((reqd_work_group_size(12, 1, 1)))
void run(__global const float *restrict b0, __global float *restrict b1) {
  const int thread_x = get_local_id(0);
  float acc_0 = 0.0f;
  const int t0 = thread_x >> 1;
  for (int r_0 = 0; r_0 < 3; r_0++) {
    const int t1 = t0 + r_0 - 1;
    const int t2 = (0 <= t1) & (t1 < 6);
    acc_0 = acc_0 + (t2 ? b0[t2 ? r_0 * 2 + thread_x - 2 : 0] : 0.0f);
  }
  b1[thread_x] = acc_0;
}
