__kernel __attribute__((reqd_work_group_size(6, 1, 1)))
void run(__global const float4 *restrict b0, __global float4 *restrict b1) {
  const int thread_x = get_local_id(0);
  b1[thread_x] = b0[thread_x] * 2.0f + 1.0f;
}
