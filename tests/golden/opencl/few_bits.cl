__kernel __attribute__((reqd_work_group_size(3, 1, 1)))
void run(__global const int *restrict b0, __global const int *restrict b1, __global int4 *restrict b2) {
  const int thread_x = get_local_id(0);
  const int t0 = b0[thread_x];
  const int t1 = b0[thread_x + 1];
  const int t2 = thread_x * 3;
  const int t3 = thread_x * 2;
  const int t4 = b1[t3];
  const int t5 = b1[t3 + 1];
  b2[thread_x] = as_int4(as_uint4(as_int4(as_uint4(as_int4(as_uint4((((int4)(t0)) << as_int4(as_uint4((int4)(24)) - as_uint4(as_int4(as_uint4(((int4)(0, 1, 2, 3)) & ((int4)(3))) * as_uint4((int4)(8)))))) >> ((int4)(24))) + as_uint4(as_int4(as_uint4((((int4)(t0, t1, t1, t1)) << as_int4(as_uint4((int4)(24)) - as_uint4(as_int4(as_uint4(as_int4(as_uint4((int4)(3)) + as_uint4((int4)(0, 1, 2, 3))) & ((int4)(3))) * as_uint4((int4)(8)))))) >> ((int4)(24))) * as_uint4((int4)(2)))))) + as_uint4((int4)(as_int(as_uint((b0[t2 >> 2] << ((t2 & 3) * (-8) + 24)) >> 24) * as_uint(3)))))) + as_uint4(as_int4(as_uint4((((int4)(t4, t4, t5, t5)) >> as_int4(as_uint4(((int4)(0, 1, 2, 3)) & ((int4)(1))) * as_uint4((int4)(16)))) & ((int4)(65535))) * as_uint4((int4)(4)))));
}
