extern "C" __global__ void __launch_bounds__(64) run(const float4 *__restrict__ b0, float *__restrict__ b1) {
  __shared__ float part_0[64];
  const int group_x = blockIdx.x;
  const int thread_x = threadIdx.x;
  float4 acc_0 = all4(0.0f);
  const int t0 = thread_x * 4;
  const int t1 = thread_x + group_x * 150;
  for (int ko_0 = 0; ko_0 < 3; ko_0++) {
    if ((ko_0 * 256 + t0) < 600) {
      acc_0 = acc_0 + b0[t1 + ko_0 * 64];
    }
  }
  float total_0 = acc_0.x + acc_0.y + (acc_0.z + acc_0.w);
  int size_0 = reduce(1, Sum());
  int rank_0 = reduce_before(1, Sum(), 0);
  total_0 = reduce(total_0, Sum());
  part_0[thread_x] = (rank_0 == 0) ? total_0 : 0.0f;
  __syncthreads();
  total_0 = 0.0f;
  for (int turn_0 = 0; turn_0 < 4; turn_0++) {
    if (bits<int>(bits<unsigned>(turn_0 * 4) * bits<unsigned>(size_0)) < 64) {
      const int t2 = turn_0 * 4;
      for (int element_0 = 0; element_0 < 4; element_0++) {
        if (bits<int>(bits<unsigned>(rank_0) + bits<unsigned>(bits<int>(bits<unsigned>(t2 + element_0) * bits<unsigned>(size_0)))) < 64) {
          total_0 = total_0 + part_0[bits<int>(bits<unsigned>(rank_0) + bits<unsigned>(bits<int>(bits<unsigned>(t2 + element_0) * bits<unsigned>(size_0))))];
        }
      }
    }
  }
  total_0 = reduce(total_0, Sum());
  if (thread_x < 1) {
    b1[group_x] = (1.0f + total_0) * 2.0f;
  }
}
