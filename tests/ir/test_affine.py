"""Index arithmetic, held against direct evaluation over every assignment of the variables."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from index_expressions import value
from webnn_compile.dtypes import BOOL, I32
from webnn_compile.ir.affine import Affine, affine, flat_offset
from webnn_compile.ir.facts import decide, range_of
from webnn_compile.ir.nodes import Binary, Buffer, Const, Expr, Load, Scalar, Select, Unary, Var
from webnn_compile.ir.rewrite import free_vars, walk
from webnn_compile.ir.simplify import simplify_expr

Assignment = dict[Expr, int]

VARIABLES = st.builds(Var, st.just("v"), st.integers(1, 4)) | st.builds(
    Scalar, st.just("s"), st.integers(2, 4), low=st.integers(0, 1)
)


@st.composite
def expressions(draw: st.DrawFn, comparisons: bool = False) -> Expr:
    """Expressions over at most three variables of extents up to 4."""
    variables = draw(st.lists(VARIABLES, min_size=1, max_size=3))
    leaf = st.sampled_from(variables) | st.builds(Const, st.integers(-7, 20))
    divisor = st.builds(Const, st.sampled_from([1, 2, 3, 4, 5, 6, 8, 12, 15, -1, -2, -3]))

    def extend(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        cond = st.builds(Binary, st.sampled_from(["<", "<=", "==", "!="]), inner, inner)
        return (
            st.builds(Binary, st.sampled_from(["+", "-", "+", "*", "min", "max"]), inner, inner)
            | st.builds(Binary, st.sampled_from(["//", "%"]), inner, divisor)
            | st.builds(Unary, st.just("neg"), inner)
            | st.builds(Select, cond, inner, inner)
        )

    tree = st.recursive(leaf, extend, max_leaves=8)
    if comparisons:
        return Binary(draw(st.sampled_from(["<", "<=", "==", "!="])), draw(tree), draw(tree))
    return draw(tree)


def assignments(e: Expr) -> Iterator[Assignment]:
    variables = sorted(free_vars(e), key=id)
    for values in product(*(range(v.low if isinstance(v, Scalar) else 0, v.extent) for v in variables)):
        yield dict(zip(variables, values, strict=True))


@given(expressions())
def test_the_affine_form_has_the_same_values(e: Expr) -> None:
    form = affine(e)
    back = form.to_expr()
    for at in assignments(e):
        full = {v: at.get(v, 0) for v in (*free_vars(back), *at)}
        assert value(back, full) == value(e, at)
        assert form.constant + sum(c * value(a, full) for a, c in form.terms) == value(e, at)


@given(expressions())
def test_the_affine_form_of_an_affine_form_is_itself(e: Expr) -> None:
    once = affine(e)
    again = affine(once.to_expr())
    assert (set(again.terms), again.constant) == (set(once.terms), once.constant)


@given(expressions())
def test_a_simplified_expression_has_the_same_values(e: Expr) -> None:
    simple = simplify_expr(e)
    for at in assignments(e):
        assert value(simple, at) == value(e, at)


@given(expressions(comparisons=True))
def test_a_simplified_comparison_has_the_same_values(e: Expr) -> None:
    simple = simplify_expr(e)
    for at in assignments(e):
        assert value(simple, at) == value(e, at)


@given(expressions())
def test_ranges_are_sound(e: Expr) -> None:
    found = range_of(e)
    values = [value(e, at) for at in assignments(e)]
    assert found is None or (found[0] <= min(values) and max(values) <= found[1])
    form = affine(e)
    if form.variables_only:
        assert found == (min(values), max(values))


@given(expressions(comparisons=True))
def test_decisions_are_sound(e: Expr) -> None:
    assert isinstance(e, Binary)
    known = decide(e.op, e.a, e.b)
    if known is not None:
        assert {value(e, at) for at in assignments(e)} == {int(known)}


@given(st.data())
def test_quotient_and_remainder_join(data: st.DataObject) -> None:
    """A number taken apart by nested divisions, as reshapes do, is put together again, whatever is added to it."""
    x = Var("x", data.draw(st.integers(2, 200)))
    at: Expr = x + data.draw(st.integers(0, 30))
    sizes = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    rest, joined, stride = at, affine(Const(0)), 1
    for size in sizes:
        joined = joined + affine(rest % size).scale(stride)
        rest, stride = rest // size, stride * size
    joined = joined + affine(rest).scale(stride)
    assert joined == affine(at)


def test_contiguous_loops_join() -> None:
    o, i = Var("o", 3), Var("i", 4)
    whole = o * 4 + i
    assert affine((whole // 4) * 4 + whole % 4) == affine(whole)
    assert affine(whole // 4) == affine(o)
    assert affine(whole % 4) == affine(i)


def test_a_variable_of_one_value_is_zero() -> None:
    assert affine(Var("one", 1) + 3) == Affine((), 3)


def test_what_is_loaded_has_no_range() -> None:
    loaded = Load(Buffer("x", (4,), I32), (Const(0),))
    assert range_of(loaded) is None
    assert range_of(loaded % 4) == (0, 3)
    assert decide("<", loaded, Const(10)) is None
    assert range_of(Const(True, BOOL)) is None


def test_the_offset_in_a_row_major_array() -> None:
    i, j = Var("i", 3), Var("j", 5)
    form = flat_offset((3, 5), (i, j))
    assert (form.coefficient(i), form.coefficient(j), form.constant) == (5, 1, 0)
    assert form.without(i) == affine(j)
    assert flat_offset((), ()) == Affine((), 0)


@pytest.mark.parametrize(("e", "text"), [(Const(7), 7), (Const(-7), -7)])
def test_constants(e: Const, text: int) -> None:
    assert affine(e) == Affine((), text)
    assert affine(e).to_expr() == e


def test_products_of_sizes_are_divided_by_their_factors() -> None:
    batch, frames = Scalar("batch", 5, low=1), Scalar("frames", 65, low=1)
    half, i = (frames + 1) // 2, Var("i", 20)
    whole = batch * half * 20
    assert affine(whole) == affine(half * (batch * 20))
    assert affine(whole // (batch * half)) == affine(Const(20))
    assert affine((i + half * batch * 20) // (half * batch)) == affine(i // (half * batch) + 20)
    assert affine(whole % half) == affine(Const(0))


def test_a_size_is_rounded_up_to_a_multiple_in_one_way() -> None:
    n = Scalar("n", 50, low=1)
    wanted = affine((n + 3) // 4 * 4)
    assert affine(n + (Const(0) - n) % 4) == wanted
    assert affine(n + (Const(4) - n % 4) % 4) == wanted
    assert affine((n - 1) // 4 * 4 + 4) == wanted
    assert affine(Const(-4) * ((Const(0) - n) // 4)) == wanted


def test_terms_that_cancel_stay_within_int32() -> None:
    """(i % 3) * 50176, of which the remainder is written as a difference: multiplied out it would add numbers beyond
    int32, which shaders have no literals for, and whose overflow C leaves undefined."""
    block, i = Var("block", 75264), Var("i", 64)
    at = block * 64 + i
    e = (at - Binary("/", at, Const(3)) * 3) * 50176 + Binary("/", at, Const(7))
    written = affine(e).to_expr()
    assert max(abs(int(n.value)) for n in walk(written) if isinstance(n, Const)) < 2**31
    assert affine(written) == affine(e)
    for values in ({block: 75263, i: 63}, {block: 40000, i: 1}, {block: 0, i: 0}):
        assert value(written, values) == value(e, values)
    few = (i - Binary("/", i, Const(3)) * 3) * 50176
    assert affine(few).coefficient(i) == 50176
