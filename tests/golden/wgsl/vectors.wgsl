@group(0) @binding(0) var<storage, read> b0: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> b1: array<vec4f>;
@compute @workgroup_size(6, 1, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) thread: vec3u) {
  let thread_x = i32(thread.x);
  b1[thread_x] = b0[thread_x] * 2.0f + 1.0f;
}
