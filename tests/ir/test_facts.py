"""Facts: their queries end, conditions narrow sums, and what is unknown stays so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

import pytest
from hypothesis import HealthCheck, given, settings
from index_expressions import FLATTENED, INDICES_OF_SIZES, TABLE, A, B, I, J, K
from webnn_compile.ir.affine import Affine, affine
from webnn_compile.ir.facts import EVERYWHERE, Facts, range_of
from webnn_compile.ir.intervals import Range
from webnn_compile.ir.memo import forgetting
from webnn_compile.ir.nodes import Const, Expr, Load, Var
from webnn_compile.ir.rewrite import children

Measure = tuple[tuple[int, ...], int]


def nodes(e: Expr) -> Iterator[Expr]:
    """The nodes of an expression as a tree."""
    yield e
    for c in children(e):
        assert isinstance(c, Expr)
        yield from nodes(c)


def depth(v: Var) -> int:
    """How deep the lengths of loops nest: of a variable, and of those in its length."""
    if v.length is None:
        return 0
    return 1 + max((depth(n) for n in nodes(v.length) if isinstance(n, Var)), default=0)


def measure(form: Affine) -> Measure:
    """The pair by which a query is about less than the one that led to it: see the docstring of `facts`."""
    inside = [n for atom, _ in form.terms for n in nodes(atom)]
    loops = Counter(depth(n) for n in inside if isinstance(n, Var))
    return tuple(loops[d] for d in range(9, 0, -1)), sum(not isinstance(n, Var | Const) for n in inside)


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(INDICES_OF_SIZES)
def test_each_question_is_about_less_than_the_one_that_led_to_it(monkeypatch: pytest.MonkeyPatch, e: Expr) -> None:
    asked: list[Measure] = []
    find = Facts._find_sum

    def watched(form: Affine) -> Range | None:
        here = measure(form)
        assert not asked or here < asked[-1], (form, asked)
        asked.append(here)
        try:
            return find(EVERYWHERE, form)
        finally:
            asked.pop()

    with forgetting(), monkeypatch.context() as patched:
        patched.setattr(EVERYWHERE, "_find_sum", watched)
        patched.setattr(EVERYWHERE, "_long_sum", lru_cache(watched))
        range_of(e)


def test_a_condition_narrows_sums() -> None:
    facts = Facts({}).assuming(((I + J < 3) & (Const(2) <= K),))
    assert facts.index(I + J) == (0, 2)
    assert facts.index((I + J) * 4 + 1) == (1, 9)
    assert facts.index(K - 2) == (0, 4)
    assert facts.of(I + J) == (0, 6)
    assert facts.assuming((J.eq(J) & (Const(1) <= I + J),)).index(I + J) == (1, 2)
    assert Facts({}).index(I + J) == range_of(I + J) == (0, 6)


def test_conditions_that_contradict_each_other_leave_nothing() -> None:
    facts = Facts({}).assuming(((I < 2) & (Const(3) <= I),))
    for e in (I, I // 2, I // 2 + K * 5, (I // 2) % 2 - J):
        low, high = facts.index(e)
        assert low > high, e


def test_what_is_loaded() -> None:
    """Elements have the range of their buffer where facts are of elements; everywhere, nothing is known of them."""
    x = Load(TABLE, (I,))
    assert Facts({}).index(x + 2) == (0, 6)
    assert Facts({TABLE: (0, 3)}).index(x * 2 + J) == (0, 8)
    assert Facts({}).assuming((x < 1,)).index(x) == (-2, 0)
    assert range_of(x) is range_of(x + 1) is EVERYWHERE.decide("<", x, Const(9)) is None
    assert range_of(x % 3) == (0, 2)


def test_facts_hold_in_arms_of_a_selection_alone() -> None:
    x = Load(TABLE, (I,))
    facts = Facts({})
    assert facts.where(x < 0, True).of(x) == (-2, -1)
    assert facts.where(x < 0, False).of(x) == (0, 4)
    assert facts.where(I < 2, True) is facts
    assert facts.of(x) == (-2, 4)


def test_results_are_dropped_with_the_model() -> None:
    with forgetting():
        assert range_of(FLATTENED + A * B) == (1, 11)
        assert EVERYWHERE._long_sum.cache_info().currsize
    assert not EVERYWHERE._long_sum.cache_info().currsize + EVERYWHERE._atom.cache_info().currsize


def test_multiples() -> None:
    assert affine(I * 8 + J * 4 - 12).is_multiple(4)
    assert not affine(I * 8 + J * 4 - 12).is_multiple(8)
    assert not affine(I * 8 + J * 4 - 10).is_multiple(4)
    assert Affine((), 0).is_multiple(4)
