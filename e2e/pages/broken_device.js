// A test double of broken GPUs: it breaks the API of WebGPU and WebGL 2 by a rule, as drivers and hardware do. A page calls
// `breakDevice` before it loads a bundle, or `breakWorkers` where GPUs are in workers.
import {
  concerns,
  DISPATCH,
  DRAW,
  isFloat,
  onLaunches,
  SHADERS,
  stores,
  unwrap,
  WATCHED,
  watchKernels,
  watchTextures,
  wrap,
} from './wrap_gpus.js';

/**
 * @typedef {object} Rule
 * @property {readonly string[]} wraps calls of the API, as Type.method
 * @property {(device: Broken, options: any) => void} apply
 */
/**
 * @typedef {object} Broken
 * @property {number} kernels distinct shaders of models so far
 * @property {number} changed how often something was made otherwise than the caller asked for: 0 where a model gives no cause
 * @property {() => void} mend the API is whole again; what was compiled meanwhile stays as it is
 */

/**
 * Breaks the API of this page or worker from now on.
 * @param {keyof typeof rules} rule
 * @param {object} [options] of the rule; `kernel`: the number of the one that it concerns, in the order in which distinct ones are
 *   compiled, else it is all of them; `others`: those from this number on, too, which are other sources of wrong kernels where it is
 *   the number of a model's own; `api`: 'webgpu' or 'webgl', else both
 * @returns {Broken}
 */
export function breakDevice(rule, options = {}) {
  const broken = {
    kernels: 0,
    changed: 0,
    mend: unwrap,
  };
  rules[rule].apply(broken, options);
  return broken;
}

/**
 * The number of a model's own shaders.
 * @param {(options: any) => Promise<{ dispose(): Promise<void> }>} load
 * @param {string} backend
 */
export async function countKernels(load, backend) {
  const counting = breakDevice('factor', { kernel: -1 });
  const model = await load({ backend, worker: false, canaries: false });
  await model.dispose();
  counting.mend();
  return counting.kernels;
}

/**
 * Workers that start from now on break theirs before they do anything else.
 * @param {keyof typeof rules} rule
 * @param {object} [options]
 */
export function breakWorkers(rule, options = {}) {
  const script = (text) => URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
  const given = `${JSON.stringify(rule)}, ${JSON.stringify(options)}`;
  const first = script(`import { breakDevice } from '${import.meta.url}'; breakDevice(${given});`);
  globalThis.Worker = class extends Worker {
    constructor(url, settings) {
      super(script(`import '${first}'; import '${url}';`), settings);
    }
  };
}

/** The last workgroups, or the last row of texels, are not computed: what was there before stays. */
function withoutTail(broken, { size, go }) {
  broken.changed++;
  const isLong = (n) => n > 1;
  const axis = size.length > 2 ? size.findIndex(isLong) : size.findLastIndex(isLong);
  if (axis >= 0) go(size.map((n, i) => (i === axis ? n - 1 : n)));
}

/** Calls before which launches have to be carried out. */
const ENDS = [
  'GPUComputePassEncoder.end',
  ...['readPixels', 'fenceSync', 'deleteFramebuffer', 'deleteTexture'].map((name) => `WebGL2RenderingContext.${name}`),
];

const GARBAGE = 12345;

/** The format, type and array with which a texture of this internal format is filled. */
function filling(gl, format, length) {
  const arrays = {
    [gl.RGBA32F]: [gl.RGBA, gl.FLOAT, Float32Array],
    [gl.RGBA32I]: [gl.RGBA_INTEGER, gl.INT, Int32Array],
    [gl.RGBA32UI]: [gl.RGBA_INTEGER, gl.UNSIGNED_INT, Uint32Array],
    [gl.RGBA16I]: [gl.RGBA_INTEGER, gl.SHORT, Int16Array],
    [gl.RGBA16UI]: [gl.RGBA_INTEGER, gl.UNSIGNED_SHORT, Uint16Array],
    [gl.RGBA8I]: [gl.RGBA_INTEGER, gl.BYTE, Int8Array],
    [gl.RGBA8UI]: [gl.RGBA_INTEGER, gl.UNSIGNED_BYTE, Uint8Array],
  };
  const [layout, type, Elements] = arrays[format];
  return [layout, type, new Elements(length).fill(GARBAGE)];
}

const destroyed = (device) => {
  device.destroy();
  return device;
};

