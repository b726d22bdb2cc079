// Played in the test page for several bundles: `soak` loads the bundle's model and does to it what pages do, at random.
(given) => {
  const { backend, worker, sequences, wanted, tolerance, seed } = given;
  /** Milliseconds in which a step must end. */
  const LONGEST = 60_000;
  const ABORTED = 'left by the test';
  let state = seed;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };

  // Bytes of buffers, textures and memories, by their owner: a device or context that is lost holds none.
  const bytes = new Map();
  const owners = new Map();
  const add = (key, owner, size) => {
    bytes.set(key, size);
    owners.set(key, owner);
  };
  const drop = (test) => {
    for (const [key, owner] of owners) {
      if (!test(key, owner)) continue;
      bytes.delete(key);
      owners.delete(key);
    }
  };
  const wrap = (prototype, name, note) => {
    const own = prototype?.[name];
    if (!own) return;
    prototype[name] = function (...values) {
      const result = own.apply(this, values);
      note(this, values, result);
      return result;
    };
  };
  wrap(globalThis.GPUDevice?.prototype, 'createBuffer', (device, [{ size }], made) => add(made, device, size));
  wrap(globalThis.GPUBuffer?.prototype, 'destroy', (buffer) => drop((key) => key === buffer));
  wrap(globalThis.GPUDevice?.prototype, 'destroy', (device) => drop((_, owner) => owner === device));
  const gl = WebGL2RenderingContext.prototype;
  wrap(gl, 'texStorage3D', (context, [, , , width, height, layers]) =>
    add(context.getParameter(context.TEXTURE_BINDING_2D_ARRAY), context, width * height * layers * 16),
  );
  wrap(gl, 'deleteTexture', (_, [texture]) => drop((key) => key === texture));
  wrap(gl, 'getExtension', (context, [name], extension) => {
    if (name !== 'WEBGL_lose_context' || !extension) return;
    const lose = extension.loseContext;
    extension.loseContext = () => {
      drop((_, owner) => owner === context);
      lose.call(extension);
    };
  });
  const memories = new Map();
  const freed = new FinalizationRegistry((id) => memories.delete(id));
  const { Memory } = WebAssembly;
  WebAssembly.Memory = class extends Memory {
    constructor(size) {
      super(size);
      const id = memories.size ? Math.max(...memories.keys()) + 1 : 0;
      memories.set(id, new WeakRef(this));
      freed.register(this, id);
    }
  };

  const counts = { runs: 0, aborted: 0, losses: 0, loads: 0, canaries: 0, error: 0 };
  let model;
  const load = async (options = {}) => bundle.load({ backend, worker, canaries: 'all', ...options });
  /** Ends a model, none of whose canaries may have failed, at load or since. */
  const dispose = async () => {
    const { checked = 0, failed = [] } = model.info().canaries ?? {};
    if (failed.length) throw new Error(`the canary of ${failed[0].kernel} failed`);
    counts.canaries += checked;
    await model.dispose();
  };
  const inputsOf = (feeds) =>
    Object.fromEntries(
      Object.entries(feeds).map(([name, { data, shape }]) => [
        name,
        model.inputs.find((input) => input.name === name).shape.some((n) => typeof n !== 'number')
          ? { data: Float32Array.from(data), shape }
          : Float32Array.from(data),
      ]),
    );
  const compare = (outputs, expected) => {
    for (const [name, values] of Object.entries(expected)) {
      const found = outputs[name];
      if (found?.length !== values.length) throw new Error(`${name} has ${found?.length} elements of ${values.length}`);
      const scale = Math.max(1, ...values.map(Math.abs));
      values.forEach((value, i) => {
        const error = Math.abs(found[i] - value) / scale;
        if (!(error <= tolerance)) throw new Error(`${name}[${i}] is ${found[i]} in place of ${value}`);
        counts.error = Math.max(counts.error, error);
      });
    }
  };
  const play = async (signalOf = () => undefined) => {
    const at = Math.floor(random() * sequences.length);
    await model.reset?.();
    for (const [i, feeds] of sequences[at].entries()) {
      const outputs = await model.run(inputsOf(feeds), { signal: signalOf() });
      compare(outputs, wanted[at][i]);
      counts.runs++;
    }
  };
  const abort = async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error(ABORTED)), 3 * random());
    await play(() => controller.signal).catch((error) => {
      if (error.message !== ABORTED) throw error;
      counts.aborted++;
    });
  };
  const lose = async () => {
    if (backend === 'wasm' || worker) return play();
    globalThis.lose(model);
    counts.losses++;
    // States that were on the device are gone with it, which the error says; then the model begins anew.
    await play().catch((error) => {
      if (error.code !== 'state-lost') throw error;
      return play();
    });
  };
  const reload = async () => {
    if (random() < 0.5) {
      const controller = new AbortController();
      setTimeout(() => controller.abort(new Error(ABORTED)), 20 * random());
      await load({ signal: controller.signal }).then(
        (late) => late.dispose(),
        (error) => {
          if (error.message !== ABORTED) throw error;
        },
      );
    }
    await dispose();
    model = await load();
    counts.loads++;
    return play();
  };
  const several = () => (model.reset ? play() : Promise.all([play(), play(), play()]));
  const kinds = [
    [0.02, lose],
    [0.05, reload],
    [0.13, abort],
    [0.2, several],
    [1, play],
  ];

  const step = () => {
    const drawn = random();
    const [, work] = kinds.find(([share]) => drawn < share);
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`a step of ${work.name} has not ended in a minute`)), LONGEST);
    });
    return Promise.race([work(), late]).finally(() => clearTimeout(timer));
  };
  globalThis.soak = {
    async open() {
      model = await load();
      counts.loads++;
      for (const work of [play, abort, reload, lose, several, play]) await work();
      return soak.state();
    },
    async steps(milliseconds) {
      for (const end = performance.now() + milliseconds; performance.now() < end; ) await step();
      await play();
      return soak.state();
    },
    state: () => ({
      ...counts,
      device: [...bytes.values()].reduce((a, b) => a + b, 0),
      memory: [...memories.values()].reduce((sum, ref) => sum + (ref.deref()?.buffer.byteLength ?? 0), 0),
    }),
    /** Ends the model, and gives how many kernels and instructions were tried by canaries. */
    close: () => dispose().then(() => counts.canaries),
  };
};
