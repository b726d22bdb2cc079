// An image becomes an input on WebGL: red, green and blue from 0 to 1, or words of pixels.
import { linkProgram } from './webgl_context.js';
import { ROW } from './webgl_transfer.js';

/** @param {import('../values/check_inputs.js').Picture} picture */
const shader = ({ width, height, planar, stride }) => `#version 300 es
precision highp float;
precision highp int;
uniform highp sampler2D image;
${stride ? words(stride) : colours({ width, height, planar })}
void main() {
  int e = 4 * (int(gl_FragCoord.y) * ${ROW} + int(gl_FragCoord.x));
  result = ${stride ? 'ivec4' : 'vec4'}(element(e), element(e + 1), element(e + 2), element(e + 3));
}`;

/** @param {number} stride of a picture with premultiplied alpha */
const words = (stride) => `out ivec4 result;
int element(int e) {
  ivec2 at = ivec2(e % ${stride}, e / ${stride});
  if (any(greaterThanEqual(at, textureSize(image, 0)))) return 0;
  vec4 colour = texelFetch(image, at, 0);
  uvec3 c = uvec3((colour.rgb + 1.0 - colour.a) * 255.0 + 0.5); // over white
  return int(c.r | c.g << 8 | c.b << 16 | 0xff000000u);
}`;

/** @param {import('../values/check_inputs.js').Picture} picture */
const colours = ({ width, height, planar }) => `out vec4 result;
float element(int e) {
  int c = ${planar ? `e / ${width * height}` : 'e % 3'};
  int pixel = ${planar ? `e % ${width * height}` : 'e / 3'};
  return c < 3 ? texelFetch(image, ivec2(pixel % ${width}, min(pixel / ${width}, ${height - 1})), 0)[c] : 0.0;
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
      // Pictures of pixels have one shader for all sizes.
      const key = String(picture.stride ?? JSON.stringify(picture));
      const program = programs.get(key) ?? linkProgram(gl, shader(picture));
      programs.set(key, program);
      texture ??= gl.createTexture();
      gl.activeTexture(gl.TEXTURE0);
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, false);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, gl.RGBA, gl.UNSIGNED_BYTE, source);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
      const { width, height, stride } = picture;
      const texels = Math.ceil((stride ? stride * height : 3 * width * height) / 4);
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
