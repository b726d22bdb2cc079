// An image or a texture becomes an input on WebGPU: red, green and blue from 0 to 1, or words of pixels.
import { TextureUsage } from '../gpu_flags.js';

/** @param {import('../values/check_inputs.js').Picture} picture */
const shader = ({ width, height, planar, stride }) => `
@group(0) @binding(0) var image: texture_2d<f32>;
@group(0) @binding(1) var<storage, read_write> result: array<${stride ? 'u32' : 'f32'}>;
@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) at: vec3u) {
  let size = ${stride ? 'textureDimensions(image)' : `vec2u(${width}, ${height})`};
  if (at.x < size.x && at.y < size.y) {
    let colour = textureLoad(image, at.xy, 0);
    let pixel = at.y * ${stride ?? width}u + at.x;
    ${
      stride
        ? 'result[pixel] = pack4x8unorm(vec4(colour.rgb + 1 - colour.a, 1)); // over white'
        : `for (var c = 0u; c < 3u; c++) { result[${planar ? `c * ${width * height}u + pixel` : 'pixel * 3u + c'}] = colour[c]; }`
    }
  }
}`;

/** @param {GPUDevice} device */
export function createPainter(device) {
  /** @type {Map<string, GPUComputePipeline>} */
  const pipelines = new Map();
  /** @type {Map<string, GPUTexture>} where images are put, by size; one for pictures of any size */
  const textures = new Map();

  /** @param {import('../values/check_inputs.js').Picture} picture */
  const pipelineFor = (picture) => {
    // Pictures of pixels have one shader for all sizes.
    const key = String(picture.stride ?? JSON.stringify(picture));
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
   * @param {boolean} words
   * @returns {GPUTexture}
   */
  const upload = (source, words) => {
    const { width, height } = source;
    const size = [width, height];
    const key = words ? 'words' : size.join();
    let texture = textures.get(key);
    if (texture?.width !== width || texture.height !== height) {
      texture?.destroy();
      const { COPY_DST, RENDER_ATTACHMENT, TEXTURE_BINDING } = TextureUsage;
      const usage = COPY_DST | RENDER_ATTACHMENT | TEXTURE_BINDING; // what copyExternalImageToTexture requires
      texture = device.createTexture({ size, format: 'rgba8unorm', usage });
      textures.set(key, texture);
    }
    device.queue.copyExternalImageToTexture({ source }, { texture, premultipliedAlpha: words }, size);
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
      const texture = 'createView' in source ? source : upload(source, picture.stride !== undefined);
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
