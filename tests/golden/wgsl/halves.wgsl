enable f16;
@group(0) @binding(0) var<storage, read> b0: array<f16>;
@group(0) @binding(1) var<storage, read> b1: array<vec4h>;
@group(0) @binding(2) var<storage, read> b2: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> b3: array<vec4h>;
@compute @workgroup_size(1, 1, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) thread: vec3u) {
  let t0 = b2[0];
  var acc_0_0 = t0;
  var acc_0_1 = t0;
  let t1 = vec4f(b1[0]);
  acc_0_0 = acc_0_0 + f32(b0[0]) * t1;
  acc_0_1 = acc_0_1 + f32(b0[7]) * t1;
  let t2 = vec4f(b1[1]);
  acc_0_0 = acc_0_0 + f32(b0[1]) * t2;
  acc_0_1 = acc_0_1 + f32(b0[8]) * t2;
  let t3 = vec4f(b1[2]);
  acc_0_0 = acc_0_0 + f32(b0[2]) * t3;
  acc_0_1 = acc_0_1 + f32(b0[9]) * t3;
  let t4 = vec4f(b1[3]);
  acc_0_0 = acc_0_0 + f32(b0[3]) * t4;
  acc_0_1 = acc_0_1 + f32(b0[10]) * t4;
  let t5 = vec4f(b1[4]);
  acc_0_0 = acc_0_0 + f32(b0[4]) * t5;
  acc_0_1 = acc_0_1 + f32(b0[11]) * t5;
  let t6 = vec4f(b1[5]);
  acc_0_0 = acc_0_0 + f32(b0[5]) * t6;
  acc_0_1 = acc_0_1 + f32(b0[12]) * t6;
  let t7 = vec4f(b1[6]);
  acc_0_0 = acc_0_0 + f32(b0[6]) * t7;
  acc_0_1 = acc_0_1 + f32(b0[13]) * t7;
  let t8 = select(acc_0_0, vec4f(0.0f), acc_0_0 < vec4f(0.0f));
  let t9 = select(t8, vec4f(-65504.0f), t8 < vec4f(-65504.0f));
  b3[0] = vec4h(select(select(t9, vec4f(65504.0f), vec4f(65504.0f) < t9), t8, (bitcast<vec4i>(t8) & vec4i(2147483647)) == vec4i(2139095040)));
  let t10 = select(acc_0_1, vec4f(0.0f), acc_0_1 < vec4f(0.0f));
  let t11 = select(t10, vec4f(-65504.0f), t10 < vec4f(-65504.0f));
  b3[1] = vec4h(select(select(t11, vec4f(65504.0f), vec4f(65504.0f) < t11), t10, (bitcast<vec4i>(t10) & vec4i(2147483647)) == vec4i(2139095040)));
}
