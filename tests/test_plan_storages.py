"""Storages: nothing that lives at the same time shares one, kinds never mix."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from webnn_compile.program.plan_storages import Need, plan_storages


@pytest.mark.parametrize("seed", range(20))
def test_what_lives_together_lies_apart(seed: int) -> None:
    draw = random.Random(seed)
    needs = []
    for _ in range(40):
        first = draw.randrange(30)
        needs.append(Need(draw.randrange(16, 4096), first, first + draw.randrange(6), draw.choice("ab")))
    chosen, sizes = plan_storages(needs)
    for i, (n, s) in enumerate(zip(needs, chosen, strict=True)):
        assert sizes[s] >= n.size
        for m, t in zip(needs[:i], chosen[:i], strict=True):
            apart = n.last < m.first or m.last < n.first
            assert s != t or (apart and n.kind == m.kind)
    assert len(sizes) < len(needs)


def test_a_chain_takes_two_storages() -> None:
    chosen, sizes = plan_storages([Need(100 + i, i, i + 1, None) for i in range(10)])
    assert len(sizes) == 2
    assert all(a != b for a, b in pairwise(chosen))


def test_the_free_storage_that_fits_best_is_taken() -> None:
    needs = [Need(1000, 0, 0, None), Need(100, 0, 0, None), Need(90, 1, 1, None)]
    chosen, sizes = plan_storages(needs)
    assert sizes == [1000, 100]
    assert chosen[2] == chosen[1]
