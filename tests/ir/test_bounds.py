"""Proofs that accesses stay in their buffers: none that is wrong, and those that operators and schedules rely on."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index_expressions import (
    COUNT,
    FLATTENED,
    GROWN,
    INDICES,
    INDICES_OF_SIZES,
    LEFT,
    ROW,
    SIZES,
    STEP,
    TABLE,
    VARIABLES,
    A,
    B,
    I,
    J,
    K,
    iterations,
    value,
)
from webnn_compile.dtypes import F32, I32
from webnn_compile.ir.affine import affine
from webnn_compile.ir.bounds import unproved_index
from webnn_compile.ir.facts import range_of
from webnn_compile.ir.nodes import Binary, Buffer, Const, Expr, Load, Var


@st.composite
def _conditions(draw: st.DrawFn, indices: st.SearchStrategy[Expr]) -> Expr:
    made: Expr | None = None
    for _ in range(draw(st.integers(1, 3))):
        left, right = draw(indices), draw(st.one_of(st.integers(-10, 20).map(Const), indices))
        one = draw(st.sampled_from([left < right, left <= right, left >= right, ~(left < right), ~(left <= right)]))
        made = one if made is None else made & one
    assert made is not None
    return made


@settings(max_examples=400)
@given(INDICES, st.integers(1, 12), st.one_of(st.none(), _conditions(INDICES)))
def test_a_proof_holds_for_every_iteration(index: Expr, extent: int, guard: Expr | None) -> None:
    _check_proof(VARIABLES, index, extent, guard)


@settings(max_examples=200)
@given(INDICES_OF_SIZES, st.integers(1, 12), st.one_of(st.none(), _conditions(INDICES_OF_SIZES)))
def test_a_proof_holds_for_every_size(index: Expr, extent: int, guard: Expr | None) -> None:
    _check_proof(SIZES, index, extent, guard)


def _sums_of_products() -> st.SearchStrategy[Expr]:
    """Sums of loops of sizes times sizes, as the numbers of elements are, their quotients and remainders by sizes, and
    what these come to again."""
    atoms = st.sampled_from([A, B, STEP, ROW, I, Const(1), Const(2)])
    terms = st.builds(lambda c, a, b: a * b * c, st.sampled_from([-2, -1, 1, 2]), atoms, atoms)
    sums = st.lists(terms, min_size=1, max_size=3).map(lambda several: sum(several[1:], several[0]))
    divisors = st.sampled_from([A, B, A * B, Const(3)])

    def divided(x: Expr, n: Expr, other: Expr, kind: str) -> Expr:
        quotient, rest = Binary("//", x, n), Binary("%", x, n)
        joined = (quotient + other) * n + rest
        return {"//": quotient, "%": rest, "+": quotient + other, "-": other - quotient, "joined": joined}[kind]

    kinds = st.sampled_from(["//", "%", "+", "-", "joined"])
    once = st.builds(divided, sums, divisors, sums, kinds)
    return st.one_of(sums, once, st.builds(divided, once, divisors, sums, kinds))


@settings(max_examples=300, deadline=None)
@given(_sums_of_products())
def test_the_interval_and_the_canonical_form_of_sums_of_products(index: Expr) -> None:
    interval, form = range_of(index), affine(index).to_expr()
    assert interval is not None
    for at in iterations((I, A, B, STEP, ROW), {}):
        exact = value(index, at)
        assert interval[0] <= exact <= interval[1]
        assert value(form, at) == exact


def _check_proof(variables: Sequence[Var], index: Expr, extent: int, guard: Expr | None) -> None:
    if unproved_index(Load(Buffer("x", (extent,), F32), (index,), guard)) is not None:
        return
    for at in iterations(variables, {}):
        with contextlib.suppress(ZeroDivisionError):  # of NONE, which has no meaning
            if guard is None or value(guard, at):
                assert 0 <= value(index, at) < extent


def clamped(e: Expr, last: int) -> Expr:
    return Binary("min", Binary("max", e, Const(0)), Const(last))


RUN_TIME = Load(Buffer("positions", (5,), I32), (I,))
T = Var("t", 64)
FLAT = I * 64 + T  # invocations of workgroups


@pytest.mark.parametrize(
    ("index", "extent", "guard"),
    [
        (I * 3 + J, 15, None),
        ((I * 7 + K) // 7, 5, None),
        (Load(TABLE, (I,)) + 2, 7, None),
        (clamped(RUN_TIME, 3) * 3 + J, 12, None),
        (I + J - 1, 5, (Const(1) <= I + J) & (I + J - 1 < 5)),
        (I * 2 + J * 2 - 2, 9, (Const(0) <= I * 2 + J * 2 - 2) & (I * 2 + J * 2 - 2 < 9)),
        (Binary("max", I - 2, Const(2) - I), 3, None),  # |i - 2|
        (Binary("min", K, Const(6) - K), 4, None),
        (FLAT // 36, 2, FLAT < 72),
        (I * 8 + T // 8, 12, FLAT < 96),
        ((I * 8 + T // 8) // 6, 2, FLAT < 96),
        (I * 4 + J, 7, I * 4 < 6),  # a multiple of 4 below 6 is 4 at most
        (RUN_TIME, 5, (Const(0) <= RUN_TIME) & (RUN_TIME < 5)),
        (A - 1 - STEP, 3, None),  # a sequence from its end
        (FLATTENED // B, 3, None),
        (STEP * (B + 2) - STEP * (B + 1), 3, None),
        (STEP * B - STEP + ROW, 6, None),
        ((STEP * (B * 2 - 1) + ROW) // B, 5, None),
        (LEFT + 3 - A, 1, None),
        (GROWN - A - STEP, 1, Const(0) <= GROWN - A - STEP),  # what an iteration adds to a value that grows
        (GROWN, 6, None),
        ((J * A * B + FLATTENED) // (A * B), 3, None),
        ((I * A * B + STEP * B + ROW) // (A * B), 5, None),
        (I, 3, I < A),
        (I + J - 1, 3, (Const(0) <= I + J - 1) & (I + J - 1 < A)),
        (I + 2 * J, 4, I + 2 * J < A * B - 2),
        (K, 2, K < (A + 1) // 2),
        (T // COUNT, 2, T < COUNT * 2),
        ((T // 5) // COUNT, 3, T < COUNT * 15),
        (T // COUNT // B, 3, T < A * COUNT * B),  # a loop over three sizes, divided again
        (COUNT - 1 - T % COUNT, 42, T < COUNT * 5),  # backwards
        (T // B + Binary("min", COUNT, Const(7) - A), 7, T < A * B),  # from where all that is read stays inside
        (Binary("max", A - B, Const(0)) + B, 4, None),
        (COUNT // 8 * 8 + I, 41, Const(0) < COUNT % 8 // 4),  # an iteration of a loop that does one or none
        (COUNT // 2 * 8 + I, 165, Const(0) < COUNT % 2),
    ],
)
def test_what_can_be_proved(index: Expr, extent: int, guard: Expr | None) -> None:
    assert unproved_index(Load(Buffer("x", (extent,), F32), (index,), guard)) is None
    # The proof needs each of these elements, and the guard.
    assert unproved_index(Load(Buffer("x", (extent - 1,), F32), (index,), guard)) == 0
    if guard is not None:
        assert unproved_index(Load(Buffer("x", (extent,), F32), (index,))) == 0


def test_arithmetic_that_wraps_proves_nothing() -> None:
    x, far = Buffer("x", (5,), F32), 2**31 - 3
    apart = I + far - (J + far)
    assert unproved_index(Load(x, (apart,), (Const(0) <= apart) & (apart < 5))) == 0
    near = I + (far - 4) - (J + (far - 4))
    assert unproved_index(Load(x, (near,), (Const(0) <= near) & (near < 5))) is None


@pytest.mark.parametrize("far", [3, 2**31 - 1])
def test_a_loaded_element_may_be_anything(far: int) -> None:
    """Less 3 it wraps around where it is the least int32: such a comparison says nothing of the element itself."""
    x, loaded = Buffer("x", (5,), F32), RUN_TIME
    below = Binary("<=", Const(-far), loaded - far)
    assert unproved_index(Load(x, (loaded,), below & (loaded < 5))) == 0
    assert unproved_index(Load(x, (loaded,), (Const(0) <= loaded - 5) & (loaded < 5))) == 0


def test_a_divisor_that_is_not_positive_proves_nothing() -> None:
    x = Buffer("x", (5,), F32)
    for divisor in (0, -2):
        assert unproved_index(Load(x, (Binary("//", I * 2, Const(divisor)),), I * 2 < 9)) == 0


def test_the_dimension_is_named() -> None:
    x = Buffer("x", (5, 3, 6), F32)
    assert unproved_index(Load(x, (I, J, K))) == 2
    assert unproved_index(Load(x, (I, J, K)), (K < 6,)) is None
    assert unproved_index(Load(x, (K, J, K))) == 0
