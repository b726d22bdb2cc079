"""Rows of slices and triangles."""

from __future__ import annotations

import numpy as np
from op_cases._arrays import Arrays, ints
from op_table import Case

a = Arrays(9)
BIG = 2**63 - 1

SLICES = {
    "plain": ((5, 6), ints(1, 2), ints(4, 5), None, None),
    "axes": ((5, 6, 3), ints(2), ints(5), ints(1), None),
    "negative-axis": ((5, 6), ints(1), ints(3), ints(-1), None),
    "axes-any-order": ((5, 6), ints(1, 0), ints(4, 3), ints(1, 0), None),
    "negative-bounds": ((5, 6), ints(-3), ints(-1), ints(0), None),
    "to-the-end": ((5, 6), ints(2), ints(BIG), ints(1), None),
    "clamped": ((5, 6), ints(-99, 3), ints(2, 99), ints(0, 1), None),
    "empty": ((5, 6), ints(3), ints(3), ints(0), None),
    "beyond": ((5, 6), ints(9), ints(99), ints(0), None),
    "step": ((7, 6), ints(0, 1), ints(7, 6), ints(0, 1), ints(2, 3)),
    "backward": ((5, 6), ints(-1), ints(-BIG), ints(1), ints(-1)),
    "backward-step": ((9,), ints(7), ints(0), ints(0), ints(-3)),
    "backward-clamped": ((5,), ints(99), ints(-99), ints(0), ints(-2)),
    "backward-from-before": ((5,), ints(-99), ints(-99), ints(0), ints(-1)),
    "whole": ((2, 3), ints(0), ints(3), ints(1), ints(1)),
    "focus": ((1, 3, 6, 8), ints(0, 1), ints(6, 8), ints(2, 3), ints(2, 2)),
    "backward-by-more-than-64-KiB": ((2, 17000), ints(-1), ints(-BIG), ints(0), ints(-1)),
}
BOUNDS = frozenset({1, 2, 3, 4})

CASES = [
    *(
        Case(f"slice-{name}", "Slice", (a.normal(*shape), *rest), constants=BOUNDS)
        for name, (shape, *rest) in SLICES.items()
    ),
    Case(
        "slice-back-to-the-largest-integer",
        "Slice",
        (a.normal(9), ints(7), ints(2**63 - 1), ints(0), ints(-3)),
        constants=BOUNDS,
    ),
    Case("slice-step-beyond-int32", "Slice", (a.normal(9), ints(7), ints(9), ints(0), ints(2**62)), constants=BOUNDS),
    Case("slice-opset10", "Slice", (a.normal(5, 6), ints(1), ints(-1), ints(1), ints(2)), opset=10, constants=BOUNDS),
    Case(
        "slice-opset11-int32",
        "Slice",
        (a.normal(5, 6), *(ints(v).astype(np.int32) for v in (4, 0, 0, -2))),
        opset=11,
        constants=BOUNDS,
    ),
    Case("slice-opset7", "Slice", (a.normal(5, 6),), {"starts": [1, 2], "ends": [4, 99]}, opset=7),
    Case("slice-opset7-axes", "Slice", (a.normal(5, 6, 2),), {"axes": [1], "starts": [-4], "ends": [-1]}, opset=9),
    Case("slice-bool", "Slice", (a.bools(5), ints(1), ints(4)), constants=BOUNDS),
    *(
        Case(f"slice-{name}-of-a-run", "Slice", (a.normal(*shape), *rest), constants=frozenset({3, 4}))
        for name, (shape, *rest) in SLICES.items()
        if name in ("axes-any-order", "clamped", "step", "backward", "backward-clamped")
    ),
    *(
        Case(f"trilu-lower-{k}-of-a-run", "Trilu", (a.normal(4, 5), np.asarray(k)), {"upper": 0})
        for k in (-1, 2, 2**40)
    ),
    *(
        Case(f"trilu-upper-{k}", "Trilu", (a.normal(4, 5), np.asarray(k)), constants=frozenset({1}))
        for k in (-9, -1, 0, 2, 9)
    ),
    *(
        Case(f"trilu-lower-{k}", "Trilu", (a.normal(5, 3), np.asarray(k)), {"upper": 0}, constants=frozenset({1}))
        for k in (-2, 0, 1)
    ),
    *(
        Case(f"trilu-far-{k}", "Trilu", (a.normal(4, 5), np.asarray(k)), {"upper": upper}, constants=frozenset({1}))
        for k, upper in ((2**40, 1), (-(2**40), 0))
    ),
    Case("trilu-default", "Trilu", (a.normal(2, 3, 4),)),
    Case("trilu-int64", "Trilu", (a.integers(1, 9, 3, 3),), {"upper": 0}, opset=14),
    Case("trilu-nan", "Trilu", (np.full((3, 3), np.nan, np.float32),)),
]
