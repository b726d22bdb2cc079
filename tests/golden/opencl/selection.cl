__kernel __attribute__((reqd_work_group_size(4, 1, 1)))
void run(__global const float *restrict b0, __global float *restrict b1) {
  const int thread_x = get_local_id(0);
  const float t0 = b0[thread_x];
  b1[thread_x] = (0.0f < t0) ? ((t0 < 6.0f) ? t0 : 6.0f) : ((2139095040 < (as_int(t0) & 2147483647)) ? t0 : -INFINITY);
}
