"""Memory that runs of changing sizes hold in a page: WebAssembly's, buffers and textures, as planned and no more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx
import pytest
from compiled import compile_site
from devices import open_bundle, value
from harness import measure_heap
from onnx_models import random
from playwright.sync_api import Page
from server import serve

LEAST, MOST, WIDTH, INNER = 1, 192, 32, 256
RUNS = {"wasm": 1000, "webgl": 100, "webgpu": 100}

MODEL = f"""
<ir_version: 10, opset_import: ["" : 18]>
encoder (float[length, {WIDTH}] x, float limit) => (float[{WIDTH}] y, float[length] s)
<int64[1] rows = {{0}}, int64[1] columns = {{1}}, int64 three = {{3}}, bool yes = {{1}}>
{{
  t = Transpose <perm = [1, 0]> (x)
  scores = MatMul(x, t)
  p = Softmax(scores)
  mixed = MatMul(p, x)
  last = Loop(three, yes, mixed) <body = body (int64 i, bool c, float[length, {WIDTH}] h)
                                      => (bool goes_on, float[length, {WIDTH}] next) {{
    wide = MatMul(h, w)
    bent = Tanh(wide)
    normal = Softmax(bent)
    narrow = MatMul(normal, v)
    next = Add(h, narrow)
    top = ReduceMax <keepdims = 0> (next)
    goes_on = Less(top, limit)
  }}>
  y = ReduceMean <keepdims = 0> (last, rows)
  s = ReduceSum <keepdims = 0> (last, columns)
}}
"""

HOLD = """
  globalThis.held = { bytes: 0 };
  const of = new Map();
  const add = (key, bytes) => {
    held.bytes += bytes - (of.get(key) ?? 0);
    of.set(key, bytes);
  };
  const wrap = (prototype, name, note) => {
    const own = prototype?.[name];
    if (!own) return;
    prototype[name] = function (...given) {
      const result = own.apply(this, given);
      note(this, given, result);
      return result;
    };
  };
  wrap(globalThis.GPUDevice?.prototype, 'createBuffer', (_, [{ size }], buffer) => add(buffer, size));
  wrap(globalThis.GPUBuffer?.prototype, 'destroy', (buffer) => of.has(buffer) && add(buffer, 0));
  const gl = WebGL2RenderingContext.prototype;
  wrap(gl, 'texStorage3D', (context, [, , , width, height, layers]) =>
    add(context.getParameter(context.TEXTURE_BINDING_2D_ARRAY), width * height * layers * 16));
  wrap(gl, 'deleteTexture', (_, [texture]) => add(texture, 0));
  const { Memory } = WebAssembly;
  WebAssembly.Memory = function (size) {
    const memory = new Memory(size);
    add(memory, memory.buffer.byteLength);
    const { grow } = memory;
    memory.grow = function (pages) {
      add(memory, memory.buffer.byteLength + pages * 65536);
      return grow.call(memory, pages);
    };
    return memory;
  };
  const alive = count(gpuObjects);
  globalThis.holds = () => ({ bytes: held.bytes, objects: Object.values(alive).reduce((a, b) => a + b, 0) });
  globalThis.model = await bundle.load({ backend: argument.backend, worker: false });
  globalThis.again = async (count) => {
    let last = 0;
    for (let i = 0; i < count; i++) {
      const length = argument.least + ((i * 37) % (argument.most - argument.least + 1));
      const x = Float32Array.from({ length: length * argument.width }, (_, k) => Math.sin(k));
      const limit = Float32Array.of(i % 2 ? 1e9 : -1e9); // all iterations, or one
      const { y, s } = await model.run({ x: { data: x, shape: [length, argument.width] }, limit });
      if (s.length !== length || !y.every(Number.isFinite)) throw new Error(`run ${i}: ${s.length} of ${length}, ${y}`);
      last = y[0];
    }
    return last;
  };
  return { ...holds(), crossings: model.info().crossings };
"""


@pytest.mark.fresh_page
@pytest.mark.parametrize("backend", RUNS)
def test_runs_of_changing_sizes_hold_what_was_planned(page: Page, tmp_path: Path, backend: str) -> None:
    made = onnx.parser.parse_model(MODEL)
    weights = {"w": random((WIDTH, INNER)) / WIDTH**0.5, "v": random((INNER, WIDTH), 1)}
    made.graph.initializer.extend(onnx.numpy_helper.from_array(a, n) for n, a in weights.items())
    onnx.save(made, tmp_path / "encoder.onnx")
    report = tmp_path / "report.json"
    options = ("--dim", f"length={LEAST}..{MOST}", "--targets", backend, "--report", str(report))
    with serve(compile_site(tmp_path / "encoder.onnx", tmp_path, *options)) as site:
        open_bundle(page, site, "bundle", backend)
        given: dict[str, Any] = {"backend": backend, "least": LEAST, "most": MOST, "width": WIDTH}
        loaded = value(page, HOLD, given)
        heap = measure_heap(page)
        value(page, "return again(20);")
        warm, before = value(page, "return holds();"), heap()
        value(page, f"return again({RUNS[backend]});")
        grown, after = heap() - before, value(page, "return holds();")
    target = json.loads(report.read_text())["targets"][backend]
    planned = target["bytes"]["memory" if backend == "wasm" else "device"]
    assert abs(loaded["bytes"] - planned) <= 0.05 * planned
    assert after["bytes"] == loaded["bytes"]
    assert after == warm
    assert loaded.get("crossings") == target.get("crossings") == (None if backend == "wasm" else 1)  # the condition
    assert grown < 200_000  # of a thousand runs the inputs alone come to 12 MB
