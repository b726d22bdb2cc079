@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read_write> b1: array<f32>;
@compute @workgroup_size(8, 1, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) thread: vec3u) {
  let thread_x = i32(thread.x);
  b1[thread_x] = 0.0f;
  if (1.0f < b0[thread_x]) {
    b1[thread_x] = b0[thread_x] - 1.0f;
  }
}
