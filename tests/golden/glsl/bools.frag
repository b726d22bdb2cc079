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
  vec4 t0 = texelFetch(p0, ivec3(z_f, 0, 0), 0);
  vec4 t1 = texelFetch(p1, ivec3(z_f, 0, 0), 0);
  o0 = mix(t0, t1, lessThan(t0, t1));
  vec4 t2 = texelFetch(p0, ivec3(z_f, 0, 1), 0);
  vec4 t3 = texelFetch(p1, ivec3(z_f, 0, 1), 0);
  o1 = mix(t2, t3, lessThan(t2, t3));
  vec4 t4 = texelFetch(p0, ivec3(z_f, 0, 2), 0);
  vec4 t5 = texelFetch(p1, ivec3(z_f, 0, 2), 0);
  o2 = mix(t4, t5, lessThan(t4, t5));
}
