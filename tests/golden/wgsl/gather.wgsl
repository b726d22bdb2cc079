@group(0) @binding(0) var<storage, read> b0: array<vec4f>;
@group(0) @binding(1) var<storage, read> b1: array<i32>;
@group(0) @binding(2) var<storage, read_write> b2: array<vec4f>;
@compute @workgroup_size(3, 1, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) thread: vec3u) {
  let thread_x = i32(thread.x);
  let t0 = b1[thread_x];
  let t1 = select(t0, t0 + 5, t0 < 0);
  let t2 = (0 <= t1) & (t1 < 5);
  b2[thread_x] = select(vec4f(0.0f), b0[select(0, t1, t2)], t2);
}
