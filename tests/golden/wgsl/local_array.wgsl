@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read_write> b1: array<f32>;
@compute @workgroup_size(2, 1, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) thread: vec3u) {
  let thread_x = i32(thread.x);
  var acc_0: array<f32, 3>;
  for (var i_0 = 0; i_0 < 3; i_0++) {
    acc_0[i_0] = 0.0f;
  }
  for (var r_0 = 0; r_0 < 2; r_0++) {
    let t0 = thread_x + r_0 * 2;
    for (var i_1 = 0; i_1 < 3; i_1++) {
      acc_0[i_1] = acc_0[i_1] + b0[t0 + i_1 * 2];
    }
  }
  for (var i_2 = 0; i_2 < 3; i_2++) {
    b1[thread_x + i_2 * 2] = acc_0[i_2];
  }
}
