// The launch that is timed to distinguish a GPU from a CPU on WebGPU: vectors read from a buffer, a million for each unit.
import { BufferUsage } from '../gpu_flags.js';
import { untilDone } from './webgpu_device.js';

const GROUPS = 128; // of 64 invocations, for each unit
const READS = 2 ** 20 / (64 * GROUPS);
const MOST = 32; // units

const code = `
@group(0) @binding(0) var<storage, read> source: array<vec4f, 4096>;
@group(0) @binding(1) var<storage, read_write> result: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) at: vec3u) {
  var sum = vec4f(0.0);
  for (var i = 0u; i < ${READS}u; i++) { sum = sum * 0.5 + source[(at.x + 65u * i) & 4095u]; }
  result[at.x] = sum.x + sum.y + sum.z + sum.w;
}`;

/**
 * @param {GPUAdapter} adapter has no other device afterwards
 * @returns {Promise<import('../device/require_hardware.js').Trial>}
 */
export async function prepareTrial(adapter) {
  const device = await adapter.requestDevice();
  const { queue } = device;
  const module = device.createShaderModule({ code });
  const compute = { module, entryPoint: 'main' };
  const pipeline = await device.createComputePipelineAsync({ layout: 'auto', compute }).catch((error) => {
    device.destroy();
    throw error;
  });
  const buffers = [4096 * 16, MOST * GROUPS * 64 * 4].map((size) =>
    device.createBuffer({ size, usage: BufferUsage.STORAGE }),
  );
  const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
  const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  return {
    launch(units) {
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(GROUPS * units);
      pass.end();
      queue.submit([encoder.finish()]);
      return untilDone(queue, queue.onSubmittedWorkDone());
    },
    dispose() {
      for (const buffer of buffers) buffer.destroy();
      device.destroy();
    },
  };
}
