// Whether what the caller hands to `run` fits the model; every message says what was expected.

import { BufferUsage, TextureUsage } from '../gpu_flags.js';
import { arraysOf, checkNames, kindOf } from './check_names.js';
import { elementOf, lengthOf } from './dtypes.js';
import { extentsOf, shapeOf, shownShape } from './sizes.js';

/** @typedef {import('../model.js').TypedArray} TypedArray */
/** @typedef {import('./sizes.js').Spec} Spec */
/** @typedef {{ backend: string, worker: boolean }} Where */
/**
 * @typedef {{ height: number, width: number, planar: boolean, stride?: number }} Picture `stride`: words of pixels, so many of
 *   them in a row of memory; without it elements of colours, channel by channel or not
 */

const onDevice = ['GPUBuffer', 'GPUTexture', 'ImageBitmap'];

/** @param {Spec} spec */
const describe = ({ dtype, shape }) => {
  const fixed = extentsOf(shape).every((extent, axis) => extent === shape[axis]);
  const length = fixed ? ` of length ${lengthOf(extentsOf(shape))}` : '';
  return `${arraysOf(dtype)}${length} (${dtype}, shape [${shownShape(shape).join(', ')}])`;
};

/**
 * Height and width of the picture that an input takes: words of pixels, or float32, [1, 3, height, width] or [1, height,
 * width, 3].
 * @param {Pick<Spec, 'dtype' | 'picture'>} spec
 * @param {readonly number[]} shape
 * @returns {Picture | undefined}
 */
export function pictureOf({ dtype, picture }, [n, a = 0, b = 0, c = 0, ...more]) {
  if (picture !== undefined) return { height: Number(n), width: a, planar: false, stride: picture };
  if (dtype !== 'float32' || n !== 1 || more.length) return undefined;
  if (a === 3) return { height: b, width: c, planar: true };
  return c === 3 ? { height: a, width: b, planar: false } : undefined;
}

/**
 * Whether an input that is no array can be used; if not, why.
 * @param {Spec} spec
 * @param {readonly number[]} shape
 * @param {string} kind
 * @param {any} value
 * @param {Where} where
 */
function refuse(spec, shape, kind, value, { backend, worker }) {
  const needs = kind === 'ImageBitmap' ? ['webgpu', 'webgl'] : ['webgpu'];
  const one = `${kind === 'ImageBitmap' ? 'an' : 'a'} ${kind}`;
  if (!needs.includes(backend)) return `${one} needs the backend ${needs.join(' or ')}, this model runs on ${backend}`;
  if (worker && kind !== 'ImageBitmap') return `a ${kind} cannot go to the worker: load with { worker: false }`;
  if (kind === 'GPUBuffer') {
    const bytes = 4 * lengthOf(shape);
    if (value.size < bytes || !(value.usage & BufferUsage.COPY_SRC))
      return `a GPUBuffer must have ${bytes} bytes (32 bits an element) and the usage COPY_SRC`;
    return undefined;
  }
  const picture = pictureOf(spec, shape);
  if (!picture) return `${one} fills a float32 input of shape [1, 3, height, width] or [1, height, width, 3] only`;
  if (value.width !== picture.width || value.height !== picture.height)
    return `expected ${one} of ${picture.width} x ${picture.height} pixels, got ${value.width} x ${value.height}`;
  if (kind === 'GPUTexture' && !(value.usage & TextureUsage.TEXTURE_BINDING))
    return 'a GPUTexture must have the usage TEXTURE_BINDING';
  return undefined;
}

/**
 * The shape that a caller passes with an input: in { data, shape }, as outputs have it, or by the size of a picture.
 * @param {Spec} spec
 * @param {string} kind
 * @param {any} value
 * @param {unknown} shape
 * @returns {readonly number[] | undefined}
 */
