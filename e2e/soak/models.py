"""Models of all kinds, small, with inputs of several sizes and the results of onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from digits import MODEL as DIGITS

from benchmarks.generate import lstm

Array = np.ndarray[Any, np.dtype[Any]]
Feeds = Mapping[str, Array]

ENCODER = """
<ir_version: 10, opset_import: ["" : 18]>
encoder (float[length, 16] x, float limit) => (float[16] y, float[length] s)
<int64[1] rows = {0}, int64[1] columns = {1}, int64 three = {3}, bool yes = {1}>
{
  t = Transpose <perm = [1, 0]> (x)
  scores = MatMul(x, t)
  p = Softmax(scores)
  mixed = MatMul(p, x)
  last = Loop(three, yes, mixed) <body = body (int64 i, bool c, float[length, 16] h)
                                      => (bool goes_on, float[length, 16] next) {
    bent = Tanh(h)
    next = Add(bent, x)
    top = ReduceMax <keepdims = 0> (next)
    goes_on = Less(top, limit)
  }>
  y = ReduceMean <keepdims = 0> (last, rows)
  s = ReduceSum <keepdims = 0> (last, columns)
}
"""
STREAM = """
<ir_version: 10, opset_import: ["" : 18]>
stream (float[4, 32] x, float[4, 32] before) => (float[4, 32] y, float[4, 32] after)
{
  half = Mul(before, w)
  sum = Add(half, x)
  after = Tanh(sum)
  y = Exp(after)
}
"""
"""A recurrence: `before` of a run is `after` of the one before."""
LONGEST = 48


@dataclass(frozen=True)
class Soaked:
    """A model, what it is compiled with, and sequences of inputs. One with states runs each from the beginning."""

    options: tuple[str, ...]
    build: Callable[[], onnx.ModelProto]
    draw: Callable[[np.random.Generator], Feeds]
    states: Mapping[str, str] | None = None
    runs: int = 1

    def sequences(self, count: int) -> list[list[Feeds]]:
        generator = np.random.default_rng(7)
        return [[self.draw(generator) for _ in range(self.runs)] for _ in range(count)]


def _digit(generator: np.random.Generator) -> Feeds:
    return {"image": generator.random((1, 1, 32, 32), np.float32)}


def _sentence(generator: np.random.Generator) -> Feeds:
    length = int(generator.integers(1, LONGEST + 1))
    limit = np.float32(generator.choice([-1e9, 1e9]))  # of a loop that ends at once, or goes on
    return {"x": generator.standard_normal((length, 16), np.float32), "limit": np.asarray(limit)}


def _chunk(generator: np.random.Generator) -> Feeds:
    return {"x": generator.standard_normal((4, 32), np.float32)}


def _stream() -> onnx.ModelProto:
    made = onnx.parser.parse_model(STREAM)
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.full((4, 32), 0.5, np.float32), "w"))
    return made


def _lstm() -> onnx.ModelProto:
    return lstm(steps=12, size=32, layers=1)


def _steps(generator: np.random.Generator) -> Feeds:
    (x,) = _lstm().graph.input
    shape = [d.dim_value for d in x.type.tensor_type.shape.dim]
    return {x.name: generator.standard_normal(shape, np.float32)}


MODELS: Mapping[str, Soaked] = {
    "digits": Soaked((), lambda: onnx.load(DIGITS), _digit),
    "digits-int8": Soaked(("--weights", "int8"), lambda: onnx.load(DIGITS), _digit),
    "sizes": Soaked(("--dim", f"length=1..{LONGEST}"), lambda: onnx.parser.parse_model(ENCODER), _sentence),
    "lstm": Soaked((), _lstm, _steps),
    "states": Soaked(("--state", "before=after"), _stream, _chunk, {"before": "after"}, 6),
}
"""Convolutions, weights in few bits, sizes and loops of each run, recurrent layers, what outlives a run."""


def references(name: str, path: Path, sequences: list[list[Feeds]]) -> list[list[dict[str, Array]]]:
    """The outputs of each run, by onnxruntime. States begin as zeros."""
    import onnxruntime

    session = onnxruntime.InferenceSession(path)
    outputs = [o.name for o in session.get_outputs()]
    pairs = MODELS[name].states or {}
    shapes = {i.name: i.shape for i in session.get_inputs()}
    found = []
    for feeds in sequences:
        kept = {before: np.zeros(shapes[before], np.float32) for before in pairs}
        played = []
        for feed in feeds:
            results = dict(zip(outputs, session.run(None, {**feed, **kept}), strict=True))
            kept = {before: results[after] for before, after in pairs.items()}
            played.append({k: v for k, v in results.items() if k not in pairs.values()})
        found.append(played)
    return found
