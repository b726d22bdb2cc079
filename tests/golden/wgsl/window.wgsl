@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read_write> b1: array<f32>;
@compute @workgroup_size(12, 1, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) thread: vec3u) {
  let thread_x = i32(thread.x);
  var acc_0 = 0.0f;
  let t0 = thread_x >> 1u;
  for (var r_0 = 0; r_0 < 3; r_0++) {
    let t1 = t0 + r_0 - 1;
    let t2 = (0 <= t1) & (t1 < 6);
    acc_0 = acc_0 + select(0.0f, b0[select(0, r_0 * 2 + thread_x - 2, t2)], t2);
  }
  b1[thread_x] = acc_0;
}
