"""A Cast from float64 to a float of few bits rounds once, to the nearest value of all, halfway to even."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import webnn_compile
from drivers import need_driver
from onnx import TensorProto
from onnx_models import Array, model, node

TYPES = {
    TensorProto.BFLOAT16: ml_dtypes.bfloat16,
    TensorProto.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn,
    TensorProto.FLOAT8E4M3FNUZ: ml_dtypes.float8_e4m3fnuz,
    TensorProto.FLOAT8E5M2: ml_dtypes.float8_e5m2,
    TensorProto.FLOAT8E5M2FNUZ: ml_dtypes.float8_e5m2fnuz,
}


def magnitudes(dtype: type) -> Array:
    """The finite ones in order, from 0, as float64."""
    count = 1 << (8 * np.dtype(dtype).itemsize - 1)
    with np.errstate(invalid="ignore"):
        words = np.arange(count, dtype=f"u{np.dtype(dtype).itemsize}").view(dtype).astype(np.float64)
    return words[np.isfinite(words)]


def samples(dtype: type) -> Array:
    """Each finite number, what lies halfway between neighbours and a step of float64 and 2**-40 of it to each side;
    the ends of the range, and what is no number."""
    sizes = magnitudes(dtype)
    sizes = np.concatenate([sizes[:: max(len(sizes) // 300, 1)], sizes[:4], sizes[-4:]])  # subnormal ones, too
    every = magnitudes(dtype)
    at = np.searchsorted(every, sizes)
    after = np.append(every, 2 * every[-1] - every[-2])[at + 1]
    ties = (every[at] + after) / 2
    beside = [f(ties) for f in (lambda t: np.nextafter(t, 0), lambda t: np.nextafter(t, np.inf))]
    near = [ties * (1 - 2.0**-40), ties * (1 + 2.0**-40), every[at] * (1 + 2.0**-40)]
    ends = [0.0, 5e-324, 1e-300, 1e300, np.inf, 2.0**128, 3.5e38]
    values = np.concatenate([every[at], ties, *beside, *near, ends])
    return np.concatenate([values, -values, [np.nan]])


def nearest(x: Array, dtype: type, *, saturate: bool) -> Array:
    """By the table of all numbers, in float64; beyond them as ONNX's Cast says."""
    every = magnitudes(dtype)
    step = every[-1] - every[-2]
    every = np.append(every, every[-1] + step)  # what rounds to it is beyond
    size = np.minimum(np.abs(x), every[-1])
    upper = np.clip(np.searchsorted(every, size), 1, len(every) - 1)
    low, high = size - every[upper - 1], every[upper] - size
    chosen = np.where((high < low) | ((high == low) & (upper % 2 == 0)), upper, upper - 1)
    found = every[chosen]
    beyond = found == every[-1]
    without = np.inf if dtype in (ml_dtypes.bfloat16, ml_dtypes.float8_e5m2) else np.nan
    found = np.copysign(np.where(beyond, every[-2] if saturate else without, found), x)
    if dtype in (ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz):
        found = np.where(found == 0, 0.0, found)
    return np.where(np.isnan(x), np.nan, found).astype(np.float32)


@pytest.mark.parametrize("number", TYPES, ids=TensorProto.DataType.Name)
def test_the_reference_is_that_of_ml_dtypes(number: int) -> None:
    """Which rounds once from float32."""
    with np.errstate(over="ignore"):
        x = samples(TYPES[number]).astype(np.float32)
    want = x.astype(TYPES[number]).astype(np.float32)
    got = nearest(x.astype(np.float64), TYPES[number], saturate=False)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("target", webnn_compile.TARGETS)
def test_all_types(target: str) -> None:
    """In one model: those of eight bits saturate, or do not; bfloat16 is infinite beyond its range."""
    need_driver(target)
    x = {n: samples(dtype) for n, dtype in TYPES.items()}
    kinds = [(n, saturate) for n in TYPES for saturate in (1, 0)]
    nodes = [node("Cast", [f"x{n}"], [f"y{n}_{s}"], to=n, saturate=s) for n, s in kinds]
    proto = model(nodes, {f"x{n}": a.shape for n, a in x.items()}, [f"y{n}_{s}" for n, s in kinds], opset=19)
    for value in proto.graph.input:
        value.type.tensor_type.elem_type = TensorProto.DOUBLE
    with np.errstate(over="ignore"):
        got = webnn_compile.compile(proto, target=target).run({f"x{n}": a for n, a in x.items()})
        for n, saturate in kinds:
            dtype = TYPES[n]
            want = nearest(x[n], dtype, saturate=bool(saturate) and n != TensorProto.BFLOAT16)
            twice = x[n].astype(np.float32).astype(dtype).astype(np.float32)
            assert saturate or np.mean((want != twice) & ~np.isnan(x[n])) > 0.1
            result = got[f"y{n}_{saturate}"]
            np.testing.assert_array_equal(result, want)
            np.testing.assert_array_equal(np.signbit(result[want == 0]), np.signbit(want[want == 0]))


def test_powers_of_two() -> None:
    """Upwards from what float32 takes for one."""
    x = np.asarray([1, 1 + 2.0**-40, 2.0**100 * (1 + 2.0**-50), 3 - 2.0**-50, 0.0], np.float64)
    proto = model([node("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E8M0)], {"x": x.shape}, ["y"], opset=24)
    proto.graph.input[0].type.tensor_type.elem_type = TensorProto.DOUBLE
    (got,) = webnn_compile.compile(proto).run({"x": x}).values()
    np.testing.assert_array_equal(got, np.asarray([1, 2, 2.0**101, 4, 2.0**-127], np.float32))


@pytest.mark.parametrize("folded", [False, True])
def test_of_constants_and_by_casts_like_others(folded: bool) -> None:
    x = samples(ml_dtypes.bfloat16)
    nodes = [
        node("Cast", ["like"], ["b"], to=TensorProto.BFLOAT16),
        node("CastLike", ["x", "b"], ["c"]),
        node("Cast", ["c"], ["y"], to=TensorProto.FLOAT),
    ]
    proto = model(nodes, {"like": [1]} if folded else {"x": x.shape, "like": [1]}, ["y"], {"x": x} if folded else {})
    if not folded:
        proto.graph.input[0].type.tensor_type.elem_type = TensorProto.DOUBLE
    feeds = {"like": np.ones(1, np.float32), **({} if folded else {"x": x})}
    (got,) = webnn_compile.compile(proto).run(feeds).values()
    np.testing.assert_array_equal(got, nearest(x, ml_dtypes.bfloat16, saturate=False))
