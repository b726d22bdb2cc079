"""Functions of float64, against NumPy in longer arithmetic over dense arguments."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
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
    assert (np.abs(got - want) / want).max() < 1e-13
