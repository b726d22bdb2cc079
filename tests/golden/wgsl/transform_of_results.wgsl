@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read> b1: array<f32>;
@group(0) @binding(2) var<storage, read_write> b2: array<f32>;
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) thread: vec3u) {
  let group_x = i32(group.x);
  let thread_x = i32(thread.x);
  if ((group_x * 64 + thread_x) < 72) {
    let t0 = group_x * 64 + thread_x;
    var values_0_0 = b0[t0];
    var values_0_1 = b0[t0 + 288];
    var values_0_2 = b0[t0 + 576];
    var values_0_3 = b0[t0 + 864];
    var values_0_4 = values_0_0 + values_0_1 + values_0_2;
    var values_0_5 = values_0_1 + values_0_3 - values_0_2;
    var values_0_6 = b0[t0 + 72];
    var values_0_7 = b0[t0 + 360];
    var values_0_8 = b0[t0 + 648];
    var values_0_9 = b0[t0 + 936];
    var values_0_10 = values_0_6 + values_0_7 + values_0_8;
    var values_0_11 = values_0_7 + values_0_9 - values_0_8;
    var values_0_12 = b0[t0 + 144];
    var values_0_13 = b0[t0 + 432];
    var values_0_14 = b0[t0 + 720];
    var values_0_15 = b0[t0 + 1008];
    var values_0_16 = values_0_12 + values_0_13 + values_0_14;
    var values_0_17 = values_0_13 + values_0_15 - values_0_14;
    var values_0_18 = b0[t0 + 216];
    var values_0_19 = b0[t0 + 504];
    var values_0_20 = b0[t0 + 792];
    var values_0_21 = b0[t0 + 1080];
    var values_0_22 = values_0_18 + values_0_19 + values_0_20;
    var values_0_23 = values_0_19 + values_0_21 - values_0_20;
    var values_0_24 = values_0_4 + values_0_10 + values_0_16;
    let t1 = thread_x & 7;
    let t2 = values_0_24 + b1[t1];
    let t3 = thread_x >> 3u;
    let t4 = group_x * 8 + t3;
    let t5 = t4 / 3;
    b2[t1 + group_x * 128 + t3 * 16 + t5 * 32] = select(t2, 0.0f, t2 < 0.0f);
    var values_0_25 = values_0_10 + values_0_22 - values_0_16;
    let t6 = ((t4 - t5 * 3) * 2 + 1) < 5;
    if (t6) {
      let t7 = values_0_25 + b1[t1];
      b2[t1 + group_x * 128 + t3 * 16 + t5 * 32 + 8] = select(t7, 0.0f, t7 < 0.0f);
    }
    var values_0_26 = values_0_5 + values_0_11 + values_0_17;
    let t8 = (t5 * 2 + 1) < 5;
    if (t8) {
      let t9 = values_0_26 + b1[t1];
      b2[t1 + group_x * 128 + t3 * 16 + t5 * 32 + 40] = select(t9, 0.0f, t9 < 0.0f);
    }
    var values_0_27 = values_0_11 + values_0_23 - values_0_17;
    if (t8 & t6) {
      let t10 = values_0_27 + b1[t1];
      b2[t1 + group_x * 128 + t3 * 16 + t5 * 32 + 48] = select(t10, 0.0f, t10 < 0.0f);
    }
  }
}
