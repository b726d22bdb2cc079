@group(0) @binding(0) var<storage, read> b0: array<vec4i>;
@group(0) @binding(1) var<storage, read> b1: array<i32>;
@group(0) @binding(2) var<storage, read_write> b2: array<vec4i>;
fn signed_quads(a: vec4u, b: vec4u) -> vec4i { return vec4i(dot4I8Packed(a.x, b.x), dot4I8Packed(a.y, b.y), dot4I8Packed(a.z, b.z), dot4I8Packed(a.w, b.w)); }
@compute @workgroup_size(3, 1, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) thread: vec3u) {
  let thread_x = i32(thread.x);
  let t0 = b0[thread_x];
  let t1 = b1[thread_x];
  b2[thread_x] = signed_quads(bitcast<vec4u>(t0 & vec4i(252645135)), bitcast<vec4u>(vec4i(t1))) + (dot4I8Packed(bitcast<u32>(t1 ^ (-2139062144)), bitcast<u32>(2130804991)) + -128) + (signed_quads(bitcast<vec4u>(t0 ^ vec4i(-2139062144)), bitcast<vec4u>(t0)) + (signed_quads(bitcast<vec4u>(vec4i(16843009)), bitcast<vec4u>(t0)) << vec4u(vec4i(7))));
}
