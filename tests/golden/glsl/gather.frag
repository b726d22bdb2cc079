#version 300 es
precision highp float;
precision highp int;
precision highp isampler2DArray;
precision highp sampler2DArray;
uniform sampler2DArray p0;
uniform isampler2DArray p1;
layout(location = 0) out vec4 o0;
layout(location = 1) out vec4 o1;
layout(location = 2) out vec4 o2;
void main() {
  int z_f = int(gl_FragCoord.x);
  o0 = vec4(0);
  o1 = vec4(0);
  o2 = vec4(0);
  ivec4 t0 = texelFetch(p1, ivec3(0, 0, 0), 0);
  int t1 = min(max((t0.x < 0) ? (t0.x + 6) : t0.x, 0), 5);
  int t2 = t1 / 6;
  o0 = texelFetch(p0, ivec3(z_f + t2, 0, t1 - t2 * 6), 0);
  int t3 = min(max((t0.y < 0) ? (t0.y + 6) : t0.y, 0), 5);
  int t4 = t3 / 6;
  o1 = texelFetch(p0, ivec3(z_f + t4, 0, t3 - t4 * 6), 0);
  int t5 = min(max((t0.z < 0) ? (t0.z + 6) : t0.z, 0), 5);
  int t6 = t5 / 6;
  o2 = texelFetch(p0, ivec3(z_f + t6, 0, t5 - t6 * 6), 0);
}
