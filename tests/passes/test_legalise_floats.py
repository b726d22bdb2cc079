"""Functions for devices: against NumPy, and under the liberties that compilers of shaders take."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import webnn_compile.ir.evaluate_expression as interpreter
from vectors import Array, run_pass, vector_kernel
from webnn_compile.dtypes import F32, F64
from webnn_compile.ir.lanes import Splat
from webnn_compile.ir.nodes import Binary, Const, Expr, Kernel, Node, Unary
from webnn_compile.ir.rewrite import rewrite, walk
from webnn_compile.ir.verify import verify_kernel
from webnn_compile.passes.legalise_floats import legalise_floats
from webnn_compile.passes.lower_math import FLOAT_FUNCTIONS

erf = np.vectorize(math.erf, otypes=[np.float64])

RANGES: dict[str, tuple[Callable[[Any], Any], float, float]] = {
    "exp": (np.exp, -80, 80),
    "log": (np.log, 1e-37, 1e38),
    "log1p": (np.log1p, -0.999, 1e38),
    "tanh": (np.tanh, -30, 30),
    "erf": (erf, -6, 6),
    "sin": (np.sin, -3.4e38, 3.4e38),
    "cos": (np.cos, -3.4e38, 3.4e38),
    "tan": (np.tan, -1.5, 1.5),
    "asin": (np.arcsin, -1, 1),
    "acos": (np.arccos, -1, 1),
    "atan": (np.arctan, -1e6, 1e6),
    "sinh": (np.sinh, -80, 80),
    "cosh": (np.cosh, -80, 80),
    "asinh": (np.arcsinh, -1e30, 1e30),
    "acosh": (np.arccosh, 1, 1e30),
    "atanh": (np.arctanh, -0.999, 0.999),
}


def arguments(op: str) -> Array:
    _, low, high = RANGES[op]
    size = np.geomspace(1e-30, max(abs(low), abs(high)), 3000)
    x = np.concatenate([np.linspace(low, high, 3000), size, -size]).astype(np.float32)
    return x[(x >= low) & (x <= high)]


def assert_accurate(op: str, got: Array, x: Array) -> None:
    want = RANGES[op][0](x.astype(np.float64))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("op", FLOAT_FUNCTIONS)
def test_functions(op: str) -> None:
    x = arguments(op)
    assert_accurate(op, run_pass(legalise_floats, lambda a: Unary(op, a), x), x)


def test_sums_cancelled_by_the_compiler() -> None:
    """(a + c) - c becomes a, as Mesa does: nothing may depend on its rounding."""

    def cancel(kernel: Kernel) -> Kernel:
        def rule(n: Node) -> Expr | None:
            match n:
                case Binary("-", Binary("+", a, Const(x) | Splat(Const(x), _)), Const(y) | Splat(Const(y), _)) if (
                    x == y and n.dtype == F32
                ):
                    return a
            return None

        kernel = legalise_floats(kernel)
        return Kernel(kernel.name, kernel.params, rewrite(kernel.body, rule))

    for op in FLOAT_FUNCTIONS:
        x = arguments(op)
        assert_accurate(op, run_pass(cancel, lambda a, op=op: Unary(op, a), x), x)


@pytest.mark.parametrize("op", FLOAT_FUNCTIONS)
def test_subnormal_numbers_taken_for_zero(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def flushed(a: Array) -> Array:
        a = np.asarray(a)
        return (
            np.where(np.abs(a) < np.float32(2.0**-126), np.copysign(np.float32(0), a), a)
            if a.dtype == np.float32
            else a
        )

    binary, unary = interpreter.compute_binary, interpreter.apply_unary
    monkeypatch.setattr(interpreter, "compute_binary", lambda op, a, b: flushed(binary(op, flushed(a), flushed(b))))
    monkeypatch.setattr(interpreter, "apply_unary", lambda op, a: flushed(unary(op, flushed(a))))
    x = arguments(op)
    assert_accurate(op, run_pass(legalise_floats, lambda a: Unary(op, a), x), x)


def test_logarithms_of_subnormal_numbers() -> None:
    x = np.geomspace(1.5e-45, 1e-38, 500).astype(np.float32)
    np.testing.assert_allclose(
        run_pass(legalise_floats, lambda a: Unary("log", a), x), np.log(x.astype(np.float64)), 1e-6
    )


EDGES = np.asarray([np.nan, -np.nan, np.inf, -np.inf, 0, -0.0, 1, -1, 3.4e38, 1e-45], np.float32)


@pytest.mark.parametrize(("op", "want"), [("isnan", np.isnan), ("isinf", np.isinf), ("log", np.log), ("sin", np.sin)])
def test_edges(op: str, want: Callable[[Array], Array]) -> None:
    with np.errstate(all="ignore"):
        expected = want(EDGES.astype(np.float64))
    np.testing.assert_allclose(run_pass(legalise_floats, lambda a: Unary(op, a), EDGES), expected, rtol=1e-6)


def test_questions_to_floats_are_put_to_their_bits() -> None:
    """x != x and x == infinity are false to a compiler that assumes numbers."""
    for op in ("isnan", "isinf"):
        kernel = legalise_floats(vector_kernel(lambda a, op=op: Unary(op, a), EDGES))
        compared = [n for n in walk(kernel.body) if isinstance(n, Binary) and n.op in ("==", "!=", "<")]
        assert compared
        assert all(n.a.dtype != F32 for n in compared)


@pytest.mark.parametrize("op", FLOAT_FUNCTIONS)
def test_nothing_is_left_that_devices_lack(op: str) -> None:
    kernel = legalise_floats(vector_kernel(lambda a: Unary(op, a), EDGES))
    verify_kernel(kernel, "lower_math")
    assert not any(isinstance(n, Expr) and n.dtype == F64 for n in walk(kernel.body))
