int4 signed_quads4(uint4 a, uint4 b) { return (int4)(dot_4x8packed_ss_int(a.x, b.x), dot_4x8packed_ss_int(a.y, b.y), dot_4x8packed_ss_int(a.z, b.z), dot_4x8packed_ss_int(a.w, b.w)); }
__kernel __attribute__((reqd_work_group_size(3, 1, 1)))
void run(__global const int4 *restrict b0, __global const int *restrict b1, __global int4 *restrict b2) {
  const int thread_x = get_local_id(0);
  const int4 t0 = b0[thread_x];
  const int t1 = b1[thread_x];
  b2[thread_x] = as_int4(as_uint4(as_int4(as_uint4(signed_quads4(as_uint4(t0 & ((int4)(252645135))), as_uint4((int4)(t1)))) + as_uint4((int4)(as_int(as_uint(dot_4x8packed_ss_int(as_uint(t1 ^ (-2139062144)), as_uint(2130804991))) + as_uint(-128)))))) + as_uint4(as_int4(as_uint4(signed_quads4(as_uint4(t0 ^ ((int4)(-2139062144))), as_uint4(t0))) + as_uint4(signed_quads4(as_uint4((int4)(16843009)), as_uint4(t0)) << ((int4)(7))))));
}
