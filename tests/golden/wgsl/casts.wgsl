@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read_write> b1: array<i32>;
@group(0) @binding(2) var<storage, read_write> b2: array<u32>;
@group(0) @binding(3) var<storage, read_write> b3: array<f32>;
@group(0) @binding(4) var<storage, read_write> b4: array<i32>;
@compute @workgroup_size(4, 1, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) thread: vec3u) {
  let thread_x = i32(thread.x);
  let t0 = b0[thread_x];
  let t1 = bitcast<i32>(t0) & 2147483647;
  let t2 = 2139095040 < t1;
  let t3 = select(select(i32(min(max(t0, -2.1474836e+09f), 2.1474835e+09f)), 2147483647, 2.1474836e+09f <= t0), 0, t2);
  b1[thread_x] = t3;
  b2[thread_x] = select(select(u32(min(max(t0, 0.0f), 4.294967e+09f)), 4294967295u, 4.2949673e+09f <= t0), 0u, t2);
  let t4 = t3 / 3;
  let t5 = t3 - t4 * 3;
  b3[thread_x] = f32(select(t4, t4 - 1, (t5 != 0) & ((t5 ^ 3) < 0)));
  b4[thread_x] = t1 - (t3 << 2u);
}
