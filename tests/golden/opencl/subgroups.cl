#pragma OPENCL EXTENSION cl_khr_subgroups : enable
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void run(__global const float4 *restrict b0, __global float *restrict b1) {
  __local float part_0[64];
  const int group_x = get_group_id(0);
  const int thread_x = get_local_id(0);
  float4 acc_0 = (float4)(0.0f);
  const int t0 = thread_x * 4;
  const int t1 = thread_x + group_x * 150;
  for (int ko_0 = 0; ko_0 < 3; ko_0++) {
    if ((ko_0 * 256 + t0) < 600) {
      acc_0 = acc_0 + b0[t1 + ko_0 * 64];
    }
  }
  float total_0 = acc_0.x + acc_0.y + (acc_0.z + acc_0.w);
  int size_0 = sub_group_reduce_add(1);
  int rank_0 = sub_group_scan_exclusive_add(1);
  total_0 = sub_group_reduce_add(total_0);
  part_0[thread_x] = (rank_0 == 0) ? total_0 : 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  total_0 = 0.0f;
  for (int turn_0 = 0; turn_0 < 4; turn_0++) {
    if (as_int(as_uint(turn_0 * 4) * as_uint(size_0)) < 64) {
      const int t2 = turn_0 * 4;
      for (int element_0 = 0; element_0 < 4; element_0++) {
        if (as_int(as_uint(rank_0) + as_uint(as_int(as_uint(t2 + element_0) * as_uint(size_0)))) < 64) {
          total_0 = total_0 + part_0[as_int(as_uint(rank_0) + as_uint(as_int(as_uint(t2 + element_0) * as_uint(size_0))))];
        }
      }
    }
  }
  total_0 = sub_group_reduce_add(total_0);
  if (thread_x < 1) {
    b1[group_x] = (1.0f + total_0) * 2.0f;
  }
}
