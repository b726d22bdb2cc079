#version 300 es
precision highp float;
precision highp int;
precision highp sampler2DArray;
uniform sampler2DArray p0;
uniform sampler2DArray p1;
layout(location = 0) out vec4 o0;
layout(location = 1) out vec4 o1;
layout(location = 2) out vec4 o2;
void main() {
  int z_f = int(gl_FragCoord.x);
  o0 = vec4(0);
  o1 = vec4(0);
  o2 = vec4(0);
  vec4 t0 = texelFetch(p1, ivec3(z_f, 0, 0), 0);
  o0 = texelFetch(p0, ivec3(z_f, 0, 0), 0) * t0;
  o1 = texelFetch(p0, ivec3(z_f, 0, 1), 0) * t0;
  o2 = texelFetch(p0, ivec3(z_f, 0, 2), 0) * t0;
}
