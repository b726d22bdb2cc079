// Kernels become WebGPU pipelines, and launches what a pass takes.
import { at, describe, gridOf, storageOf } from '../device/device_program.js';
import { UnsupportedError } from '../errors.js';
import { COMPUTE } from '../gpu_flags.js';
import { launchAll } from './webgpu_launch.js';
import { bufferOf, checkLost, scoped } from './webgpu_state.js';

/** @typedef {import('../device/device_program.js').Launch} Launch */
/** @typedef {import('./webgpu_state.js').State} State */

/**
 * @param {State} state
 * @param {boolean} subgroups whether the device has them
 * @param {() => void} onKernel
 * @param {readonly number[]} [which] by default all
 */
export async function compileKernels(state, subgroups, onKernel, which = [...state.program.kernels.keys()]) {
  const { launches } = state.program;
  await Promise.all(
    which.map(async (i) => {
      state.pipelines[i] = await createPipeline(state, subgroups, i);
      onKernel();
      warmUp(state, i);
    }),
  );
  state.prepared = launches.map((launch) => prepareLaunch(state, launch));
}

/**
 * @param {State} state
 * @param {boolean} subgroups
 * @param {number} kernel
 */
export async function createPipeline(state, subgroups, kernel) {
  const { device, program } = state;
  const { name, source, subgroups: better, access, scalars } = at(program.kernels, kernel);
  /** @type {GPUShaderModule | undefined} */
  let module;
  const { result, reported } = scoped(state, () => {
    module = device.createShaderModule({ code: complete((subgroups && better) || source), label: name });
    const uniforms = scalars && state.uniforms ? [state.uniforms.layout] : [];
    const layout = device.createPipelineLayout({ bindGroupLayouts: [layoutOf(state, access), ...uniforms] });
    return device.createComputePipelineAsync({ label: name, layout, compute: { module, entryPoint: 'main' } });
  });
  /** @type {Error | undefined} */
  let thrown;
  const pipeline = await result.catch((error) => {
    thrown = error;
  });
  const message = (await reported) ?? thrown?.message;
  checkLost(state);
  if (message === undefined && pipeline) return pipeline;
  const notes = (await module?.getCompilationInfo())?.messages ?? [];
  const why = notes.map((note) => `line ${note.lineNum}: ${note.message}`).join('; ') || message;
  throw new UnsupportedError('compile', `WebGPU refuses ${describe(program, kernel)}: ${why}`);
}

/**
 * A shader with products of four bytes where the language lacks them.
 * @param {string} code
 */
const complete = (code) =>
  !code.includes('dot4I8Packed') || navigator.gpu.wgslLanguageFeatures?.has('packed_4x8_integer_dot_product')
    ? code
    : `${code}fn dot4I8Packed(a: u32, b: u32) -> i32 {
  let s = vec4u(24u, 16u, 8u, 0u);
  let p = (bitcast<vec4i>(vec4u(a) << s) >> vec4u(24u)) * (bitcast<vec4i>(vec4u(b) << s) >> vec4u(24u));
  return p.x + p.y + p.z + p.w;
}`;

/**
 * @param {State} state
 * @param {string} access
 */
function layoutOf({ device, layouts }, access) {
  let layout = layouts.get(access);
  if (!layout) {
    layout = device.createBindGroupLayout({
      entries: [...access].map((letter, binding) => ({
        binding,
        visibility: COMPUTE,
        buffer: { type: letter === 'w' ? 'storage' : 'read-only-storage' },
      })),
    });
    layouts.set(access, layout);
  }
  return layout;
}

/**
 * @param {State} state
 * @param {Launch} launch
 * @param {(value: number, argument: number) => GPUBuffer} [find]
 * @returns {import('./webgpu_state.js').Prepared}
 */
export function prepareLaunch(state, launch, find = (value) => bufferOf(state, value)) {
  const kernel = at(state.program.kernels, launch.kernel);
  const { access } = kernel;
  const group = state.device.createBindGroup({
    layout: layoutOf(state, access),
    entries: launch.arguments.map((value, binding) => ({ binding, resource: { buffer: find(value, binding) } })),
  });
  const grid = kernel.scalars ? {} : { grid: gridOf(kernel) };
  return { pipeline: at(state.pipelines, launch.kernel), group, ...grid, launch };
}

/**
 * Some drivers translate a shader when it is first dispatched: so one workgroup is, while weights and other pipelines
 * are on their way. What it writes, a run writes again before it reads it.
 * @param {State} state
 * @param {number} kernel
 */
function warmUp(state, kernel) {
  const launch = state.program.launches.find((launch) => launch.kernel === kernel);
  if (!launch) return;
  // <states>
  if (launch.arguments.some((value) => storageOf(state.program, value).state)) return; // a run may read it before
  // </states>
  scoped(state, () => {
    const one = { ...prepareLaunch(state, launch), grid: /** @type {[number, number, number]} */ ([1, 1, 1]) };
    const scalars = Array.from({ length: at(state.program.kernels, kernel).scalars ?? 0 }, () => 0);
    launchAll(state, [one], [{ number: 0, scalars }]);
  });
}
