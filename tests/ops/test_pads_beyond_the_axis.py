"""Pads that are longer than what they repeat: as NumPy, to which ONNX's text refers, and which its reference calls."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx.reference import ReferenceEvaluator
from onnx_models import from_text, onnxruntime_results, random
from webnn_compile.errors import InputError, UnsupportedError

TARGETS = ["native", "wasm", "c", "webgpu", "webgl"]
MODES = ("reflect", "wrap", "edge")
PADS = ((3, 0), (0, 3), (5, 4), (7, 11), (1, 1))
SIZES = (1, 2, 3, 5)


def pad(text: str) -> onnx.ModelProto:
    return from_text(text, 19)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", MODES)
def test_of_fixed_sizes(mode: str, target: str) -> None:
    need_driver(target)
    cases = [(n, pads) for n in SIZES for pads in PADS]
    inputs = ", ".join(f"float[2, {n}] x{n}" for n in SIZES)
    outputs = ", ".join(f"float[2, {n + sum(p)}] y{i}" for i, (n, p) in enumerate(cases))
    pads = ", ".join(f"int64[2] k{i} = {{{a}, {b}}}" for i, (_, (a, b)) in enumerate(cases))
    nodes = " ".join(f'y{i} = Pad <mode = "{mode}"> (x{n}, k{i}, , last)' for i, (n, _) in enumerate(cases))
    made = pad(f"({inputs}) => ({outputs}) <{pads}, int64[1] last = {{1}}> {{ {nodes} }}")
    feeds = {f"x{n}": random((2, n), n) for n in SIZES}
    got = webnn_compile.compile(made, target).run(feeds)
    want = ReferenceEvaluator(made).run(None, feeds)
    assert isinstance(want, list)
    for value, expected in zip(made.graph.output, want, strict=True):
        np.testing.assert_array_equal(got[value.name], expected)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", MODES)
def test_of_sizes_that_vary(mode: str, target: str) -> None:
    """Pads of constants, and of a size; where one element is left after cropping, too. Nothing cannot be repeated."""
    need_driver(target)
    made = pad(f"""(float[n] x, float[m] z) => (float[a] y, float[b] w, float[c] u)
      <int64[2] k = {{5, 4}}, int64[1] none = {{0}}, int64[2] cut = {{-1, 3}}> {{
        y = Pad <mode = "{mode}"> (x, k)
        more = Shape(z)
        pads = Concat <axis = 0> (more, none)
        w = Pad <mode = "{mode}"> (x, pads)
        two = Concat <axis = 0> (x, z)
        u = Pad <mode = "{mode}"> (two, cut)
      }}""")
    compiled = webnn_compile.compile(made, target, dims={"n": (0, 8), "m": (0, 8)})
    for n, m in ((1, 8), (2, 5), (3, 2), (8, 1), (4, 0), (1, 1)):
        x, z = random((n,), n), random((m,), m + 10)
        got = compiled.run({"x": x, "z": z})
        np.testing.assert_array_equal(got["y"], np.pad(x, (5, 4), mode=mode))  # type: ignore[call-overload]
        np.testing.assert_array_equal(got["w"], np.pad(x, (m, 0), mode=mode))  # type: ignore[call-overload]
        both = np.concatenate([x, z])[1:]
        np.testing.assert_array_equal(got["u"], np.pad(both, (0, 3), mode=mode))  # type: ignore[call-overload]
    for n, m in ((0, 8), (0, 0)):
        with pytest.raises(InputError, match=rf"Pad .*: mode '{mode}' has nothing to repeat in \[n\] in this run"):
            compiled.run({"x": random((n,)), "z": random((m,))})


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_padded_by_nothing(mode: str) -> None:
    made = pad(f"""(float[n] x, float[m] z) => (float[b] w) <int64[1] none = {{0}}> {{
        more = Shape(z)
        pads = Concat <axis = 0> (more, none)
        w = Pad <mode = "{mode}"> (x, pads)
      }}""")
    compiled = webnn_compile.compile(made, dims={"n": (0, 8), "m": (0, 8)})
    (got,) = compiled.run({"x": random((0,)), "z": random((0,))}).values()
    assert got.shape == (0,)
    with pytest.raises(InputError, match=r"has nothing to repeat in \[n\] in this run"):
        compiled.run({"x": random((0,)), "z": random((2,))})


@pytest.mark.parametrize("mode", MODES)
def test_what_is_cropped_entirely(mode: str) -> None:
    made = pad(f'(float[4] x) => (float[2] y) <int64[2] k = {{-4, 2}}> {{ y = Pad <mode = "{mode}"> (x, k) }}')
    with pytest.raises(UnsupportedError, match=rf"mode '{mode}' has nothing to repeat in \[4\]; check the input"):
        webnn_compile.compile(made)


@pytest.mark.parametrize("mode", MODES)
def test_pads_that_onnxruntime_takes(mode: str) -> None:
    made = pad(f'(float[4] x) => (float[a] y) <int64[2] k = {{3, 3}}> {{ y = Pad <mode = "{mode}"> (x, k) }}')
    feeds = {"x": random((4,))}
    np.testing.assert_array_equal(webnn_compile.compile(made).run(feeds)["y"], onnxruntime_results(made, feeds)["y"])
