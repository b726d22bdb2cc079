"""The work of compiling grows with a model like n log n, whatever grows."""

from __future__ import annotations

import pytest
from growing_models import CONSTANT, GROWING, growth

MOST = 1.5
"""Largest exponent: n log n at small sizes has about 1.3, and quadratic work 2."""

LEAST = 2
"""Least factor by which work grows over all: so the exponent is not that of a small part."""

SAME = 1.01
"""Largest factor where it does not grow."""


@pytest.mark.parametrize("name", GROWING)
def test_work_grows_like_the_model(name: str) -> None:
    found = growth(GROWING[name], GROWING[name].size)
    assert found.factor > LEAST
    assert found.exponent < MOST


@pytest.mark.parametrize("name", CONSTANT)
def test_work_does_not_grow(name: str) -> None:
    found = growth(CONSTANT[name], CONSTANT[name].size)
    assert max(found.calls) < SAME * min(found.calls)
