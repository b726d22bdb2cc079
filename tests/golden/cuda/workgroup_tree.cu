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
  part_0[thread_x] = total_0;
  __syncthreads();
  if (thread_x < 4) {
    part_0[thread_x] = part_0[thread_x] + part_0[thread_x + 4] + (part_0[thread_x + 8] + part_0[thread_x + 12]) + (part_0[thread_x + 16] + part_0[thread_x + 20] + (part_0[thread_x + 24] + part_0[thread_x + 28])) + (part_0[thread_x + 32] + part_0[thread_x + 36] + (part_0[thread_x + 40] + part_0[thread_x + 44]) + (part_0[thread_x + 48] + part_0[thread_x + 52] + (part_0[thread_x + 56] + part_0[thread_x + 60])));
  }
  __syncthreads();
  total_0 = part_0[0] + part_0[1] + (part_0[2] + part_0[3]);
  if (thread_x < 1) {
    b1[group_x] = (1.0f + total_0) * 2.0f;
  }
}
