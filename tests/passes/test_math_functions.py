"""Mathematical functions put together from arithmetic, against NumPy in float64 over dense arguments."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from vectors import Array, run_pass
from webnn_compile.codegen.llvm_function import render_kernel
from webnn_compile.codegen.llvm_module import LlvmModule
from webnn_compile.cpu.compile_for_cpu import lower_kernel
from webnn_compile.dtypes import F32, F64
from webnn_compile.errors import UnsupportedError
from webnn_compile.ir.lanes import Ramp, Splat, lanes_of
from webnn_compile.ir.nodes import Binary, Buffer, Const, Expr, Kernel, Load, Origin, Store, Unary
from webnn_compile.ir.rewrite import walk
from webnn_compile.ir.unlikely import Unlikely
from webnn_compile.ir.verify.place import unique
from webnn_compile.passes.legalise_floats import legalise_floats
from webnn_compile.passes.lower_math import FLOAT_FUNCTIONS, lower_math

erf = np.vectorize(math.erf, otypes=[np.float64])

Reference = Callable[[Array], Array]
ULP: dict[str, tuple[Reference, float, float, float]] = {
    "exp": (np.exp, -103, 88.72, 1),
    "log": (np.log, 1e-44, 3e38, 1),
    "log1p": (np.log1p, -0.9999999, 3e38, 3),
    "tanh": (np.tanh, -20, 20, 2),
    "sin": (np.sin, -3.4e38, 3.4e38, 3),
    "cos": (np.cos, -3.4e38, 3.4e38, 3),
    "tan": (np.tan, -3.4e38, 3.4e38, 4),
    "asin": (np.arcsin, -1, 1, 3),
    "acos": (np.arccos, -1, 1, 3),
    "atan": (np.arctan, -1e6, 1e6, 3),
    "sinh": (np.sinh, -89.41, 89.41, 4),
    "cosh": (np.cosh, -89.41, 89.41, 3),
    "asinh": (np.arcsinh, -1e30, 1e30, 3),
    "acosh": (np.arccosh, 1, 1e30, 4),
    "atanh": (np.arctanh, -0.9999999, 0.9999999, 2),
}
"""Reference, range of arguments, largest error in units of the last place."""


def lowered(op: str, x: Array) -> Array:
    return run_pass(lower_math, lambda a: Unary(op, a), np.asarray(x, np.float32))


def dense(low: float, high: float) -> Array:
    """Evenly spaced, there and as far as 9000, and every order of magnitude on both sides of zero and above the
    lowest."""
    size = np.geomspace(1e-42, max(abs(low), abs(high)), 20_000)
    even = np.linspace(low, high, 40_000), np.linspace(-9e3, 9e3, 40_000)
    x = np.concatenate([*even, size, -size, low + size[size > 1e-8]]).astype(np.float32)
    return x[(x >= np.float32(low)) & (x <= np.float32(high))]


@pytest.mark.parametrize("op", ULP)
def test_error_in_units_of_the_last_place(op: str) -> None:
    reference, low, high, limit = ULP[op]
    x = dense(low, high)
    want = reference(x.astype(np.float64))
    with np.errstate(over="ignore"):
        step = np.spacing(np.abs(want).astype(np.float32)).astype(np.float64)
    finite = np.isfinite(step)
    error = np.abs(lowered(op, x).astype(np.float64) - want)[finite] / step[finite]
    assert error.max() <= limit, f"{error.max()} at {x[finite][error.argmax()]!r}"


def test_every_function_is_tested() -> None:
    assert sorted(FLOAT_FUNCTIONS) == sorted([*ULP, "erf"])


def test_erf() -> None:
    x = dense(-6, 6)
    got = lowered("erf", x)
    assert np.abs(got - erf(x.astype(np.float64))).max() <= 4e-7
    assert np.abs(got).max() <= 1


@pytest.mark.parametrize(("op", "reference", "limit"), [("erf", erf, 5e-7), ("tanh", np.tanh, 2e-7)])
@pytest.mark.parametrize("divisor", [math.sqrt(2), -3.0, 1e-35])
def test_a_constant_divides_by_its_reciprocal(op: str, reference: Reference, limit: float, divisor: float) -> None:
    """But not one whose reciprocal is no float32; the function itself divides once."""
    x = dense(-9, 9)
    c = Const(divisor, F32)

    def expression(a: Expr) -> Expr:
        return Unary(op, Binary("/", a, Splat(c, lanes_of(a)) if lanes_of(a) > 1 else c))

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        argument = x.astype(np.float64) / float(np.float32(divisor))
        want = reference(np.clip(argument, -50, 50))
        got = run_pass(lower_math, expression, x)
    kept = np.isfinite(argument)
    assert np.abs(got - want)[kept].max() <= limit
    x0 = Buffer("x", (1,), F32)
    kernel = Kernel("f", (x0,), Store(x0, (Const(0),), expression(Load(x0, (Const(0),)))), Origin((), ()))
    body = lower_math(kernel).body
    by_constant = [n for n in walk(body) if isinstance(n, Binary) and n.op == "/" and n.b == c]
    assert bool(by_constant) == (abs(divisor) < 1e-30)


EDGES: dict[str, list[tuple[float, float]]] = {
    "exp": [(math.inf, math.inf), (-math.inf, 0), (0, 1), (200, math.inf), (-200, 0), (89, math.inf)],
    "log": [(math.inf, math.inf), (0, -math.inf), (-0.0, -math.inf), (-1, math.nan), (1, 0), (-math.inf, math.nan)],
    "log1p": [(math.inf, math.inf), (-1, -math.inf), (-1.5, math.nan), (0, 0), (-math.inf, math.nan)],
    "tanh": [(math.inf, 1), (-math.inf, -1), (0, 0), (1e30, 1)],
    "erf": [(math.inf, 1), (-math.inf, -1), (0, 0), (1e30, 1), (-1e30, -1)],
    "sin": [(math.inf, math.nan), (-math.inf, math.nan), (0, 0)],
    "cos": [(math.inf, math.nan), (0, 1)],
    "tan": [(math.inf, math.nan), (0, 0)],
    "asin": [(1.5, math.nan), (-math.inf, math.nan), (0, 0)],
    "acos": [(1.5, math.nan), (-1.5, math.nan), (1, 0), (math.inf, math.nan)],
    "atan": [(math.inf, math.pi / 2), (-math.inf, -math.pi / 2), (0, 0)],
    "sinh": [(math.inf, math.inf), (-math.inf, -math.inf), (0, 0), (100, math.inf)],
    "cosh": [(math.inf, math.inf), (-math.inf, math.inf), (0, 1)],
    "asinh": [(math.inf, math.inf), (-math.inf, -math.inf), (0, 0)],
    "acosh": [(math.inf, math.inf), (0.5, math.nan), (-1e10, math.nan), (1, 0), (-math.inf, math.nan)],
    "atanh": [(1, math.inf), (-1, -math.inf), (2, math.nan), (0, 0), (math.inf, math.nan)],
}


@pytest.mark.parametrize("op", FLOAT_FUNCTIONS)
def test_edges(op: str) -> None:
    x, want = np.asarray([*EDGES[op], (math.nan, math.nan)], np.float32).T
    np.testing.assert_allclose(lowered(op, x), want, rtol=1e-6)


@pytest.mark.parametrize("op", ["tanh", "sin", "tan", "asin", "atan", "sinh", "asinh", "atanh"])
def test_subnormal_arguments(op: str) -> None:
    """All of these are x, or nearly so, near zero."""
    x = np.asarray([1e-40, -1e-40, 1e-44], np.float32)
    np.testing.assert_allclose(lowered(op, x), x, rtol=1e-4, atol=2e-45)


@pytest.mark.parametrize("op", ["sin", "cos", "tan"])
@pytest.mark.parametrize("exponent", [-3, 0, 1, 12, 13, 31, 32, 63, 64, 100, 127])
def test_angles_near_multiples_of_a_right_angle(op: str, exponent: int) -> None:
    """Where the remainder loses most digits, on either side of each power of two that the reduction distinguishes."""
    x = (2.0**exponent * np.random.default_rng(exponent + 3).uniform(1, 2, 100_000)).astype(np.float32)
    sine, cosine = np.abs(np.sin(x.astype(np.float64))), np.abs(np.cos(x.astype(np.float64)))
    near = np.argsort(np.minimum(sine, cosine))[:2000]
    want = getattr(np, op)(x[near].astype(np.float64))
    np.testing.assert_allclose(lowered(op, x[near]), want, rtol=5e-7)


def test_seldom_needed_arithmetic_is_behind_a_branch() -> None:
    """Arithmetic of large angles, for vectors as for scalars."""
    for lanes in (1, 4):
        at = (Ramp(Const(0), lanes) if lanes > 1 else Const(0),)
        x, y = Buffer("x", (4,), F32), Buffer("y", (4,), F32)
        kernel = lower_math(Kernel("f", (x, y), Store(y, at, Unary("sin", Load(x, at)))))
        (seldom,) = (n for n in walk(kernel.body) if isinstance(n, Unlikely))
        assert len(list(unique(seldom.a))) > 3 * len(list(unique(seldom.b)))
        module = LlvmModule()
        render_kernel(lower_kernel(kernel), module)
        assert module.text("").count("br i1") == 1


def power(x: Array, y: Array) -> Array:
    x, y = (np.ascontiguousarray(a, np.float32) for a in np.broadcast_arrays(x, y))
    return run_pass(lower_math, lambda a, b: Binary("pow", a, b), x, y)


def test_power_of_positive_numbers() -> None:
    generator = np.random.default_rng(0)
    x = np.exp(generator.uniform(-30, 30, 50_000)).astype(np.float32)
    y = generator.uniform(-4, 4, x.size).astype(np.float32)
    want = np.power(x.astype(np.float64), y)
    tame = (want < 1e30) & (want > 1e-30)
    assert (np.abs(power(x, y) - want)[tame] / want[tame]).max() < 1e-5


def test_whole_powers_of_negative_numbers() -> None:
    x = -np.linspace(0.1, 9, 500).astype(np.float32)
    for y in (-3, -2, -1, 0, 1, 2, 3, 4, 5):
        np.testing.assert_allclose(power(x, np.asarray([y])), np.power(x.astype(np.float64), y), rtol=1e-5)
    assert np.isnan(power(x, np.asarray([0.5]))).all()


@pytest.mark.parametrize(
    ("x", "y", "want"),
    [
        (0, 0, 1),
        (0, 2, 0),
        (0, 0.5, 0),
        (0, -1, math.inf),
        (math.nan, 0, 1),
        (math.nan, 2, math.nan),
        (2, math.nan, math.nan),
        (math.inf, 2, math.inf),
        (math.inf, -1, 0),
        (-math.inf, 3, -math.inf),
        (0.5, math.inf, 0),
        (2, math.inf, math.inf),
        (2, -math.inf, 0),
        (10, 100, math.inf),
        (10, -100, 0),
        (1, 7, 1),
    ],
)
def test_edges_of_powers(x: float, y: float, want: float) -> None:
    np.testing.assert_array_equal(power(np.asarray([x]), np.asarray([y])), np.asarray([want], np.float32))


def remainders_of(dtype: type[np.float32 | np.float64]) -> tuple[Array, Array, Array]:
    """Dividends, divisors and remainders: of any bits, near multiples, ordinary numbers and all pairs of edges."""
    generator = np.random.default_rng(1)
    size = np.dtype(dtype).itemsize
    x, y = generator.bytes(20_000 * size), generator.bytes(20_000 * size)
    info = np.finfo(dtype)
    edges = [0, np.inf, np.nan, 1, 3, 5.5, 1e-3, info.max, info.tiny, info.tiny * 0.75, info.smallest_subnormal]
    some = np.asarray([*edges, *(-v for v in edges)], dtype)
    first, second = np.meshgrid(some, some)
    with np.errstate(all="ignore"):
        divisors = np.frombuffer(y, dtype)
        multiples = (divisors * generator.integers(0, 1000, divisors.size)).astype(dtype)
        ordinary = generator.uniform(-1000, 1000, (2, 20_000)).astype(dtype)
        dividends = np.concatenate([np.frombuffer(x, dtype), multiples, ordinary[0], first.ravel()])
        divisors = np.concatenate([divisors, divisors, ordinary[1], second.ravel()])
        return dividends, divisors, np.fmod(dividends, divisors)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("change", [lower_math, legalise_floats])
def test_remainders_are_exact(dtype: type[np.float32 | np.float64], change: Callable[[Kernel], Kernel]) -> None:
    """Bit by bit, signs of zeros and subnormal numbers included."""
    x, y, want = remainders_of(dtype)
    got = run_pass(change, lambda a, b: Binary("fmod", a, b), x, y)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got)[~np.isnan(want)], np.signbit(want)[~np.isnan(want)])


def test_remainders_that_round_down() -> None:
    x, y = np.random.default_rng(1).uniform(-1000, 1000, (2, 20_000)).astype(np.float32)
    got = run_pass(lower_math, lambda a, b: Binary("%", a, b), x, y)
    np.testing.assert_allclose(got, np.mod(x.astype(np.float64), y), atol=2e-4)


def test_predicates() -> None:
    x = np.asarray([np.nan, np.inf, -np.inf, 0, -1, 3e38], np.float32)
    np.testing.assert_array_equal(lowered("isnan", x), np.isnan(x))
    np.testing.assert_array_equal(lowered("isinf", x), np.isinf(x))


def test_a_function_of_float64_is_refused_with_its_node() -> None:
    x, y = Buffer("x", (), F64), Buffer("y", (), F64)
    kernel = Kernel("k", (x, y), Store(y, (), Unary("asinh", Load(x, ()))), Origin(("layer/asinh",), ("Asinh",)))
    with pytest.raises(UnsupportedError, match=r"asinh on float64 \(node layer/asinh\).*convert the model to float32"):
        lower_math(kernel)


def test_what_needs_no_lowering_stays_the_same_object() -> None:
    x, y = Buffer("x", (), F64), Buffer("y", (), F64)
    kernel = Kernel("k", (x, y), Store(y, (), Load(x, ()) * Const(2.0, F64)))
    assert lower_math(kernel) is kernel
