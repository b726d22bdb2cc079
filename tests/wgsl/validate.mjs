// Reads a list of WGSL modules (JSON) from standard input; prints, for each, what Tint and Dawn say against it, or null.
// Dawn without a driver: the compiler and all checks of WebGPU's default limits, no execution.
import { create, globals } from 'webgpu';
import { readFileSync } from 'node:fs';

Object.assign(globalThis, globals);
globalThis.gpu = create(['backend=null']); // held: collected while its device lives, it takes the process along
const adapter = await gpu.requestAdapter();
const device = await adapter.requestDevice({ requiredFeatures: ['shader-f16', 'subgroups'] });
const answers = [];
for (const code of JSON.parse(readFileSync(0, 'utf8'))) {
  device.pushErrorScope('validation');
  const module = device.createShaderModule({ code });
  device.createComputePipeline({ layout: 'auto', compute: { module, entryPoint: 'main' } });
  const error = await device.popErrorScope();
  answers.push(error && error.message);
}
console.log(JSON.stringify(answers));
device.destroy();
