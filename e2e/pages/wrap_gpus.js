// The API of WebGPU and WebGL 2 wrapped: which kernel is launched, what it stores, and where.

/** @typedef {import('./broken_device.js').Broken} Broken */

/** Calls that say which kernel a program or a pipeline is, and which one is launched. */
export const WATCHED = [
  ...['GPUDevice.createShaderModule', 'GPUDevice.createComputePipelineAsync', 'GPUComputePassEncoder.setPipeline'],
  ...[
    'WebGL2RenderingContext.shaderSource',
    'WebGL2RenderingContext.attachShader',
    'WebGL2RenderingContext.useProgram',
  ],
];
export const DISPATCH = 'GPUComputePassEncoder.dispatchWorkgroups';
export const DRAW = 'WebGL2RenderingContext.drawArrays';
export const SHADERS = ['GPUDevice.createShaderModule', 'WebGL2RenderingContext.shaderSource'];

/** @type {(() => void)[]} what takes wrappers off again, the outermost last */
const wrapped = [];

/**
 * @param {string} call Type.method; where the browser has no such type nothing happens
 * @param {(own: (...given: any[]) => any, self: any, given: any[]) => any} around calls `own`, or does something else
 */
export function wrap(call, around) {
  const [type, name] = call.split('.');
  const prototype = globalThis[type]?.prototype;
  const own = prototype?.[name];
  if (!own) return;
  prototype[name] = function (...given) {
    return around((...changed) => own.apply(this, changed), this, given);
  };
  wrapped.push(() => {
    prototype[name] = own;
  });
}

/** Takes all wrappers off. */
export function unwrap() {
  for (const restore of wrapped.splice(0).reverse()) restore();
}

export const concerns = ({ api }, call) => !api || call.startsWith('GPU') === (api === 'webgpu');

/** Whether a rule concerns a shader: that of number `kernel`, and those from `others` on; all of them without `kernel`. */
const isOf = ({ kernel, others = Number.POSITIVE_INFINITY }, number) =>
  number === (kernel ?? number) || number >= others;

/**
 * Numbers the shaders of models by their text, and changes it. Those with which the runtime tries a device have other names.
 * @param {Broken} broken
 * @param {any} options
 * @param {{ wgsl?: (text: string) => string, glsl?: (text: string) => string }} [edit]
 * @returns {{ numberOf: WeakMap<object, number> }} of pipelines and programs
 */
export function watchKernels(broken, options, edit = {}) {
  const numbers = new Map();
  const numberOf = new WeakMap();
  const numbered = (text) => {
    if (!numbers.has(text)) numbers.set(text, numbers.size);
    broken.kernels = numbers.size;
    return numbers.get(text);
  };
  const edited = (text, number, change) => {
    if (!change || !isOf(options, number)) return text;
    const other = change(text);
    if (other !== text) broken.changed++;
    return other;
  };
  const own = (call) => (concerns(options, call) ? edit : {});
  wrap('GPUDevice.createShaderModule', (make, _, [descriptor]) => {
    if (!descriptor.label) return make(descriptor);
    const number = numbered(descriptor.code);
    const module = make({ ...descriptor, code: edited(descriptor.code, number, own('GPU').wgsl) });
    numberOf.set(module, number);
    return module;
  });
  wrap('GPUDevice.createComputePipelineAsync', async (make, _, [descriptor]) => {
    const pipeline = await make(descriptor);
    numberOf.set(pipeline, numberOf.get(descriptor.compute.module));
    return pipeline;
  });
  wrap('WebGL2RenderingContext.shaderSource', (give, _, [shader, text]) => {
    if (!/^uniform \w+ p0;$/m.test(text)) return give(shader, text);
    const number = numbered(text);
    numberOf.set(shader, number);
    give(shader, edited(text, number, own('WebGL').glsl));
  });
  wrap('WebGL2RenderingContext.attachShader', (attach, _, [program, shader]) => {
    if (numberOf.has(shader)) numberOf.set(program, numberOf.get(shader));
    attach(program, shader);
  });
  return { numberOf };
}

/**
 * Changes what kernels store.
 * @param {{ wgsl: (stored: string, type: string, halves: boolean) => string, glsl: (stored: string, type: string) => string }} values
 *   the expression of another value; `halves`: those packed in words
 */
export const stores = (values) => ({
  wgsl(text) {
    const outputs = text.matchAll(/var<storage,read_write> (b\d+): array<(\w+)(?:,[^>]*)?>;/g);
    return [...outputs].reduce((changed, [, name, type]) => {
      const store = new RegExp(`^(${name}\\[.*?\\](?:\\.[xyzw]+)?)=([^=].*);$`, 'gm');
      const one = (_, place, value) => {
        const halves = type === 'u32' && value.startsWith('pack2x16float(');
        const kept = halves ? `unpack2x16float(${value})` : value;
        const stored = values.wgsl(
          'kept',
          halves ? 'vec2f' : /\.[xyzw]$/.test(place) ? (scalarOf[type] ?? type) : type,
        );
        return `{ let kept=${kept}; ${place}=${halves ? `pack2x16float(${stored})` : stored}; }`;
      };
      return changed.replace(store, one);
    }, text);
  },
  glsl(text) {
    const outputs = [...text.matchAll(/ out (\w+) (o\d+);/g)];
    const lines = outputs.map(([, type, name]) => `${name}=${values.glsl(name, type)};`);
    return `${text.replace('void main() {', 'void computed() {')}void main() { computed(); ${lines.join(' ')} }\n`;
  },
});

