@group(0) @binding(0) var<storage, read> b0: array<vec4f>;
@group(0) @binding(1) var<storage, read> b1: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> b2: array<vec4f>;
@compute @workgroup_size(18, 1, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) thread: vec3u) {
  let thread_x = i32(thread.x);
  var values_0_0 = b0[thread_x];
  var values_0_1 = b0[thread_x + 72];
  var values_0_2 = b0[thread_x + 144];
  var values_0_3 = b0[thread_x + 216];
  var values_0_4 = values_0_0 + values_0_1 + values_0_2;
  var values_0_5 = values_0_1 + values_0_3 - values_0_2;
  var values_0_6 = b0[thread_x + 18];
  var values_0_7 = b0[thread_x + 90];
  var values_0_8 = b0[thread_x + 162];
  var values_0_9 = b0[thread_x + 234];
  var values_0_10 = values_0_6 + values_0_7 + values_0_8;
  var values_0_11 = values_0_7 + values_0_9 - values_0_8;
  var values_0_12 = b0[thread_x + 36];
  var values_0_13 = b0[thread_x + 108];
  var values_0_14 = b0[thread_x + 180];
  var values_0_15 = b0[thread_x + 252];
  var values_0_16 = values_0_12 + values_0_13 + values_0_14;
  var values_0_17 = values_0_13 + values_0_15 - values_0_14;
  var values_0_18 = b0[thread_x + 54];
  var values_0_19 = b0[thread_x + 126];
  var values_0_20 = b0[thread_x + 198];
  var values_0_21 = b0[thread_x + 270];
  var values_0_22 = values_0_18 + values_0_19 + values_0_20;
  var values_0_23 = values_0_19 + values_0_21 - values_0_20;
  var values_0_24 = values_0_4 + values_0_10 + values_0_16;
  let t0 = thread_x & 1;
  let t1 = values_0_24 + b1[t0];
  let t2 = thread_x >> 1u;
  let t3 = t2 / 3;
  let t4 = thread_x / 6;
  b2[t0 + t2 * 4 - t3 * 12 + t4 * 20] = select(t1, vec4f(0.0f), t1 < vec4f(0.0f));
  var values_0_25 = values_0_10 + values_0_22 - values_0_16;
  let t5 = ((t2 - t3 * 3) * 2 + 1) < 5;
  if (t5) {
    let t6 = values_0_25 + b1[t0];
    b2[t0 + t2 * 4 - t3 * 12 + t4 * 20 + 2] = select(t6, vec4f(0.0f), t6 < vec4f(0.0f));
  }
  var values_0_26 = values_0_5 + values_0_11 + values_0_17;
  let t7 = (t4 * 2 + 1) < 5;
  if (t7) {
    let t8 = values_0_26 + b1[t0];
    b2[t0 + t2 * 4 - t3 * 12 + t4 * 20 + 10] = select(t8, vec4f(0.0f), t8 < vec4f(0.0f));
  }
  var values_0_27 = values_0_11 + values_0_23 - values_0_17;
  if (t7 & t5) {
    let t9 = values_0_27 + b1[t0];
    b2[t0 + t2 * 4 - t3 * 12 + t4 * 20 + 12] = select(t9, vec4f(0.0f), t9 < vec4f(0.0f));
  }
}
