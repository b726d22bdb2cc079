#version 300 es
precision highp float;
precision highp int;
precision highp sampler2DArray;
uniform sampler2DArray p0;
layout(location = 0) out vec4 o0;
void main() {
  int z_f = int(gl_FragCoord.x);
  o0 = vec4(0);
  vec4 t0 = texelFetch(p0, ivec3(z_f, 0, 0), 0);
  vec4 t1 = mix(min(t0, vec4(4.0)), t0, lessThan(ivec4(2139095040), floatBitsToInt(t0) & ivec4(2147483647)));
  vec4 t2 = mix(max(t1, vec4(-4.0)), t1, lessThan(ivec4(2139095040), floatBitsToInt(t1) & ivec4(2147483647)));
  vec4 t3 = t2 * t2;
  vec4 t4 = t2 * ((((((-2.7261424e-10 * t3 + 2.7706815e-08) * t3 + -2.101024e-06) * t3 + -5.6925062e-05) * t3 + -0.00073499064) * t3 + -0.0029546) * t3 + -0.016096033) / ((((-1.45660715e-05 * t3 + -0.00021337405) * t3 + -0.001682827) * t3 + -0.0073733293) * t3 + -0.014264739);
  vec4 t5 = mix(min(t4, vec4(1.0)), t4, lessThan(ivec4(2139095040), floatBitsToInt(t4) & ivec4(2147483647)));
  o0 = mix(max(t5, vec4(-1.0)), t5, lessThan(ivec4(2139095040), floatBitsToInt(t5) & ivec4(2147483647)));
}
