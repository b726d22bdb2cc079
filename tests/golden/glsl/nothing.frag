#version 300 es
precision highp float;
precision highp int;
precision highp sampler2DArray;
uniform sampler2DArray p0;
layout(location = 0) out vec4 o0;
void main() {
  o0 = vec4(0);
  o0 = vec4(0.0);
}
