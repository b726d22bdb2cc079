@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read_write> b1: array<f32>;
var<private> infinity: u32 = 0x7f800000u;
@compute @workgroup_size(4, 1, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) thread: vec3u) {
  let thread_x = i32(thread.x);
  let t0 = b0[thread_x];
  b1[thread_x] = select(select(-bitcast<f32>(infinity), t0, 2139095040 < (bitcast<i32>(t0) & 2147483647)), select(6.0f, t0, t0 < 6.0f), 0.0f < t0);
}