const scalarOf = { vec4f: 'f32', vec4h: 'f16', vec4i: 'i32', vec4u: 'u32' };
export const isFloat = (type) => /^(f32|f16|vec[234][fh]|vec[234])$/.test(type);

/**
 * Carries out launches otherwise.
 * @param {Broken} broken
 * @param {any} options
 * @param {(launch: Launch) => void} around
 * @typedef {object} Launch
 * @property {number} kernel
 * @property {number[]} size workgroups, or width and height of what is drawn
 * @property {(size?: number[]) => void} go carries it out
 * @property {() => () => void} keep what carries it out later, when other launches have come between
 */
export function onLaunches(broken, options, around) {
  const { numberOf } = watchKernels(broken, options);
  const current = new WeakMap();
  const use = (self, which) => current.set(self, { groups: [], ...current.get(self), which });
  for (const call of ['GPUComputePassEncoder.setPipeline', 'WebGL2RenderingContext.useProgram'])
    wrap(call, (own, self, [which]) => {
      use(self, which);
      own(which);
    });
  wrap('GPUComputePassEncoder.setBindGroup', (own, pass, given) => {
    use(pass, current.get(pass)?.which);
    current.get(pass).groups[given[0]] = given;
    own(...given);
  });
  const kernelOf = (self, call) => {
    const kernel = numberOf.get(current.get(self)?.which);
    return concerns(options, call) && isOf(options, kernel) ? kernel : undefined;
  };
  wrap(DISPATCH, (dispatch, pass, given) => {
    const kernel = kernelOf(pass, DISPATCH);
    if (kernel === undefined) return dispatch(...given);
    const [x, y = 1, z = 1] = given;
    const set = ({ which, groups }) => {
      pass.setPipeline(which);
      for (const group of groups) pass.setBindGroup(...group);
    };
    const stateOf = () => ({ which: current.get(pass).which, groups: [...current.get(pass).groups] });
    const keep = () => {
      const own = stateOf();
      return () => inBetween(stateOf, set, own, () => dispatch(...given));
    };
    around({ kernel, size: [x, y, z], go: (size = [x, y, z]) => dispatch(...size), keep });
  });
  wrap(DRAW, (draw, gl, given) => {
    const kernel = kernelOf(gl, DRAW);
    if (kernel === undefined) return draw(...given);
    const [, , width, height] = gl.getParameter(gl.VIEWPORT);
    const go = (size = [width, height]) => {
      gl.viewport(0, 0, ...size);
      draw(...given);
      gl.viewport(0, 0, width, height);
    };
    const keep = () => {
      const own = drawState(gl);
      return () =>
        inBetween(
          () => drawState(gl),
          (state) => setDrawState(gl, state),
          own,
          () => draw(...given),
        );
    };
    around({ kernel, size: [width, height], go, keep });
  });
}

/** Does something in a state of its own. */
function inBetween(stateOf, set, own, act) {
  const now = stateOf();
  set(own);
  act();
  set(now);
}

/** State that a draw depends on. */
function drawState(gl) {
  const program = gl.getParameter(gl.CURRENT_PROGRAM);
  const active = gl.getParameter(gl.ACTIVE_TEXTURE);
  const textures = Array.from({ length: 16 }, (_, unit) => {
    gl.activeTexture(gl.TEXTURE0 + unit);
    return gl.getParameter(gl.TEXTURE_BINDING_2D_ARRAY);
  });
  gl.activeTexture(active);
  const uniforms = [];
  for (let i = 0; program; i++) {
    const place = gl.getUniformLocation(program, `s${i}`);
    if (!place) break;
    uniforms.push([place, gl.getUniform(program, place)]);
  }
  const [draws, reads] = [gl.DRAW_FRAMEBUFFER_BINDING, gl.READ_FRAMEBUFFER_BINDING].map((what) =>
    gl.getParameter(what),
  );
  return { program, active, textures, uniforms, draws, reads, viewport: gl.getParameter(gl.VIEWPORT) };
}

function setDrawState(gl, { program, active, textures, uniforms, draws, reads, viewport }) {
  gl.useProgram(program);
  gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, draws);
  gl.bindFramebuffer(gl.READ_FRAMEBUFFER, reads);
  gl.viewport(...viewport);
  textures.forEach((texture, unit) => {
    gl.activeTexture(gl.TEXTURE0 + unit);
    // One that was deleted is still said to be bound, and cannot be bound again.
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, gl.isTexture(texture) ? texture : null);
  });
  gl.activeTexture(active);
  for (const [place, value] of uniforms) gl.uniform1i(place, value);
}

/** WebGL textures by what is bound, with their bytes. */
export function watchTextures(onNew) {
  const bytes = new WeakMap();
  wrap('WebGL2RenderingContext.texStorage3D', (make, gl, given) => {
    make(...given);
    const [, , format, width, height, depth] = given;
    const texture = gl.getParameter(gl.TEXTURE_BINDING_2D_ARRAY);
    const each = { [gl.RGBA8I]: 4, [gl.RGBA8UI]: 4, [gl.RGBA16I]: 8, [gl.RGBA16UI]: 8 }[format] ?? 16;
    bytes.set(texture, each * width * height * depth);
    onNew?.(gl, format, [width, height, depth]);
  });
  return bytes;
}
