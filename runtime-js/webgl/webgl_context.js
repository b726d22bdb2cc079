// The one WebGL 2 context of this page or worker, which all models share: browsers keep few, and kill the oldest.
import { DeviceLostError, UnsupportedError } from '../errors.js';
import { createContext, lose } from './webgl_adapter.js';

/**
 * @typedef {object} Context
 * @property {WebGL2RenderingContext} gl
 * @property {string} adapter
 * @property {number} layers that one draw can write, of a float32 texture array
 * @property {() => void} release
 */

/** @type {{ gl: WebGL2RenderingContext, users: number, layers: number, adapter: string } | undefined} */
let shared;

/**
 * @returns {Context}
 * @throws {UnsupportedError}
 */
export function acquireContext() {
  if (!shared || shared.gl.isContextLost()) {
    const { gl, adapter } = createContext();
    try {
      shared = { gl, users: 0, layers: probe(gl), adapter };
    } catch (error) {
      lose(gl);
      throw error;
    }
  }
  const mine = shared;
  const { gl, layers, adapter } = mine;
  mine.users++;
  const release = () => {
    if (--mine.users) return;
    lose(gl);
    if (shared === mine) shared = undefined;
  };
  return { gl, layers, adapter, release };
}

const values = [16777215, 2 ** -40, -1]; // need 24 bits, a wide exponent, a sign

/**
 * How many layers of a float32 texture array one draw can write, found by drawing and reading back.
 * @param {WebGL2RenderingContext} gl
 */
function probe(gl) {
  const format = gl.getShaderPrecisionFormat(gl.FRAGMENT_SHADER, gl.HIGH_FLOAT);
  if (!format || format.precision < 23)
    throw new UnsupportedError('backend', 'WebGL 2 has less than 32 bits in shaders here');
  const most = Math.min(8, gl.getParameter(gl.MAX_DRAW_BUFFERS), gl.getParameter(gl.MAX_COLOR_ATTACHMENTS));
  for (let layers = most; layers >= 1; layers >>= 1) if (draws(gl, layers)) return layers;
  if (gl.isContextLost()) throw new DeviceLostError('lost', 'the WebGL context was lost');
  throw new UnsupportedError('backend', 'WebGL 2 draws wrong values into float32 textures here');
}

/**
 * @param {WebGL2RenderingContext} gl
 * @param {number} layers
 */
function draws(gl, layers) {
  const each = Array.from({ length: layers }, (_, i) => i);
  const program = linkProgram(
    gl,
    `#version 300 es
precision highp float;
${each.map((i) => `layout(location = ${i}) out vec4 o${i};`).join('\n')}
void main() {
${each.map((i) => `  o${i} = vec4(16777215.0, 1.0 / 1099511627776.0, -1.0, ${i}.0);`).join('\n')}
}`,
  );
  const texture = createTexture(gl, 'float32', [1, 1, layers]);
  const framebuffer = createFramebuffer(gl, texture, 0, layers);
  gl.useProgram(program);
  gl.viewport(0, 0, 1, 1);
  gl.drawArrays(gl.TRIANGLES, 0, 3);
  const read = new Float32Array(4);
  const right = each.every((i) => {
    gl.readBuffer(gl.COLOR_ATTACHMENT0 + i);
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.FLOAT, read);
    return [...values, i].every((value, k) => read[k] === value);
  });
  gl.deleteFramebuffer(framebuffer);
  gl.deleteTexture(texture);
  gl.deleteProgram(program);
  gl.getError();
  return right;
}

/** One triangle that covers everything. */
const vertexShader = `#version 300 es
void main() {
  gl_Position = vec4(float(gl_VertexID & 1) * 4.0 - 1.0, float(gl_VertexID >> 1) * 4.0 - 1.0, 0.0, 1.0);
}`;

/**
 * A program that may still be compiling.
 * @param {WebGL2RenderingContext} gl
 * @param {string} source of the fragment shader
 */
export function linkProgram(gl, source) {
  const program = gl.createProgram();
  for (const [type, text] of /** @type {const} */ ([
    [gl.VERTEX_SHADER, vertexShader],
    [gl.FRAGMENT_SHADER, source],
  ])) {
    const shader = /** @type {WebGLShader} */ (gl.createShader(type));
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
    gl.deleteShader(shader); // when the program goes
  }
  gl.linkProgram(program);
  return program;
}

/**
 * The compiler's log.
 * @param {WebGL2RenderingContext} gl
 * @param {WebGLProgram} program
 */
export const linkLog = (gl, program) =>
  [
    gl.getProgramInfoLog(program),
    ...(gl.getAttachedShaders(program) ?? []).map((shader) => gl.getShaderInfoLog(shader)),
  ]
    .filter(Boolean)
    .join('; ');

/** @type {Record<string, (gl: WebGL2RenderingContext) => readonly [number, number, number]>} internal format, format, type */
const formats = {
  float32: (gl) => [gl.RGBA32F, gl.RGBA, gl.FLOAT],
  int32: (gl) => [gl.RGBA32I, gl.RGBA_INTEGER, gl.INT],
  uint32: (gl) => [gl.RGBA32UI, gl.RGBA_INTEGER, gl.UNSIGNED_INT],
  int16: (gl) => [gl.RGBA16I, gl.RGBA_INTEGER, gl.SHORT],
  uint16: (gl) => [gl.RGBA16UI, gl.RGBA_INTEGER, gl.UNSIGNED_SHORT],
  int8: (gl) => [gl.RGBA8I, gl.RGBA_INTEGER, gl.BYTE],
  uint8: (gl) => [gl.RGBA8UI, gl.RGBA_INTEGER, gl.UNSIGNED_BYTE],
};

/**
 * @param {WebGL2RenderingContext} gl
 * @param {string} dtype
 */
export const formatOf = (gl, dtype) => /** @type {NonNullable<typeof formats[string]>} */ (formats[dtype])(gl);

/**
 * A texture array of zeros.
 * @param {WebGL2RenderingContext} gl
 * @param {string} dtype
 * @param {readonly [number, number, number]} size
 */
export function createTexture(gl, dtype, size) {
  const texture = gl.createTexture();
  gl.activeTexture(gl.TEXTURE0);
  gl.bindTexture(gl.TEXTURE_2D_ARRAY, texture);
  gl.texStorage3D(gl.TEXTURE_2D_ARRAY, 1, formatOf(gl, dtype)[0], ...size);
  gl.texParameteri(gl.TEXTURE_2D_ARRAY, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
  gl.texParameteri(gl.TEXTURE_2D_ARRAY, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  gl.bindTexture(gl.TEXTURE_2D_ARRAY, null);
  return texture;
}

/**
 * Layers of a texture array to draw into or to read from; it stays bound.
 * @param {WebGL2RenderingContext} gl
 * @param {WebGLTexture} texture
 * @param {number} first
 * @param {number} count
 */
export function createFramebuffer(gl, texture, first, count) {
  const framebuffer = gl.createFramebuffer();
  gl.bindFramebuffer(gl.FRAMEBUFFER, framebuffer);
  const attachments = Array.from({ length: count }, (_, i) => gl.COLOR_ATTACHMENT0 + i);
  attachments.forEach((attachment, i) => {
    gl.framebufferTextureLayer(gl.FRAMEBUFFER, attachment, texture, 0, first + i);
  });
  gl.drawBuffers(attachments);
  return framebuffer;
}
