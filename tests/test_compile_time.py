"""The work of compiling grows with a model like n log n, whatever grows."""

from __future__ import annotations

import pytest
from growing_models import GROWING, exponent

MOST = 1.5
"""Of the exponent: n log n at small sizes has about 1.3, and quadratic work 2."""


@pytest.mark.parametrize("name", GROWING)
def test_work_grows_like_the_model(name: str) -> None:
    growing = GROWING[name]
    assert exponent(growing, growing.size) < MOST
