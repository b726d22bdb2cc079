__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void run(__global const float *restrict b0, __global float *restrict b1) {
  const int group_x = get_group_id(0);
  const int thread_x = get_local_id(0);
  if ((group_x * 64 + thread_x) < 70) {
    const int t0 = group_x * 64 + thread_x;
    b1[t0] = b0[t0] * 2.0f + 1.0f;
  }
}
