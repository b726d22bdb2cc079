@group(0) @binding(0) var<storage, read> b0: array<i32>;
@group(0) @binding(1) var<storage, read> b1: array<i32>;
@group(0) @binding(2) var<storage, read_write> b2: array<vec4i>;
@compute @workgroup_size(3, 1, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) thread: vec3u) {
  let thread_x = i32(thread.x);
  let t0 = b0[thread_x];
  let t1 = b0[thread_x + 1];
  let t2 = thread_x * 3;
  let t3 = thread_x * 2;
  let t4 = b1[t3];
  let t5 = b1[t3 + 1];
  b2[thread_x] = ((vec4i(t0) << vec4u(24 - (vec4i(0, 1, 2, 3) & vec4i(3)) * 8)) >> vec4u(vec4i(24))) + ((vec4i(t0, t1, t1, t1) << vec4u(24 - ((3 + vec4i(0, 1, 2, 3)) & vec4i(3)) * 8)) >> vec4u(vec4i(24))) * 2 + ((b0[t2 >> 2u] << u32((t2 & 3) * (-8) + 24)) >> 24u) * 3 + ((vec4i(t4, t4, t5, t5) >> vec4u((vec4i(0, 1, 2, 3) & vec4i(1)) * 16)) & vec4i(65535)) * 4;
}
