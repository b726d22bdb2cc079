// Outputs that a run leaves on a GPU are searched there for elements that are not finite, by launches behind its own, which nothing
// waits for.
import { judge } from './non_finite.js';

/** @typedef {import('./non_finite.js').Watch} Watch */
/** @typedef {import('./repeat_run.js').Turn} Turn */

const SIZE = 64; // invocations of a workgroup
const MOST = 256; // workgroups

// WebGPU's flags, as in gpu_flags.js, which lies in the script of a backend that other backends do not load.
const FOUND = 0x80 | 4; // STORAGE and COPY_SRC
const STAGING = 8 | 1; // COPY_DST and MAP_READ
const READ = 1;

// Found by their bits: compilers may take it that there are none.
const code = `
@group(0) @binding(0) var<storage, read> words: array<u32>;
@group(0) @binding(1) var<storage, read_write> found: atomic<u32>;
@compute @workgroup_size(${SIZE})
fn main(@builtin(global_invocation_id) at: vec3u, @builtin(num_workgroups) groups: vec3u) {
  var any = false;
  for (var i = at.x; i < arrayLength(&words); i += ${SIZE}u * groups.x) {
    any = any || (words[i] & 0x7f800000u) == 0x7f800000u;
  }
  if (any) { atomicStore(&found, 1u); }
}`;

/** @type {WeakMap<GPUDevice, Promise<GPUComputePipeline>>} */
const pipelines = new WeakMap();

/**
 * Searches the outputs of a run before the caller has them, who may write to them or destroy them. Where elements are found that
 * wasm has numbers for, there is a warning, and the next run rejects.
 * @param {Watch} watch
 * @param {Turn} turn
 * @param {readonly any[]} results
 * @param {Turn['data'] | undefined} held copies of the inputs, where they were made
 */
export async function search(watch, turn, results, held) {
  const { outputs } = watch.manifest;
  const device = watch.use().device?.();
  const floats = outputs.flatMap((spec, i) =>
    /^float/.test(spec.dtype) ? [{ spec, buffer: /** @type {GPUBuffer} */ (results[i]) }] : [],
  );
  if (!device || !floats.length) return;
  const pipeline = await pipelineOf(device).catch(() => {}); // of a device that is lost
  if (!pipeline) return;
  const finding = floats.map(({ buffer }) => find(device, pipeline, buffer));
  Promise.all(finding)
    .then(async (found) => {
      const first = floats[found.indexOf(true)];
      if (first && watch.on) await judge(watch, turn, undefined, held, first.spec);
    })
    .catch((error) => {
      if (watch.life.aborted) return;
      console.warn(error.message);
      const { hold } = watch;
      watch.hold = () => {
        watch.hold = hold;
        throw error;
      };
    });
}

/** @type {(device: GPUDevice) => Promise<GPUComputePipeline>} */
function pipelineOf(device) {
  const before = pipelines.get(device);
  if (before) return before;
  const compute = { module: device.createShaderModule({ code }), entryPoint: 'main' };
  const made = device.createComputePipelineAsync({ layout: 'auto', compute });
  pipelines.set(device, made);
  return made;
}

/**
 * Whether a buffer has an element that is not finite now; false where the device is lost.
 * @param {GPUDevice} device
 * @param {GPUComputePipeline} pipeline
 * @param {GPUBuffer} buffer
 */
async function find(device, pipeline, buffer) {
  const found = device.createBuffer({ size: 4, usage: FOUND });
  const staging = device.createBuffer({ size: 4, usage: STAGING });
  const entries = [buffer, found].map((buffer, binding) => ({ binding, resource: { buffer } }));
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
  pass.dispatchWorkgroups(Math.min(MOST, Math.ceil(buffer.size / 4 / SIZE)));
  pass.end();
  encoder.copyBufferToBuffer(found, 0, staging, 0, 4);
  device.queue.submit([encoder.finish()]);
  try {
    await staging.mapAsync(READ); // Firefox looks ten times a second
    return new Uint32Array(staging.getMappedRange())[0] === 1;
  } catch {
    return false;
  } finally {
    found.destroy();
    staging.destroy();
  }
}
