"""Rows of arithmetic and mathematics."""

from __future__ import annotations

import numpy as np
from op_table import Case

_rng = np.random.default_rng(1)


def _x(*shape: int) -> np.ndarray:
    return _rng.standard_normal(shape).astype(np.float32)


CASES = [
    Case("add", "Add", (_x(2, 3), _x(2, 3))),
    Case("add-both-ways", "Add", (_x(2, 1, 3), _x(5, 1))),
    Case("add-constant", "Add", (_x(2, 3), _x(3)), constants=frozenset({1})),
    Case("exp", "Exp", (_x(2, 3),)),
]
