"""Damaged copies of files, of which importers are to make a model or one plain error."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from effort import DAMAGED_FILES, effort_of


def damaged(file: bytes, request: pytest.FixtureRequest, kept: int = 0, head: int | None = None) -> Iterator[bytes]:
    """As many copies as the effort says, whole or cut off, with bytes that are others behind the first `kept`. Half of
    these are among the first `head`, where that is given: names and shapes, not numbers."""
    rng = np.random.default_rng(7)
    for _ in range(DAMAGED_FILES[effort_of(request.config)]):
        data = bytearray(file[: rng.integers(kept + 2, len(file))] if rng.random() < 0.3 else file)
        for _ in range(rng.integers(1, 4)):
            end = len(data) if head is None or rng.random() < 0.5 else min(len(data), head)
            data[rng.integers(kept, end)] = rng.integers(256)
        yield bytes(data)
