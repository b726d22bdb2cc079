// The scalars of launches in a uniform buffer, each set of values once, in a slot of its own.
import { BufferUsage, COMPUTE } from '../gpu_flags.js';
import { createBuffer } from './webgpu_state.js';

/**
 * @typedef {object} Uniforms
 * @property {GPUBindGroupLayout} layout
 * @property {GPUBindGroup} group
 * @property {(scalars: readonly number[]) => number | undefined} place where these scalars are, in bytes; undefined where
 *   there is no room: carry out what reads those that are there, then `clear`
 * @property {() => void} clear
 * @property {number} [sent] bytes ever, of decoders
 */

const SLOT = 256; // bytes, which every device takes as an offset: up to 64 scalars
const SLOTS = 64;

/**
 * The uniforms of a device.
 * @param {import('./webgpu_state.js').State} state
 * @returns {Uniforms}
 */
export function createUniforms(state) {
  const { device } = state;
  const entry = { binding: 0, visibility: COMPUTE, buffer: { type: 'uniform', hasDynamicOffset: true } };
  const layout = device.createBindGroupLayout({ entries: [/** @type {GPUBindGroupLayoutEntry} */ (entry)] });
  const buffer = createBuffer(state, SLOT * SLOTS, BufferUsage.UNIFORM | BufferUsage.COPY_DST);
  const group = device.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer, size: SLOT } }] });
  /** @type {Map<string, number>} by their values */
  const slots = new Map();
  /** @type {Uniforms} */
  const uniforms = {
    layout,
    group,
    place(scalars) {
      const key = scalars.join();
      const slot = slots.get(key);
      if (slot !== undefined || slots.size === SLOTS) return slot;
      const offset = slots.size * SLOT;
      slots.set(key, offset);
      device.queue.writeBuffer(buffer, offset, Int32Array.from(scalars));
      // <generate>
      uniforms.sent = (uniforms.sent ?? 0) + 4 * scalars.length;
      // </generate>
      return offset;
    },
    clear: () => slots.clear(),
  };
  return uniforms;
}
