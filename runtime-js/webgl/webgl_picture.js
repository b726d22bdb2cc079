// An image becomes an input on WebGL: red, green and blue from 0 to 1.
import { linkProgram } from './webgl_context.js';
import { ROW } from './webgl_transfer.js';

/** @param {import('../values/check_inputs.js').Picture} picture */
const shader = ({ width, height, planar }) => `#version 300 es
precision highp float;
precision highp int;
uniform highp sampler2D image;
out vec4 result;
float element(int e) {
  int c = ${planar ? `e / ${width * height}` : 'e % 3'};
  int pixel = ${planar ? `e % ${width * height}` : 'e / 3'};
  return c < 3 ? texelFetch(image, ivec2(pixel % ${width}, min(pixel / ${width}, ${height - 1})), 0)[c] : 0.0;
}
void main() {
  int e = 4 * (int(gl_FragCoord.y) * ${ROW} + int(gl_FragCoord.x));
  result = vec4(element(e), element(e + 1), element(e + 2), element(e + 3));
}`;

/** @param {WebGL2RenderingContext} gl */
export function createPainter(gl) {
  /** @type {Map<string, WebGLProgram>} */
  const programs = new Map();
  /** @type {WebGLTexture | undefined} */
  let texture;
  return {
    /**
     * @param {ImageBitmap} source
     * @param {WebGLFramebuffer} target
     * @param {import('../values/check_inputs.js').Picture} picture
     */
    draw(source, target, picture) {
      const key = JSON.stringify(picture);
      const program = programs.get(key) ?? linkProgram(gl, shader(picture));
      programs.set(key, program);
      texture ??= gl.createTexture();
      gl.activeTexture(gl.TEXTURE0);
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, false);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, gl.RGBA, gl.UNSIGNED_BYTE, source);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
      const texels = Math.ceil((3 * picture.width * picture.height) / 4);
      gl.bindFramebuffer(gl.FRAMEBUFFER, target);
      gl.useProgram(program);
      gl.viewport(0, 0, Math.min(texels, ROW), Math.ceil(texels / ROW));
      gl.drawArrays(gl.TRIANGLES, 0, 3);
      gl.bindTexture(gl.TEXTURE_2D, null);
    },
    dispose() {
      for (const program of programs.values()) gl.deleteProgram(program);
      gl.deleteTexture(texture ?? null);
    },
  };
}
