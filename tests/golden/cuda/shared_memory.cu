extern "C" __global__ void __launch_bounds__(8) run(const float *__restrict__ b0, float *__restrict__ b1) {
  __shared__ float tile_0[8];
  const int group_x = blockIdx.x;
  const int thread_x = threadIdx.x;
  const int t0 = thread_x + group_x * 8;
  tile_0[thread_x] = b0[t0];
  __syncthreads();
  b1[t0] = tile_0[thread_x * (-1) + 7];
}
