"""Functions of float64, against NumPy in longer arithmetic over dense arguments."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from vectors import Array, run_pass
from webnn_compile.ir.nodes import Binary, Unary
from webnn_compile.passes.double_functions import DOUBLE_FUNCTIONS
from webnn_compile.passes.lower_math import lower_math

ULP: dict[str, tuple[Callable[[Array], Array], float, float, float]] = {
    "exp": (np.exp, -744, 709.7, 2),
    "log": (np.log, 5e-324, 1e308, 2),
    "log1p": (np.log1p, -0.999, 1e308, 3),
    "tanh": (np.tanh, -30, 30, 2),
    "erf": (np.vectorize(math.erf, otypes=[np.longdouble]), -8, 8, 4),
}
"""Reference, range of arguments, largest error in units of the last place."""


def lowered(op: str, x: Array) -> Array:
    return run_pass(lower_math, lambda a: Unary(op, a), x)


def test_every_function_is_tested() -> None:
    assert ULP.keys() == DOUBLE_FUNCTIONS.keys()


@pytest.mark.parametrize("op", ULP)
def test_error_in_units_of_the_last_place(op: str) -> None:
    reference, low, high, limit = ULP[op]
    size = np.geomspace(1e-310, max(abs(low), abs(high)), 20_000)
    x = np.concatenate([np.linspace(low, high, 20_000), size, -size])
    x = x[(x >= low) & (x <= high)]
    want = reference(x.astype(np.longdouble))
    error = np.abs(lowered(op, x) - want) / np.spacing(np.abs(want).astype(np.float64))
    assert error.max() <= limit, f"{error.max()} at {x[error.argmax()]!r}"


EDGES: dict[str, list[tuple[float, float]]] = {
    "exp": [(math.inf, math.inf), (-math.inf, 0), (0, 1), (710, math.inf), (-750, 0), (1e300, math.inf)],
    "log": [(math.inf, math.inf), (0, -math.inf), (-0.0, -math.inf), (-1, math.nan), (1, 0), (-math.inf, math.nan)],
    "log1p": [(math.inf, math.inf), (-1, -math.inf), (-2, math.nan), (0, 0), (-math.inf, math.nan)],
    "tanh": [(math.inf, 1), (-math.inf, -1), (0, 0), (1e300, 1)],
    "erf": [(math.inf, 1), (-math.inf, -1), (0, 0), (-1e300, -1)],
}


@pytest.mark.parametrize("op", EDGES)
def test_edges(op: str) -> None:
    x, want = np.asarray([*EDGES[op], (math.nan, math.nan)]).T
    np.testing.assert_array_equal(lowered(op, np.ascontiguousarray(x)), want)


def test_powers() -> None:
    generator = np.random.default_rng(0)
    x, y = np.exp(generator.uniform(-300, 300, 20_000)), generator.uniform(-2, 2, 20_000)
    want = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
    got = run_pass(lower_math, lambda a, b: Binary("pow", a, b), x, y)
    assert (np.abs(got - want) / np.spacing(want.astype(np.float64))).max() <= 1


def test_whole_powers_of_whole_numbers_are_exact() -> None:
    pairs = [(x, y) for x in (*range(2, 100), 1000) for y in range(1, 53) if x**y < 2**53]
    x, y = np.array(pairs, np.float64).T
    got = run_pass(lower_math, lambda a, b: Binary("pow", a, b), np.ascontiguousarray(x), np.ascontiguousarray(y))
    assert [int(p) for p in got] == [x**y for x, y in pairs]


def test_powers_at_the_ends_of_the_range() -> None:
    x, y = (np.array(v) for v in zip(*((a, b) for a in ENDS for b in ENDS), strict=True))
    with np.errstate(all="ignore"):
        want = np.power(x, y)
    got = run_pass(lower_math, lambda a, b: Binary("pow", a, b), x, y)
    np.testing.assert_allclose(got, want, rtol=4e-16, atol=5e-324)


@pytest.mark.parametrize("target", ["native", "wasm", "c"])
def test_compiled_powers_of_integers_are_exact(target: str) -> None:
    need_driver(target)
    made = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 18]> g (int64[6] x, float[6] y) => (int64[6] z) { z = Pow(x, y) }'
    )
    x, y = [10, 10, 2, 3, 7, -3], [15, 14, 50, 30, 15, 31]
    feeds = {"x": np.array(x), "y": np.array(y, np.float32)}
    got = webnn_compile.compile(made, target).run(feeds)["z"]
    assert got.tolist() == [a**b for a, b in zip(x, y, strict=True)]


ENDS = [s * v for s in (1, -1) for v in (0, 5e-324, 1e-310, 1e-300, 0.5, 1 - 2**-53, 1, 1 + 2**-52, 3, 2**53, 1e300)]
ENDS += [math.inf, -math.inf, math.nan]
