extern "C" __global__ void __launch_bounds__(1) run(const float *__restrict__ b0, const float4 *__restrict__ b1, const float4 *__restrict__ b2, float4 *__restrict__ b3) {
  const float4 t0 = b2[0];
  float4 acc_0_0 = t0;
  float4 acc_0_1 = t0;
  const float4 t1 = b1[0];
  acc_0_0 = acc_0_0 + b0[0] * t1;
  acc_0_1 = acc_0_1 + b0[7] * t1;
  const float4 t2 = b1[1];
  acc_0_0 = acc_0_0 + b0[1] * t2;
  acc_0_1 = acc_0_1 + b0[8] * t2;
  const float4 t3 = b1[2];
  acc_0_0 = acc_0_0 + b0[2] * t3;
  acc_0_1 = acc_0_1 + b0[9] * t3;
  const float4 t4 = b1[3];
  acc_0_0 = acc_0_0 + b0[3] * t4;
  acc_0_1 = acc_0_1 + b0[10] * t4;
  const float4 t5 = b1[4];
  acc_0_0 = acc_0_0 + b0[4] * t5;
  acc_0_1 = acc_0_1 + b0[11] * t5;
  const float4 t6 = b1[5];
  acc_0_0 = acc_0_0 + b0[5] * t6;
  acc_0_1 = acc_0_1 + b0[12] * t6;
  const float4 t7 = b1[6];
  acc_0_0 = acc_0_0 + b0[6] * t7;
  acc_0_1 = acc_0_1 + b0[13] * t7;
  b3[0] = choose(acc_0_0 < all4(0.0f), all4(0.0f), acc_0_0);
  b3[1] = choose(acc_0_1 < all4(0.0f), all4(0.0f), acc_0_1);
}
