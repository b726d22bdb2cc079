@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read_write> b1: array<f32>;
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) thread: vec3u) {
  let group_x = i32(group.x);
  let thread_x = i32(thread.x);
  if ((group_x * 64 + thread_x) < 70) {
    let t0 = group_x * 64 + thread_x;
    b1[t0] = b0[t0] * 2.0f + 1.0f;
  }
}
