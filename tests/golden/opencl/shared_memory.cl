__kernel __attribute__((reqd_work_group_size(8, 1, 1)))
void run(__global const float *restrict b0, __global float *restrict b1) {
  __local float tile_0[8];
  const int group_x = get_group_id(0);
  const int thread_x = get_local_id(0);
  const int t0 = thread_x + group_x * 8;
  tile_0[thread_x] = b0[t0];
  barrier(CLK_LOCAL_MEM_FENCE);
  b1[t0] = tile_0[thread_x * (-1) + 7];
}