/** Calls at which a device can be lost, in the order of a load and a run. */
export const STEPS = {
  webgpu: [
    ...['GPUAdapter.requestDevice', 'GPUDevice.createBuffer', 'GPUDevice.createShaderModule'],
    ...['GPUDevice.createComputePipelineAsync', 'GPUDevice.createBindGroup', 'GPUQueue.writeBuffer'],
    ...['GPUQueue.submit', 'GPUBuffer.mapAsync'],
  ],
  webgl: [
    ...['texStorage3D', 'linkProgram', 'getProgramParameter', 'framebufferTextureLayer', 'texSubImage3D', 'drawArrays'],
    ...['fenceSync', 'readPixels', 'getBufferSubData'],
  ].map((name) => `WebGL2RenderingContext.${name}`),
};

/** @type {Record<string, Rule>} */
export const rules = {
  /** A miscompiled kernel: results are multiplied by `factor`, integers are one too large. */
  factor: {
    wraps: SHADERS,
    apply(broken, options) {
      const { factor = 1.05 } = options;
      const scaled = (value, type, one) => (isFloat(type) ? `${value}*${one(factor)}` : `${value}+${one(1)}`);
      const edit = stores({
        wgsl: (value, type) => scaled(value, type, (n) => `${type}(${n})`),
        glsl: (value, type) => scaled(value, type, (n) => `${type}(${n})`),
      });
      watchKernels(broken, options, edit);
    },
  },
  /** A miscompiled kernel: the last elements are left as they were. */
  tail: {
    wraps: [...WATCHED, DISPATCH, DRAW],
    apply: (broken, options) => onLaunches(broken, options, (launch) => withoutTail(broken, launch)),
  },
  /** A miscompiled kernel: invocations of a workgroup do not wait for each other. */
  barrier: {
    wraps: SHADERS.slice(0, 1),
    apply: (broken, options) =>
      watchKernels(broken, options, { wgsl: (text) => text.replaceAll('workgroupBarrier();', '') }),
  },
  /** Denormal results are zero, as WGSL and GLSL allow. */
  denormals: {
    wraps: SHADERS,
    apply(broken, options) {
      const least = '1.1754944e-38';
      const edit = stores({
        wgsl: (value, type) => (isFloat(type) ? `select(${value},${type}(),abs(${value}) < ${type}(${least}))` : value),
        glsl: (value, type) =>
          isFloat(type) ? `mix(${value},vec4(0.0),lessThan(abs(${value}),vec4(${least})))` : value,
      });
      watchKernels(broken, options, edit);
    },
  },
  /** exp of fast arithmetic: what is left of its argument after the powers of two has 1 / `steps` for its last digit. */
  exp: {
    wraps: SHADERS,
    apply(broken, options) {
      const { steps = 16 } = options;
      // The second part of log 2 is nowhere else.
      const rest = /\w+\*0\.00021219444f?\+(\([^;]*);/g;
      const coarse = (text) => text.replace(rest, (_, left) => `round(${left}*${steps}.0)*${1 / steps};`);
      watchKernels(broken, options, { wgsl: coarse, glsl: coarse });
    },
  },
  /** float16 in place of float32: what is beyond 65504 is infinite. */
  overflow: {
    wraps: SHADERS,
    apply(broken, options) {
      const edit = stores({
        wgsl: (value, type) =>
          isFloat(type) && !type.endsWith('h') && type !== 'f16'
            ? `select(${value},${value}*3e38f,abs(${value}) > ${type}(65504.0))`
            : value,
        glsl: (value, type) =>
          isFloat(type) ? `mix(${value},${value}*3e38,greaterThan(abs(${value}),vec4(65504.0)))` : value,
      });
      watchKernels(broken, options, edit);
    },
  },
  /** A race: what a launch writes comes after the launch that follows, which reads the values from before. */
  race: {
    wraps: [...WATCHED, DISPATCH, DRAW, ...ENDS, 'GPUComputePassEncoder.setBindGroup'],
    apply(broken, { kernel, ...options }) {
      /** @type {(() => void) | undefined} */
      let late;
      const catchUp = () => {
        const launch = late;
        late = undefined;
        launch?.();
      };
      onLaunches(broken, options, (launch) => {
        if (late || (kernel ?? launch.kernel) !== launch.kernel) {
          launch.go();
          return catchUp();
        }
        broken.changed++;
        late = launch.keep();
      });
      for (const call of ENDS)
        wrap(call, (own, _, given) => {
          catchUp();
          return own(...given);
        });
    },
  },
  /** Memory that is not zeroed. */
  garbage: {
    wraps: ['GPUDevice.createBuffer', 'WebGL2RenderingContext.texStorage3D'],
    apply(broken, options) {
      wrap('GPUDevice.createBuffer', (make, _, [descriptor]) => {
        if (!concerns(options, 'GPU') || descriptor.mappedAtCreation) return make(descriptor);
        broken.changed++;
        const buffer = make({ ...descriptor, mappedAtCreation: true });
        new Float32Array(buffer.getMappedRange()).fill(GARBAGE);
        buffer.unmap();
        return buffer;
      });
      watchTextures((gl, format, size) => {
        if (!concerns(options, 'WebGL')) return;
        broken.changed++;
        const filled = filling(gl, format, 4 * size[0] * size[1] * size[2]);
        gl.texSubImage3D(gl.TEXTURE_2D_ARRAY, 0, 0, 0, 0, ...size, ...filled);
      });
    },
  },
  /** Buffers and textures of more than `above` bytes are zero, whatever is written there. */
  large: {
    wraps: [
      ...['GPUDevice.createBindGroup', 'WebGL2RenderingContext.texStorage3D', 'WebGL2RenderingContext.texSubImage3D'],
      ...['WebGL2RenderingContext.framebufferTextureLayer', DRAW],
    ],
    apply(broken, options) {
      const { above = 30_000 } = options;
      wrap('GPUDevice.createBindGroup', (make, device, [descriptor]) => {
        const entries = descriptor.entries.map((entry) => {
          const { buffer } = entry.resource;
          if (!concerns(options, 'GPU') || !(buffer?.size > above)) return entry;
          broken.changed++;
          const { size, usage } = buffer;
          return { ...entry, resource: { ...entry.resource, buffer: device.createBuffer({ size, usage }) } };
        });
        return make({ ...descriptor, entries });
      });
      const bytes = watchTextures();
      const isLarge = (texture) => concerns(options, 'WebGL') && bytes.get(texture) > above;
      const targets = new WeakSet();
      wrap('WebGL2RenderingContext.framebufferTextureLayer', (attach, gl, given) => {
        if (isLarge(given[2])) targets.add(gl.getParameter(gl.DRAW_FRAMEBUFFER_BINDING));
        attach(...given);
      });
      wrap('WebGL2RenderingContext.texSubImage3D', (upload, gl, given) => {
        if (!isLarge(gl.getParameter(gl.TEXTURE_BINDING_2D_ARRAY))) return upload(...given);
        broken.changed++;
      });
      wrap(DRAW, (draw, gl, given) => {
        const target = gl.getParameter(gl.DRAW_FRAMEBUFFER_BINDING);
        if (!target || !targets.has(target)) return draw(...given);
        broken.changed++;
      });
    },
  },
  /** Results are right at first: after `right` launches of a kernel its last elements are left as they were; of others at once. */
  later: {
    wraps: [...WATCHED, DISPATCH, DRAW],
    apply(broken, options) {
      const { right = 4, others = Number.POSITIVE_INFINITY } = options;
      const launches = new Map();
      onLaunches(broken, options, (launch) => {
        const count = (launches.get(launch.kernel) ?? 0) + 1;
        launches.set(launch.kernel, count);
        if (count <= right && launch.kernel < others) launch.go();
        else withoutTail(broken, launch);
      });
    },
  },
  /** The device is lost after `call`, one of STEPS: when it is called for the time `at`, and `times` - 1 times more. */
  loss: {
    wraps: [...STEPS.webgpu, ...STEPS.webgl],
    apply(broken, { call, at = 1, times = 1 }) {
      const devices = [];
      wrap('GPUAdapter.requestDevice', async (request, _, given) => {
        const device = await request(...given);
        devices.push(device);
        return device;
      });
      let calls = 0;
      wrap(call, (own, self, given) => {
        const result = own(...given);
        calls++;
        if (calls < at || broken.changed >= times) return result;
        broken.changed++;
        if (call.startsWith('WebGL')) self.getExtension('WEBGL_lose_context')?.loseContext();
        else if (call === 'GPUAdapter.requestDevice') return result.then(destroyed);
        else (self instanceof GPUDevice ? self : devices.at(-1))?.destroy(); // there may be one that was opened since
        return result;
      });
    },
  },
};
