"""Sizes that do not fit within a loop or a branch: a run that takes it ends with an error, another one does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import Array, assert_close, from_text, onnxruntime_results, random
from webnn_compile.errors import InputError

TARGETS = ["native", "wasm", "c", "webgpu", "webgl"]

LARGEST = "v, i = TopK(x, k) p = ReduceSum <keepdims = 0> (v)"
"""The sum of the five largest elements of x."""


@dataclass(frozen=True)
class Region:
    """A model of `x`, of 1 to 8 elements, whose sum of the five largest is inside a structure; `others` are inputs by
    which it runs, `none` those by which it does not."""

    text: str
    others: dict[str, Array]
    none: dict[str, Array] | None = None


MODELS = {
    "then": Region(
        f"""(float[n] x, bool c) => (float y) <int64[1] k = {{5}}> {{
          y = If (c) <then_branch = a () => (float p) {{ {LARGEST} }},
                      else_branch = b () => (float q) {{ q = ReduceMax <keepdims = 0> (x) }}>
        }}""",
        {"c": np.asarray(True)},
        {"c": np.asarray(False)},
    ),
    "else": Region(
        f"""(float[n] x, bool c) => (float y) <int64[1] k = {{5}}> {{
          y = If (c) <then_branch = a () => (float q) {{ q = ReduceMax <keepdims = 0> (x) }},
                      else_branch = b () => (float p) {{ {LARGEST} }}>
        }}""",
        {"c": np.asarray(False)},
        {"c": np.asarray(True)},
    ),
    "loop": Region(
        f"""(float[n] x, int64 m) => (float y) <int64[1] k = {{5}}, bool yes = {{1}}, float zero = {{0}}> {{
          y = Loop (m, yes, zero) <body = b (int64 t, bool c, float s) => (bool d, float u) {{
            d = Identity(c) {LARGEST} u = Add(s, p)
          }}>
        }}""",
        {"m": np.asarray(3, np.int64)},
        {"m": np.asarray(0, np.int64)},
    ),
    "loop-by-condition": Region(
        f"""(float[n] x, bool go) => (float y) <int64[1] k = {{5}}, int64 m = {{4}}, float zero = {{0}}> {{
          y = Loop (m, go, zero) <body = b (int64 t, bool c, float s) => (bool d, float u) {{
            {LARGEST} u = Add(s, p) top = ReduceMax <keepdims = 0> (x) least = Mul(top, s) d = Less(u, least)
          }}>
        }}""",
        {"go": np.asarray(True)},
        {"go": np.asarray(False)},
    ),
    "scan": Region(
        f"""(float[n] x, float[3] w) => (float[3] y) <int64[1] k = {{5}}> {{
          y = Scan (w) <num_scan_inputs = 1, body = b (float e) => (float u) {{ {LARGEST} u = Mul(e, p) }}>
        }}""",
        {"w": random((3,), 3)},
    ),
    "branch-in-loop": Region(
        f"""(float[n] x, int64 m) => (float y)
        <int64[1] k = {{5}}, bool yes = {{1}}, float zero = {{0}}, int64 two = {{2}}> {{
          y = Loop (m, yes, zero) <body = b (int64 t, bool c, float s) => (bool d, float u) {{
            d = Identity(c)
            late = Less(two, t)
            w = If (late) <then_branch = a () => (float p) {{ {LARGEST} }},
                           else_branch = o () => (float q) {{ q = Identity(zero) }}>
            u = Add(s, w)
          }}>
        }}""",
        {"m": np.asarray(5, np.int64)},
        {"m": np.asarray(3, np.int64)},
    ),
    "loop-in-branch": Region(
        f"""(float[n] x, bool c) => (float y)
        <int64[1] k = {{5}}, int64 m = {{2}}, bool yes = {{1}}, float zero = {{0}}> {{
          y = If (c) <then_branch = a () => (float w) {{
            w = Loop (m, yes, zero) <body = b (int64 t, bool g, float s) => (bool d, float u) {{
              d = Identity(g) {LARGEST} u = Add(s, p)
            }}>
          }}, else_branch = o () => (float q) {{ q = Identity(zero) }}>
        }}""",
        {"c": np.asarray(True)},
        {"c": np.asarray(False)},
    ),
}


def parsed(text: str) -> onnx.ModelProto:
    made = from_text(text, 18)
    onnx.checker.check_model(made)
    return made


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", MODELS)
def test_a_run_that_takes_it_is_an_error(kind: str, target: str) -> None:
    need_driver(target)
    region = MODELS[kind]
    made = parsed(region.text)
    compiled = webnn_compile.compile(made, target, dims={"n": (1, 8)})

    def right(n: int, others: dict[str, Array]) -> None:
        feeds = {"x": random((n,), n), **others}
        assert_close(compiled.run(feeds), onnxruntime_results(made, feeds))

    right(6, region.others)
    for n in (4, 1):
        with pytest.raises(InputError, match=r"^TopK \(node '.*'\): axis 0 of extent n is shorter than its k, 5 in th"):
            compiled.run({"x": random((n,)), **region.others})
        if region.none is not None:
            right(n, region.none)
    right(5, region.others)


@pytest.mark.parametrize("target", TARGETS)
def test_one_iteration_is_enough(target: str) -> None:
    """The size is that of the iteration: the last one asks for more than there is."""
    need_driver(target)
    made = parsed("""(float[n] x, int64 m) => (float y)
      <bool yes = {1}, float zero = {0}, int64[1] one = {1}, int64[1] flat = {1}> {
        y = Loop (m, yes, zero) <body = b (int64 t, bool c, float s) => (bool d, float u) {
          d = Identity(c)
          row = Reshape(t, flat)
          k = Add(row, one)
          v, i = TopK(x, k)
          p = ReduceSum <keepdims = 0> (v)
          u = Add(s, p)
        }>
      }""")
    compiled = webnn_compile.compile(made, target, dims={"n": (1, 8), "m": (0, 6)})
    for n, m in ((6, 6), (3, 3), (1, 0)):
        feeds = {"x": random((n,), n), "m": np.asarray(m, np.int64)}
        assert_close(compiled.run(feeds), onnxruntime_results(made, feeds))
    for n, m in ((3, 4), (1, 6)):
        with pytest.raises(InputError, match=r"TopK .*: axis 0 of extent n is shorter than its k"):
            compiled.run({"x": random((n,), n), "m": np.asarray(m, np.int64)})


OPERATORS = {
    "Split": (
        "int64[1] k = {5}",
        "h = Shape(x) r = Sub(h, k) g = Concat <axis = 0> (k, r) v, w = Split(x, g)",
    ),
    "Pad": ("int64[2] k = {-3, -2}", "v = Pad(x, k)"),
    "Gather": ("int64[2] k = {0, 4}", "v = Gather(x, k)"),
    "GatherND": ("int64[1, 1] k = {4}", "v = GatherND(x, k)"),
    "Tile": ("int64[1] k = {5}", "h = Shape(x) r = Sub(h, k) v = Tile(x, r)"),
}
"""Constants and nodes by which `v` is made of `x`, whose size is 5 at least."""


@pytest.mark.parametrize("op", OPERATORS)
def test_other_operators(op: str) -> None:
    constants, nodes = OPERATORS[op]
    made = parsed(f"""(float[n] x, int64 m) => (float y) <bool yes = {{1}}, float zero = {{0}}, {constants}> {{
        y = Loop (m, yes, zero) <body = b (int64 t, bool c, float s) => (bool d, float u) {{
          d = Identity(c) {nodes} p = ReduceSum <keepdims = 0> (v) u = Add(s, p)
        }}>
      }}""")
    compiled = webnn_compile.compile(made, dims={"n": (1, 8)})
    two, none = (np.asarray(m, np.int64) for m in (2, 0))
    feeds = {"x": random((7,)), "m": two}
    assert_close(compiled.run(feeds), onnxruntime_results(made, feeds))
    with pytest.raises(InputError, match=rf"^{op} \(node '.*'\): .* in this run; check the inputs"):
        compiled.run({"x": random((4,)), "m": two})
    assert_close(compiled.run({"x": random((4,)), "m": none}), {"y": np.zeros((), np.float32)})


def test_what_always_fits_is_not_tested() -> None:
    made = parsed(MODELS["loop"].text)
    compiled: Any = webnn_compile.compile(made, dims={"n": (5, 8)})
    assert not compiled.program.refusals
