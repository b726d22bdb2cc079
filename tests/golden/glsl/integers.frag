#version 300 es
precision highp float;
precision highp int;
precision highp isampler2DArray;
uniform isampler2DArray p0;
uniform isampler2DArray p1;
layout(location = 0) out ivec4 o0;
layout(location = 1) out ivec4 o1;
bvec4 both(bvec4 a, bvec4 b) { return bvec4(a.x && b.x, a.y && b.y, a.z && b.z, a.w && b.w); }
ivec4 choose(bvec4 c, ivec4 a, ivec4 b) { return b + (a - b) * ivec4(c); }
void main() {
  int z_f = int(gl_FragCoord.x);
  o0 = ivec4(0);
  o1 = ivec4(0);
  ivec4 t0 = texelFetch(p0, ivec3(z_f, 0, 0), 0);
  ivec4 t1 = texelFetch(p1, ivec3(z_f, 0, 0), 0);
  bvec4 t2 = equal(t1, ivec4(-1));
  ivec4 t3 = choose(equal(t1, ivec4(0)), ivec4(1), t1);
  ivec4 t4 = t0 - choose(t2, 0 - t0, t0 / choose(t2, ivec4(1), t3)) * t3;
  o0 = choose(both(notEqual(t4, ivec4(0)), lessThan(t4 ^ t3, ivec4(0))), t4 + t3, t4);
  ivec4 t5 = texelFetch(p0, ivec3(z_f, 0, 1), 0);
  ivec4 t6 = texelFetch(p1, ivec3(z_f, 0, 1), 0);
  bvec4 t7 = equal(t6, ivec4(-1));
  ivec4 t8 = choose(equal(t6, ivec4(0)), ivec4(1), t6);
  ivec4 t9 = t5 - choose(t7, 0 - t5, t5 / choose(t7, ivec4(1), t8)) * t8;
  o1 = choose(both(notEqual(t9, ivec4(0)), lessThan(t9 ^ t8, ivec4(0))), t9 + t8, t9);
}
