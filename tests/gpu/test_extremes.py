"""Infinities, NaN, halves and numbers at the ends of the range, on every target that runs in this process."""

from __future__ import annotations

import extremes
import pytest
import webnn_compile


@pytest.mark.parametrize("target", webnn_compile.TARGETS)
def test_extremes(target: str) -> None:
    made = webnn_compile.compile(extremes.model(), target=target).run(extremes.inputs())
    assert extremes.differences(made) == []
