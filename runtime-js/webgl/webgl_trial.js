// The launch that is timed to distinguish a GPU from a CPU on WebGL: texels fetched, a million for each unit.
import { createFramebuffer, createTexture, linkProgram } from './webgl_context.js';

const SIDE = 512;
const ROWS = 16; // for each unit
const FETCHES = 2 ** 20 / (SIDE * ROWS);

const shader = `#version 300 es
precision highp float;
precision highp sampler2DArray;
uniform sampler2DArray source;
out vec4 result;
void main() {
  ivec2 at = ivec2(gl_FragCoord.xy);
  result = vec4(0.0);
  for (int i = 0; i < ${FETCHES}; i++)
    result = result * 0.5 + texelFetch(source, ivec3((at + ivec2(i, 3 * i)) & 63, 0), 0);
}`;

/**
 * @param {WebGL2RenderingContext} gl
 * @returns {import('../device/require_hardware.js').Trial}
 */
export function prepareTrial(gl) {
  const program = linkProgram(gl, shader);
  const source = createTexture(gl, 'float32', [64, 64, 1]);
  const target = createTexture(gl, 'float32', [SIDE, SIDE, 1]);
  const framebuffer = createFramebuffer(gl, target, 0, 1);
  return {
    async launch(units) {
      gl.useProgram(program);
      gl.activeTexture(gl.TEXTURE0);
      gl.bindTexture(gl.TEXTURE_2D_ARRAY, source);
      gl.viewport(0, 0, SIDE, ROWS * units);
      gl.drawArrays(gl.TRIANGLES, 0, 3);
      gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.FLOAT, new Float32Array(4)); // waits
    },
    dispose() {
      gl.deleteFramebuffer(framebuffer);
      for (const texture of [source, target]) gl.deleteTexture(texture);
      gl.deleteProgram(program);
    },
  };
}
