__kernel __attribute__((reqd_work_group_size(8, 1, 1)))
void run(__global const float *restrict b0, __global float *restrict b1) {
  const int thread_x = get_local_id(0);
  b1[thread_x] = 0.0f;
  if (1.0f < b0[thread_x]) {
    b1[thread_x] = b0[thread_x] - 1.0f;
  }
}
