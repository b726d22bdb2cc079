@group(0) @binding(0) var<storage, read> b0: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> b1: array<f32>;
var<workgroup> part_0: array<f32, 64>;
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) thread: vec3u) {
  let group_x = i32(group.x);
  let thread_x = i32(thread.x);
  var acc_0 = vec4f(0.0f);
  let t0 = thread_x * 4;
  let t1 = thread_x + group_x * 150;
  for (var ko_0 = 0; ko_0 < 3; ko_0++) {
    if ((ko_0 * 256 + t0) < 600) {
      acc_0 = acc_0 + b0[t1 + ko_0 * 64];
    }
  }
  var total_0 = acc_0.x + acc_0.y + (acc_0.z + acc_0.w);
  part_0[thread_x] = total_0;
  workgroupBarrier();
  if (thread_x < 4) {
    part_0[thread_x] = part_0[thread_x] + part_0[thread_x + 4] + (part_0[thread_x + 8] + part_0[thread_x + 12]) + (part_0[thread_x + 16] + part_0[thread_x + 20] + (part_0[thread_x + 24] + part_0[thread_x + 28])) + (part_0[thread_x + 32] + part_0[thread_x + 36] + (part_0[thread_x + 40] + part_0[thread_x + 44]) + (part_0[thread_x + 48] + part_0[thread_x + 52] + (part_0[thread_x + 56] + part_0[thread_x + 60])));
  }
  workgroupBarrier();
  total_0 = part_0[0] + part_0[1] + (part_0[2] + part_0[3]);
  if (thread_x < 1) {
    b1[group_x] = (1.0f + total_0) * 2.0f;
  }
}
