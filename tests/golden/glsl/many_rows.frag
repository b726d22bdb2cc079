#version 300 es
precision highp float;
precision highp int;
precision highp sampler2DArray;
uniform sampler2DArray p0;
layout(location = 0) out vec4 o0;
layout(location = 1) out vec4 o1;
layout(location = 2) out vec4 o2;
layout(location = 3) out vec4 o3;
layout(location = 4) out vec4 o4;
layout(location = 5) out vec4 o5;
layout(location = 6) out vec4 o6;
layout(location = 7) out vec4 o7;
void main() {
  int x_f = int(gl_FragCoord.x) % 263;
  int z_f = int(gl_FragCoord.x) / 263;
  o0 = vec4(0);
  o1 = vec4(0);
  o2 = vec4(0);
  o3 = vec4(0);
  o4 = vec4(0);
  o5 = vec4(0);
  o6 = vec4(0);
  o7 = vec4(0);
  int t0 = z_f * 263 + x_f;
  o0 = -texelFetch(p0, ivec3(t0, 0, 0), 0);
  o1 = -texelFetch(p0, ivec3(t0, 0, 1), 0);
  o2 = -texelFetch(p0, ivec3(t0, 0, 2), 0);
  o3 = -texelFetch(p0, ivec3(t0, 0, 3), 0);
  o4 = -texelFetch(p0, ivec3(t0, 0, 4), 0);
  o5 = -texelFetch(p0, ivec3(t0, 0, 5), 0);
  o6 = -texelFetch(p0, ivec3(t0, 0, 6), 0);
  o7 = -texelFetch(p0, ivec3(t0, 0, 7), 0);
}
