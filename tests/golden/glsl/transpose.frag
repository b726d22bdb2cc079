#version 300 es
precision highp float;
precision highp int;
precision highp sampler2DArray;
uniform sampler2DArray p0;
layout(location = 0) out vec4 o0;
layout(location = 1) out vec4 o1;
layout(location = 2) out vec4 o2;
void main() {
  int y_f = int(gl_FragCoord.y);
  o0 = vec4(0);
  o1 = vec4(0);
  o2 = vec4(0);
  int t0 = y_f >> 2;
  int t1 = y_f & 3;
  o0.x = texelFetch(p0, ivec3(t0, 0, 0), 0)[t1];
  o0.y = texelFetch(p0, ivec3(t0, 0, 1), 0)[t1];
  o0.z = texelFetch(p0, ivec3(t0, 0, 2), 0)[t1];
  o0.w = texelFetch(p0, ivec3(t0, 0, 3), 0)[t1];
  o1.x = texelFetch(p0, ivec3(t0, 1, 0), 0)[t1];
  o1.y = texelFetch(p0, ivec3(t0, 1, 1), 0)[t1];
  o1.z = texelFetch(p0, ivec3(t0, 1, 2), 0)[t1];
  o1.w = texelFetch(p0, ivec3(t0, 1, 3), 0)[t1];
  o2.x = texelFetch(p0, ivec3(t0, 2, 0), 0)[t1];
  o2.y = texelFetch(p0, ivec3(t0, 2, 1), 0)[t1];
  o2.z = texelFetch(p0, ivec3(t0, 2, 2), 0)[t1];
  o2.w = texelFetch(p0, ivec3(t0, 2, 3), 0)[t1];
}
