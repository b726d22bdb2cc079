"""Arguments of `load` and `run`: JavaScript expressions, one on each line, and their required outcomes."""

from __future__ import annotations

RIGHT, WRONG, EITHER = "right", "wrong", "either"
"""The right results; an error; one of them."""

Given = tuple[tuple[str, str], ...]


def _all(right: str, wrong: str, either: str) -> Given:
    lists = ((right, RIGHT), (wrong, WRONG), (either, EITHER))
    return tuple((line, wanted) for text, wanted in lists for line in text.strip().splitlines())


INPUTS = _all(
    right="""
{ input: good() }
{ input: good() }
{ input: new Float32Array([0, ...good()]).subarray(1) }
{ input: new (class Mine extends Float32Array {})(good()) }
{ input: new (document.body.appendChild(document.createElement('iframe')).contentWindow.Float32Array)(good()) }
{ get input() { return good(); } }
Object.assign(Object.create(null), { input: good() })
Object.freeze({ input: good() })
new Proxy({ input: good() }, {})
""",
    wrong="""
null
undefined
[]
1
'input'
Symbol('x')
() => ({})
new Map([['input', good()]])
{}
[good()]
good()
good().buffer
{ input: null }
{ input: undefined }
{ input: 1 }
{ input: 'x' }
{ input: {} }
{ input: [...good()] }
{ input: () => good() }
{ input: Promise.resolve(good()) }
{ input: new Float64Array(1024) }
{ input: new Int32Array(1024) }
{ input: new BigInt64Array(1024) }
{ input: new Uint8Array(4096) }
{ input: new ArrayBuffer(4096) }
{ input: new DataView(new ArrayBuffer(4096)) }
{ input: new Float32Array(0) }
{ input: new Float32Array(1023) }
{ input: new Float32Array(1025) }
{ input: new Blob([good()]) }
{ input: new ImageData(16, 16) }
{ input: document.body }
{ input: Object.create(good()) }
{ input: { __proto__: Float32Array.prototype } }
{ input: { length: 1024, [Symbol.toStringTag]: 'Float32Array' } }
{ input: { [Symbol.toStringTag]: 'GPUBuffer' } }
{ input: { [Symbol.toStringTag]: 'ImageBitmap', width: 32, height: 32 } }
{ input: { get length() { throw Error('no'); } } }
{ input: (() => { const a = good(); structuredClone(a, { transfer: [a.buffer] }); return a; })() }
{ get input() { throw new TypeError('a getter of the page'); } }
{ Input: good() }
{ input: good(), other: good() }
{ '': good() }
{ constructor: good() }
""",
    either="""
{ input: new Proxy(good(), {}) }
{ input: Object.defineProperty(good(), 'length', { value: 1024 }) }
""",
)

RUN_OPTIONS = _all(
    right="""
undefined
undefined
{}
{ output: 'array' }
{ output: undefined }
""",
    wrong="""
null
1
true
'array'
{ output: null }
{ output: 'x' }
{ output: 1 }
{ output: {} }
{ output: 1n }
{ output: Symbol('x') }
{ output: Object.create(null) }
{ outputs: 'array' }
{ signal: 1 }
{ signal: null }
{ signal: {} }
{ signal: AbortSignal.abort() }
""",
    either="""
[]
() => {}
new Map()
{ output: 'gpu-buffer' }
""",
)

LOAD_OPTIONS = _all(
    right="""
worker: true
worker: false
worker: false
worker: undefined
warmup: true
threads: 1
threads: 2
threads: 'auto'
backend: 'auto'
backend: 'wasm'
onProgress: () => {}
onProgress: undefined
onProgress: () => { throw Error('of the page'); }
signal: undefined
signal: new AbortController().signal
""",
    wrong="""
worker: null
worker: 1
worker: 'no'
warmup: 'yes'
warmup: null
threads: 0
threads: -1
threads: 1.5
threads: NaN
threads: '2'
threads: null
threads: {}
threads: 1n
threads: Symbol('x')
threads: Object.create(null)
backend: null
backend: 1
backend: 1n
backend: 'cuda'
backend: ['wasm']
backend: Symbol('x')
onProgress: 1
onProgress: null
device: {}
device: null
device: { [Symbol.toStringTag]: 'GPUDevice' }, worker: false
signal: 1
signal: AbortSignal.abort()
timeout: -1
timeout: 'soon'
timeout: NaN
timeout: null
unknown: 1
bakend: 'wasm'
""",
    either="""
threads: 1e9
threads: 2 ** 53
timeout: 0
timeout: 1e9
timeout: Infinity
""",
)

CALLS = _all(
    right="""
Promise.all([1, 2, 3].map(() => model.run({ input: good() }))).then((all) => all.at(-1))
Promise.all([model.run({ input: good() }), model.run({}).catch(() => {})]).then(([one]) => one)
(({ run }) => run({ input: good() }))(model)
""",
    wrong="""
model.run()
model.profile(null)
""",
    either="""
model.info()
model.profile({ input: good() })
""",
)

LAST_CALLS = (
    "model.dispose()",
    "model.dispose().then(() => model.dispose())",
    "Promise.all([model.run({ input: good() }), model.dispose()])",
)
AFTER_DISPOSE = "model.run({ input: good() })"
