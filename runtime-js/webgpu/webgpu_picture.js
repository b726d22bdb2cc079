// An image or a texture becomes an input on WebGPU: red, green and blue from 0 to 1.
import { TextureUsage } from '../gpu_flags.js';

/** @param {import('../values/check_inputs.js').Picture} picture */
const shader = ({ width, height, planar }) => `
@group(0) @binding(0) var image: texture_2d<f32>;
@group(0) @binding(1) var<storage, read_write> result: array<f32>;
@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) at: vec3u) {
  if (at.x < ${width}u && at.y < ${height}u) {
    let colour = textureLoad(image, at.xy, 0);
    let pixel = at.y * ${width}u + at.x;
    for (var c = 0u; c < 3u; c++) { result[${planar ? `c * ${width * height}u + pixel` : 'pixel * 3u + c'}] = colour[c]; }
  }
}`;

/** @param {GPUDevice} device */
export function createPainter(device) {
  /** @type {Map<string, GPUComputePipeline>} */
  const pipelines = new Map();
  /** @type {Map<string, GPUTexture>} where images are put, by size */
  const textures = new Map();

  /** @param {import('../values/check_inputs.js').Picture} picture */
  const pipelineFor = (picture) => {
    const key = JSON.stringify(picture);
    let pipeline = pipelines.get(key);
    if (!pipeline) {
      const module = device.createShaderModule({ code: shader(picture) });
      pipeline = device.createComputePipeline({ layout: 'auto', compute: { module, entryPoint: 'main' } });
      pipelines.set(key, pipeline);
    }
    return pipeline;
  };

  /**
   * @param {ImageBitmap} source
   * @returns {GPUTexture}
   */
  const upload = (source) => {
    const size = [source.width, source.height];
    const key = size.join();
    let texture = textures.get(key);
    if (!texture) {
      const { COPY_DST, RENDER_ATTACHMENT, TEXTURE_BINDING } = TextureUsage;
      const usage = COPY_DST | RENDER_ATTACHMENT | TEXTURE_BINDING; // what copyExternalImageToTexture requires
      texture = device.createTexture({ size, format: 'rgba8unorm', usage });
      textures.set(key, texture);
    }
    device.queue.copyExternalImageToTexture({ source }, { texture }, size);
    return texture;
  };

  return {
    /**
     * @param {ImageBitmap | GPUTexture} source
     * @param {GPUBuffer} target
     * @param {import('../values/check_inputs.js').Picture} picture
     */
    draw(source, target, picture) {
      const pipeline = pipelineFor(picture);
      const texture = 'createView' in source ? source : upload(source);
      const group = device.createBindGroup({
        layout: pipeline.getBindGroupLayout(0),
        entries: [
          { binding: 0, resource: texture.createView() },
          { binding: 1, resource: { buffer: target } },
        ],
      });
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(Math.ceil(picture.width / 8), Math.ceil(picture.height / 8));
      pass.end();
      device.queue.submit([encoder.finish()]);
    },
    dispose() {
      for (const texture of textures.values()) texture.destroy();
    },
  };
}
