@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read_write> b1: array<f32>;
var<workgroup> tile_0: array<f32, 8>;
@compute @workgroup_size(8, 1, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) thread: vec3u) {
  let group_x = i32(group.x);
  let thread_x = i32(thread.x);
  let t0 = thread_x + group_x * 8;
  tile_0[thread_x] = b0[t0];
  workgroupBarrier();
  b1[t0] = tile_0[thread_x * (-1) + 7];
}
