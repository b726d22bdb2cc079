"""The memory plan: what lives together does not overlap, and little is wasted."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from webnn_compile.program.plan_memory import ALIGNMENT, Plan, Request, lower_bound, plan_memory

GREEDY_LOSS = 1.5
"""Largest peak seen over the optimum, in small random cases."""


@st.composite
def requests(draw: st.DrawFn, most: int = 12) -> list[Request]:
    found = []
    for _ in range(draw(st.integers(0, most))):
        first = draw(st.integers(0, 8))
        found.append(Request(draw(st.integers(0, 700)), first, first + draw(st.integers(0, 4))))
    return found


def rounded(size: int) -> int:
    return -(-max(size, 1) // ALIGNMENT) * ALIGNMENT


def check(wanted: list[Request], plan: Plan) -> None:
    """Aligned, inside the arena, and apart where they live at the same time."""
    for r, at in zip(wanted, plan.offsets, strict=True):
        assert at >= 0
        assert at % ALIGNMENT == 0
        assert at + r.size <= plan.peak
    for a, at in zip(wanted, plan.offsets, strict=True):
        for b, other in zip(wanted, plan.offsets, strict=True):
            if a is not b and a.first <= b.last and b.first <= a.last:
                assert at + rounded(a.size) <= other or other + rounded(b.size) <= at


def meet(a: Request, b: Request) -> bool:
    """Whether both live at some step."""
    return a.first <= b.last and b.first <= a.last


def optimum(wanted: list[Request]) -> int:
    """The least peak: in some order, each request put at the lowest place where it fits gives an optimal plan."""
    best = sum(rounded(r.size) for r in wanted)
    for order in permutations(range(len(wanted))):
        placed: list[tuple[int, int, Request]] = []
        for i in order:
            r, at = wanted[i], 0
            for start, end, other in sorted(placed, key=lambda p: p[0]):
                if meet(r, other) and start < at + rounded(r.size) and at < end:
                    at = end
            placed.append((at, at + rounded(r.size), r))
        best = min(best, max((end for _, end, _ in placed), default=0))
    return best


@given(requests())
def test_nothing_overlaps(wanted: list[Request]) -> None:
    plan = plan_memory(wanted)
    check(wanted, plan)
    assert lower_bound(wanted) <= plan.peak <= sum(rounded(r.size) for r in wanted)


@given(requests())
def test_the_lower_bound_is_the_fullest_step(wanted: list[Request]) -> None:
    fullest = max((sum(rounded(r.size) for r in wanted if r.first <= s <= r.last) for s in range(14)), default=0)
    assert lower_bound(wanted) == fullest


@pytest.mark.parametrize("seed", range(12))
def test_near_the_optimum(seed: int) -> None:
    generator = np.random.default_rng(seed)
    wanted = []
    for _ in range(6):
        first = int(generator.integers(0, 6))
        wanted.append(Request(int(generator.integers(1, 12)) * ALIGNMENT, first, first + int(generator.integers(0, 4))))
    best = optimum(wanted)
    assert lower_bound(wanted) <= best <= plan_memory(wanted).peak <= GREEDY_LOSS * best


def test_a_chain_needs_two_tensors() -> None:
    wanted = [Request(1000, step, step + 1) for step in range(20)]
    assert plan_memory(wanted).peak == lower_bound(wanted) == 2 * rounded(1000)


def test_the_order_of_requests_of_one_size_decides_nothing_else() -> None:
    wanted = [Request(64, 0, 1), Request(64, 1, 2), Request(64, 2, 3)]
    assert plan_memory(wanted) == plan_memory(list(wanted))
    assert plan_memory(wanted).offsets == (0, 64, 0)


def test_nothing_and_empty_tensors() -> None:
    assert plan_memory([]) == Plan((), 0)
    assert lower_bound([]) == 0
    assert plan_memory([Request(0, 0, 0), Request(0, 0, 0)]).offsets == (0, ALIGNMENT)
