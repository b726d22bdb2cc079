"""What a page may hand to `load` and to `run`: JavaScript expressions, and what must come of each."""

from __future__ import annotations

RIGHT, WRONG, EITHER = "right", "wrong", "either"
"""The right results; an error; one of them."""

INPUTS: tuple[tuple[str, str], ...] = (
    ("{ input: good() }", RIGHT),
    ("{ input: good() }", RIGHT),
    ("{ input: new Float32Array([0, ...good()]).subarray(1) }", RIGHT),
    ("{ input: new (class Mine extends Float32Array {})(good()) }", RIGHT),
    ("Object.assign(Object.create(null), { input: good() })", RIGHT),
    ("Object.freeze({ input: good() })", RIGHT),
    ("{ input: Object.defineProperty(good(), 'length', { value: 1024 }) }", EITHER),
    ("{ get input() { return good(); } }", RIGHT),
    ("{ get input() { throw new TypeError('a getter of the page'); } }", WRONG),
    ("new Proxy({ input: good() }, {})", RIGHT),
    ("{ input: new Proxy(good(), {}) }", EITHER),
    ("{ input: (() => { const a = good(); structuredClone(a, { transfer: [a.buffer] }); return a; })() }", WRONG),
    ("{ input: (() => { const f = document.body.appendChild(document.createElement('iframe')); "
     "return new f.contentWindow.Float32Array(good()); })() }", RIGHT),
    *((given, WRONG) for given in (
        "null", "undefined", "[]", "1", "'input'", "Symbol('x')", "() => ({})", "new Map([['input', good()]])", "{}", "[good()]",
        "good()", "good().buffer", "{ input: null }", "{ input: undefined }", "{ input: 1 }", "{ input: 'x' }", "{ input: {} }",
        "{ input: [...good()] }", "{ input: new Float64Array(1024) }", "{ input: new Int32Array(1024) }",
        "{ input: new Uint8Array(4096) }", "{ input: new DataView(new ArrayBuffer(4096)) }", "{ input: new ArrayBuffer(4096) }",
        "{ input: new Float32Array(0) }", "{ input: new Float32Array(1023) }", "{ input: new Float32Array(1025) }",
        "{ input: new BigInt64Array(1024) }", "{ input: () => good() }", "{ input: Promise.resolve(good()) }",
        "{ Input: good() }", "{ input: good(), other: good() }", "{ '': good() }", "{ constructor: good() }",
        "{ input: { length: 1024, [Symbol.toStringTag]: 'Float32Array' } }", "{ input: { [Symbol.toStringTag]: 'GPUBuffer' } }",
        "{ input: { [Symbol.toStringTag]: 'ImageBitmap', width: 32, height: 32 } }",
        "{ input: { __proto__: Float32Array.prototype } }", "{ input: Object.create(good()) }", "{ input: document.body }",
        "{ input: new Blob([good()]) }", "{ input: new ImageData(16, 16) }", "{ input: { get length() { throw Error('no'); } } }",
    )),
)  # fmt: skip

RUN_OPTIONS: tuple[tuple[str, str], ...] = (
    *((given, RIGHT) for given in ("undefined", "undefined", "{}", "{ output: 'array' }", "{ output: undefined }")),
    *((given, WRONG) for given in (
        "null", "1", "'array'", "true", "{ output: null }", "{ output: 'x' }", "{ output: 1 }", "{ outputs: 'array' }",
        "{ signal: 1 }", "{ signal: null }", "{ signal: {} }", "{ signal: AbortSignal.abort() }", "{ output: {} }",
        "{ output: Object.create(null) }", "{ output: 1n }",
    )),
    *((given, EITHER) for given in ("[]", "() => {}", "{ output: 'gpu-buffer' }", "new Map()")),
)  # fmt: skip

LOAD_OPTIONS: tuple[tuple[str, str], ...] = (
    *((given, RIGHT) for given in (
        "worker: true", "worker: false", "worker: false", "warmup: true", "threads: 1", "threads: 2", "threads: 'auto'",
        "onProgress: () => {}", "onProgress: undefined", "backend: 'auto'", "backend: 'wasm'", "worker: undefined",
        "onProgress: () => { throw Error('of the page'); }", "signal: undefined", "signal: new AbortController().signal",
    )),
    *((given, WRONG) for given in (
        "worker: null", "worker: 1", "worker: 'no'", "warmup: 'yes'", "warmup: null", "threads: 0", "threads: -1", "threads: 1.5",
        "threads: NaN", "threads: '2'", "threads: null", "threads: {}", "backend: null", "backend: 'cuda'", "backend: 1",
        "backend: ['wasm']", "onProgress: 1", "onProgress: null", "device: {}", "device: null", "unknown: 1", "bakend: 'wasm'",
        "signal: 1", "signal: AbortSignal.abort()", "timeout: -1", "timeout: 'soon'", "timeout: NaN", "timeout: null",
        "device: { [Symbol.toStringTag]: 'GPUDevice' }, worker: false", "threads: Symbol('x')", "backend: Symbol('x')", "backend: 1n", "threads: 1n", "threads: Object.create(null)",
    )),
    *((given, EITHER) for given in ("threads: 1e9", "threads: 2 ** 53", "timeout: Infinity", "timeout: 1e9", "timeout: 0")),
)  # fmt: skip

CALLS: tuple[tuple[str, str], ...] = (
    ("model.info()", EITHER),
    ("model.profile({ input: good() })", EITHER),
    ("model.profile(null)", WRONG),
    ("Promise.all([1, 2, 3].map(() => model.run({ input: good() }))).then((all) => all.at(-1))", RIGHT),
    ("Promise.all([model.run({ input: good() }), model.run({}).catch(() => {})]).then(([one]) => one)", RIGHT),
    ("model.run()", WRONG),
    ("(async () => { const { run } = model; return run({ input: good() }); })()", RIGHT),
)
"""On a model that is loaded; WRONG is an error of any kind."""

LAST_CALLS = ("model.dispose()", "model.dispose().then(() => model.dispose())", "Promise.all([model.run({ input: good() }), model.dispose()])")
AFTER_DISPOSE = "model.run({ input: good() })"
