// Whether what the caller hands to `run` fits the model; every message says what was expected.

import { BufferUsage, TextureUsage } from '../gpu_flags.js';
import { elementOf, lengthOf, tagOf } from './dtypes.js';

/** @typedef {import('../model.js').TypedArray} TypedArray */
/** @typedef {import('../model.js').TensorInfo} TensorInfo */
/** @typedef {{ backend: string, worker: boolean }} Where */
/** @typedef {{ height: number, width: number, planar: boolean }} Picture */

const onDevice = ['GPUBuffer', 'GPUTexture', 'ImageBitmap'];

/** @param {TensorInfo} spec */
const describe = ({ dtype, shape }) => {
  const arrays = elementOf(dtype).arrays.filter((array) => array in globalThis);
  return `a ${arrays.join(' or ')} of length ${lengthOf(shape)} (${dtype}, shape [${shape.join(', ')}])`;
};

/** @param {unknown} value */
const kindOf = (value) => {
  if (value === null) return 'null';
  if (typeof value !== 'object') return typeof value;
  return Array.isArray(value) ? 'a plain array' : tagOf(value) === 'Object' ? 'an object' : tagOf(value);
};

/**
 * Height and width of the picture that an input takes: float32, [1, 3, height, width] or [1, height, width, 3].
 * @param {TensorInfo} spec
 * @returns {Picture | undefined}
 */
export function pictureOf({ dtype, shape: [n, a = 0, b = 0, c = 0, ...more] }) {
  if (dtype !== 'float32' || n !== 1 || more.length) return undefined;
  if (a === 3) return { height: b, width: c, planar: true };
  return c === 3 ? { height: a, width: b, planar: false } : undefined;
}

/**
 * Whether an input that is no array can be used; if not, why.
 * @param {TensorInfo} spec
 * @param {string} kind
 * @param {any} value
 * @param {Where} where
 */
function refuse(spec, kind, value, { backend, worker }) {
  const needs = kind === 'ImageBitmap' ? ['webgpu', 'webgl'] : ['webgpu'];
  const one = `${kind === 'ImageBitmap' ? 'an' : 'a'} ${kind}`;
  if (!needs.includes(backend)) return `${one} needs the backend ${needs.join(' or ')}, this model runs on ${backend}`;
  if (worker && kind !== 'ImageBitmap') return `a ${kind} cannot go to the worker: load with { worker: false }`;
  if (kind === 'GPUBuffer') {
    const bytes = 4 * lengthOf(spec.shape);
    if (value.size < bytes || !(value.usage & BufferUsage.COPY_SRC))
      return `a GPUBuffer must have ${bytes} bytes (32 bits an element) and the usage COPY_SRC`;
    return undefined;
  }
  const picture = pictureOf(spec);
  if (!picture) return `${one} fills a float32 input of shape [1, 3, height, width] or [1, height, width, 3] only`;
  if (value.width !== picture.width || value.height !== picture.height)
    return `expected ${one} of ${picture.width} x ${picture.height} pixels, got ${value.width} x ${value.height}`;
  if (kind === 'GPUTexture' && !(value.usage & TextureUsage.TEXTURE_BINDING))
    return 'a GPUTexture must have the usage TEXTURE_BINDING';
  return undefined;
}

/**
 * The inputs in the order of the model's.
 * @param {readonly TensorInfo[]} specs
 * @param {unknown} inputs
 * @param {Where} where
 * @returns {(TypedArray | import('../model.js').OnDevice)[]}
 * @throws {TypeError} a missing or unknown name, another kind of array
 * @throws {RangeError} another length
 */
export function checkInputs(specs, inputs, where) {
  const list = specs.map((spec) => `${JSON.stringify(spec.name)}: ${describe(spec)}`).join('; ') || 'none';
  if (typeof inputs !== 'object' || inputs === null || ArrayBuffer.isView(inputs)) {
    throw new TypeError(
      `run expects one object with an array for each input name, got ${kindOf(inputs)}; inputs: ${list}`,
    );
  }
  const known = new Set(specs.map((spec) => spec.name));
  for (const name of Object.keys(inputs)) {
    if (!known.has(name)) throw new TypeError(`the model has no input ${JSON.stringify(name)}; inputs: ${list}`);
  }
  return specs.map((spec) => {
    const name = JSON.stringify(spec.name);
    if (!Object.hasOwn(inputs, spec.name)) throw new TypeError(`input ${name} is missing; expected ${describe(spec)}`);
    const value = /** @type {Record<string, any>} */ (inputs)[spec.name];
    const kind = kindOf(value);
    if (onDevice.includes(kind)) {
      const reason = refuse(spec, kind, value, where);
      if (reason) throw new TypeError(`input ${name}: ${reason}`);
      return value;
    }
    if (!value || !elementOf(spec.dtype).arrays.includes(kind)) {
      throw new TypeError(`input ${name}: expected ${describe(spec)}, got ${kind}`);
    }
    if (value.length !== lengthOf(spec.shape)) {
      throw new RangeError(`input ${name}: expected ${describe(spec)}, got length ${value.length}`);
    }
    return value;
  });
}
