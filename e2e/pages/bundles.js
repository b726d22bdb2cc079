// As expose.js, for the bundle in the folder that the query names.
globalThis.bundle = await import(`./${location.search.slice(1)}/model.js`);

globalThis.outcome = (promise) =>
  promise.then(
    (value) => ({ value }),
    (error) => ({ name: error.name, code: error.code, message: error.message }),
  );

/** The input and output of tests with the tiny model: input of `value`, and the head of what came out. */
globalThis.fill = (value) => new Float32Array(1024).fill(value);
globalThis.head = async (model, value) => [...(await model.run({ input: fill(value) })).output].slice(0, 8);

/** Every WebGL context from now on. */
globalThis.contexts = [];
const { getContext } = OffscreenCanvas.prototype;
OffscreenCanvas.prototype.getContext = function (...given) {
  const context = getContext.apply(this, given);
  if (context) contexts.push(context);
  return context;
};

/** Every WebGPU device from now on. */
globalThis.devices = [];
if (globalThis.GPUAdapter) {
  const { requestDevice } = GPUAdapter.prototype;
  GPUAdapter.prototype.requestDevice = async function (...given) {
    const device = await requestDevice.apply(this, given);
    devices.push(device);
    return device;
  };
}

/** Takes the GPU away from a model. */
globalThis.lose = (model) => {
  if (model.backend === 'webgpu') (model.device ?? devices.at(-1)).destroy();
  else
    contexts
      .findLast((gl) => !gl.isContextLost())
      ?.getExtension('WEBGL_lose_context')
      .loseContext();
};

/** How many of what the given prototypes create is not yet destroyed: by name, from now on. */
globalThis.count = (pairs) => {
  const alive = {};
  for (const [type, create, destroyer, destroy] of pairs) {
    if (!globalThis[type]) continue;
    alive[create] = 0;
    const made = globalThis[type].prototype[create];
    const known = new WeakSet();
    globalThis[type].prototype[create] = function (...given) {
      const result = made.apply(this, given);
      known.add(result);
      alive[create]++;
      return result;
    };
    const destroyed = globalThis[destroyer].prototype[destroy];
    globalThis[destroyer].prototype[destroy] = function (...given) {
      const which = given.length ? given[0] : this;
      if (which && known.delete(which)) alive[create]--;
      return destroyed.apply(this, given);
    };
  }
  return alive;
};
globalThis.gpuObjects = [
  ['GPUDevice', 'createBuffer', 'GPUBuffer', 'destroy'],
  ['GPUDevice', 'createTexture', 'GPUTexture', 'destroy'],
  ['GPUDevice', 'createQuerySet', 'GPUQuerySet', 'destroy'],
  ...['Texture', 'Framebuffer', 'Program', 'Buffer', 'Query'].map((what) => [
    'WebGL2RenderingContext',
    `create${what}`,
    'WebGL2RenderingContext',
    `delete${what}`,
  ]),
  ['WebGL2RenderingContext', 'fenceSync', 'WebGL2RenderingContext', 'deleteSync'],
];
document.documentElement.dataset.ready = '';
