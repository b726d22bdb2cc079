__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void run(__global const half *restrict b0, __global const half *restrict b1, __global const float4 *restrict b2, __global half *restrict b3) {
  const float4 t0 = b2[0];
  float4 acc_0_0 = t0;
  float4 acc_0_1 = t0;
  const float4 t1 = vload_half4(0, b1);
  acc_0_0 = acc_0_0 + vload_half(0, b0) * t1;
  acc_0_1 = acc_0_1 + vload_half(7, b0) * t1;
  const float4 t2 = vload_half4(1, b1);
  acc_0_0 = acc_0_0 + vload_half(1, b0) * t2;
  acc_0_1 = acc_0_1 + vload_half(8, b0) * t2;
  const float4 t3 = vload_half4(2, b1);
  acc_0_0 = acc_0_0 + vload_half(2, b0) * t3;
  acc_0_1 = acc_0_1 + vload_half(9, b0) * t3;
  const float4 t4 = vload_half4(3, b1);
  acc_0_0 = acc_0_0 + vload_half(3, b0) * t4;
  acc_0_1 = acc_0_1 + vload_half(10, b0) * t4;
  const float4 t5 = vload_half4(4, b1);
  acc_0_0 = acc_0_0 + vload_half(4, b0) * t5;
  acc_0_1 = acc_0_1 + vload_half(11, b0) * t5;
  const float4 t6 = vload_half4(5, b1);
  acc_0_0 = acc_0_0 + vload_half(5, b0) * t6;
  acc_0_1 = acc_0_1 + vload_half(12, b0) * t6;
  const float4 t7 = vload_half4(6, b1);
  acc_0_0 = acc_0_0 + vload_half(6, b0) * t7;
  acc_0_1 = acc_0_1 + vload_half(13, b0) * t7;
  const float4 t8 = select(acc_0_0, (float4)(0.0f), acc_0_0 < ((float4)(0.0f)));
  const float4 t9 = select(t8, (float4)(-65504.0f), t8 < ((float4)(-65504.0f)));
  vstore_half4_rte(select(select(t9, (float4)(65504.0f), ((float4)(65504.0f)) < t9), t8, (as_int4(t8) & ((int4)(2147483647))) == ((int4)(2139095040))), 0, b3);
  const float4 t10 = select(acc_0_1, (float4)(0.0f), acc_0_1 < ((float4)(0.0f)));
  const float4 t11 = select(t10, (float4)(-65504.0f), t10 < ((float4)(-65504.0f)));
  vstore_half4_rte(select(select(t11, (float4)(65504.0f), ((float4)(65504.0f)) < t11), t10, (as_int4(t10) & ((int4)(2147483647))) == ((int4)(2139095040))), 1, b3);
}
