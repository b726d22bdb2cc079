"""Rows of moved and repeated elements."""

from __future__ import annotations

import itertools

from op_cases._arrays import Arrays, ints, scalar
from op_table import Case

a = Arrays(7)
SHAPE = frozenset({1})

EXPANDS = {
    "rows": ((3, 1), (3, 5)),
    "more-dimensions": ((3, 1), (2, 1, 5)),
    "smaller-rank": ((2, 3, 1), (5,)),
    "both-ways": ((3, 1), (1, 4)),
    "same": ((3, 5), (3, 5)),
    "rank0": ((), (2, 3)),
    "to-rank0": ((2, 3), ()),
    "empty": ((1, 3), (0, 3)),
}

CASES = [
    *(
        Case(f"transpose-{''.join(map(str, p))}", "Transpose", (a.normal(2, 3, 5),), {"perm": p})
        for p in itertools.permutations(range(3))
    ),
    Case("transpose-default", "Transpose", (a.normal(2, 3, 4, 5),)),
    Case("transpose-nhwc", "Transpose", (a.normal(1, 3, 4, 5),), {"perm": [0, 2, 3, 1]}, opset=7),
    Case("transpose-5d", "Transpose", (a.normal(2, 1, 3, 2, 2),), {"perm": [3, 0, 4, 2, 1]}, opset=13),
    Case("transpose-rank0", "Transpose", (scalar(3),)),
    Case("transpose-rank1", "Transpose", (a.integers(0, 9, 5),), {"perm": [0]}),
    Case("transpose-empty", "Transpose", (a.normal(0, 3),), constants=frozenset({0})),
    Case("transpose-uint8", "Transpose", (a.integers(0, 255, 3, 4, dtype="uint8"),)),
    *(
        Case(f"expand-{name}", "Expand", (a.normal(*old), ints(*new)), constants=SHAPE)
        for name, (old, new) in EXPANDS.items()
    ),
    Case("expand-opset8-bool", "Expand", (a.bools(3, 1), ints(3, 4)), opset=8, constants=SHAPE),
    Case("expand-int64", "Expand", (a.integers(0, 9, 1, 4), ints(3, 4)), opset=13, constants=SHAPE),
    Case("tile", "Tile", (a.normal(2, 3), ints(2, 3)), constants=SHAPE),
    Case("tile-one-axis", "Tile", (a.normal(2, 3, 4), ints(1, 3, 1)), opset=7, constants=SHAPE),
    Case("tile-extent1", "Tile", (a.normal(1, 3), ints(4, 1)), constants=SHAPE),
    Case("tile-nothing", "Tile", (a.normal(2, 3), ints(0, 2)), constants=SHAPE),
    Case("tile-rank0", "Tile", (scalar(3), ints()), constants=SHAPE),
    Case("tile-int32", "Tile", (a.integers(0, 9, 5, dtype="int32"), ints(3)), opset=13, constants=SHAPE),
    Case("depthtospace-default", "DepthToSpace", (a.normal(2, 8, 2, 3),), {"blocksize": 2}, opset=7),
    Case("depthtospace-dcr", "DepthToSpace", (a.normal(1, 18, 2, 3),), {"blocksize": 3, "mode": "DCR"}),
    Case("depthtospace-crd", "DepthToSpace", (a.normal(1, 18, 2, 3),), {"blocksize": 3, "mode": "CRD"}, opset=11),
    Case("depthtospace-crd-batch", "DepthToSpace", (a.normal(2, 12, 3, 1),), {"blocksize": 2, "mode": "CRD"}),
    Case("depthtospace-one", "DepthToSpace", (a.normal(1, 3, 2, 3),), {"blocksize": 1}),
    Case("spacetodepth", "SpaceToDepth", (a.normal(2, 3, 4, 6),), {"blocksize": 2}),
    Case("spacetodepth-three", "SpaceToDepth", (a.normal(1, 2, 3, 9),), {"blocksize": 3}, opset=7),
    Case(
        "reversesequence-time", "ReverseSequence", (a.normal(4, 3, 2), ints(4, 2, 1)), {"time_axis": 0, "batch_axis": 1}
    ),
    Case(
        "reversesequence-batch",
        "ReverseSequence",
        (a.normal(3, 5), ints(1, 5, 3)),
        {"time_axis": 1, "batch_axis": 0},
        opset=10,
    ),
    Case("reversesequence-constant", "ReverseSequence", (a.normal(3, 2), ints(2, 3)), constants=SHAPE),
]