function givenShape({ name, shape: sizes, picture }, kind, value, shape) {
  if (shape === undefined && /^(GPUTexture|ImageBitmap)$/.test(kind) && (picture || sizes.length === 4)) {
    const { width, height } = value;
    if (picture) return [height, width];
    return sizes[1] === 3 ? [1, 3, height, width] : [1, height, width, 3];
  }
  if (shape === undefined) return undefined;
  if (Array.isArray(shape) && shape.every((n) => Number.isInteger(n) && n >= 0)) return shape;
  throw new TypeError(`input ${JSON.stringify(name)}: its shape is no array of whole numbers`);
}

/**
 * The inputs in the order of the model's, and the scalars that follow from their sizes.
 * @param {readonly Spec[]} specs
 * @param {any} inputs
 * @param {Where} where
 * @param {readonly import('./sizes.js').Dimension[]} [dimensions] that inputs decide
 * @param {typeof import('./bind_sizes.js').sizes} [sizes] what finds them
 * @param {readonly (number | undefined)[]} [lengths] of dimensions, those that runs before have left
 * @returns {{ values: (TypedArray | import('../model.js').OnDevice)[], scalars: number[] }}
 * @throws {TypeError} a missing or unknown name, another kind of array, a size that nothing says
 * @throws {RangeError} another length
 */
export function checkInputs(specs, inputs, where, dimensions = [], sizes, lengths) {
  const list = specs.map((spec) => `${JSON.stringify(spec.name)}: ${describe(spec)}`).join('; ') || 'none';
  const kind = kindOf(inputs);
  if (kind !== 'an object')
    throw new TypeError(`run expects one object with an array for each input name, got ${kind}; inputs: ${list}`);
  const names = specs.map((spec) => spec.name);
  for (const name of Object.keys(inputs)) {
    if (!names.includes(name)) throw new TypeError(`the model has no input ${JSON.stringify(name)}; inputs: ${list}`);
  }
  const arrays = specs.map((spec) => {
    const name = JSON.stringify(spec.name);
    if (!Object.hasOwn(inputs, spec.name)) throw new TypeError(`input ${name} is missing; expected ${describe(spec)}`);
    const one = inputs[spec.name];
    let value = one;
    if (kindOf(one) === 'an object' && 'data' in one) {
      checkNames(`input ${name}`, one, ['data', 'shape'], 'property');
      value = one.data;
    }
    let kind = kindOf(value);
    try {
      value?.keys?.(); // an array whose buffer was transferred throws; its length would be 0
    } catch {
      kind = 'a detached array';
    }
    const array = elementOf(spec.dtype).arrays.includes(kind);
    if (!array && !onDevice.includes(kind))
      throw new TypeError(`input ${name}: expected ${describe(spec)}, got ${kind}`);
    return { value, kind, array, shape: givenShape(spec, kind, value, one.shape) };
  });
  const described = arrays.map(({ value, array, shape }) => ({
    shape,
    ...(array && { length: value.length, element: value[0] }),
  }));
  const scalars = (dimensions.length && sizes?.bind(dimensions, specs, described, lengths)) || [];
  const values = arrays.map(({ value, kind, array, shape: own }, i) => {
    const spec = /** @type {Spec} */ (specs[i]);
    const name = JSON.stringify(spec.name);
    const shape = shapeOf(spec.shape, scalars);
    if (!array) {
      const reason = refuse(spec, shape, kind, value, where);
      if (reason) throw new TypeError(`input ${name}: ${reason}`);
      return value;
    }
    const here = shape.join() === shownShape(spec.shape).join() ? '' : `, here [${shape.join(', ')}]`;
    if (own && own.join() !== shape.join())
      throw new RangeError(`input ${name}: expected ${describe(spec)}${here}, got shape [${own.join(', ')}]`);
    if (value.length !== lengthOf(shape))
      throw new RangeError(`input ${name}: expected ${describe(spec)}${here}, got length ${value.length}`);
    return value;
  });
  return { values, scalars };
}
