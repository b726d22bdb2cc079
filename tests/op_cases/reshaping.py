"""Rows of changes of shape. An input without elements must be known: a graph input has none such."""

from __future__ import annotations

from op_cases._arrays import Arrays, ints, scalar
from op_table import Case

a = Arrays(6)
SHAPE = frozenset({1})
BOTH = frozenset({0, 1})

RESHAPES = {
    "split": ((2, 12, 5), (2, 3, 4, 5)),
    "merge": ((2, 3, 4, 5), (2, 12, 5)),
    "regroup": ((2, 6, 5), (3, 4, 5)),
    "regroup-middle": ((7, 4, 6, 3), (7, 8, 3, 3)),
    "flat": ((2, 3, 5), (30,)),
    "from-flat": ((30,), (5, 1, 3, 2)),
    "ones": ((1, 3, 1, 5), (3, 1, 5, 1, 1)),
    "same": ((3, 5), (3, 5)),
    "infer": ((2, 3, 5), (-1, 5)),
    "copy": ((2, 3, 5), (0, -1)),
    "copy-inner": ((2, 3, 5), (2, 0, 0)),
    "to-scalar": ((1, 1), ()),
    "from-scalar": ((), (1, 1)),
    "empty": ((3, 0, 4), (6, -1, 2)),
    "empty-copy": ((0, 3), (0, 3, 1)),
}

CASES = [
    *(
        Case(f"reshape-{name}", "Reshape", (a.normal(*old), ints(*new)), constants=BOTH if 0 in old else SHAPE)
        for name, (old, new) in RESHAPES.items()
    ),
    Case("reshape-opset7", "Reshape", (a.normal(2, 3, 4), ints(4, 0, -1)), opset=7, constants=SHAPE),
    Case(
        "reshape-allowzero", "Reshape", (a.normal(3, 0, 4), ints(0, 4, 3)), {"allowzero": 1}, opset=14, constants=BOTH
    ),
    Case("reshape-int64", "Reshape", (a.integers(0, 9, 4, 6), ints(3, 8)), opset=13, constants=SHAPE),
    Case("reshape-bool", "Reshape", (a.bools(4, 6), ints(-1)), constants=SHAPE),
    *(Case(f"flatten-axis{axis}", "Flatten", (a.normal(2, 3, 4, 5),), {"axis": axis}) for axis in (-4, -1, 0, 1, 2, 4)),
    Case("flatten-default", "Flatten", (a.normal(2, 3, 1, 1),), opset=7),
    Case("flatten-rank1", "Flatten", (a.normal(5),)),
    Case("flatten-rank0", "Flatten", (a.normal(),), {"axis": 0}),
    Case("flatten-empty", "Flatten", (a.normal(0, 3, 2),), opset=9, constants=frozenset({0})),
    Case("squeeze-all", "Squeeze", (a.normal(1, 3, 1, 5),)),
    Case("squeeze-no-axes", "Squeeze", (a.normal(1, 3, 1, 5), ints()), constants=SHAPE),
    Case("squeeze-axes", "Squeeze", (a.normal(1, 3, 1, 5), ints(-2)), constants=SHAPE),
    Case("squeeze-two-axes", "Squeeze", (a.normal(1, 3, 1, 5), ints(2, 0)), opset=13, constants=SHAPE),
    Case("squeeze-to-scalar", "Squeeze", (a.normal(1), ints(0)), constants=SHAPE),
    Case("squeeze-opset7", "Squeeze", (a.normal(1, 3, 1, 5),), {"axes": [0, 2]}, opset=7),
    Case("squeeze-opset11-negative", "Squeeze", (a.normal(3, 1),), {"axes": [-1]}, opset=11),
    Case("squeeze-opset11-all", "Squeeze", (a.normal(3, 1, 1),), opset=11),
    Case("squeeze-axes-of-a-run", "Squeeze", (a.normal(1, 3, 1, 5), ints(-2))),
    Case("squeeze-axis-twice-of-a-run", "Squeeze", (a.normal(1), ints(0, -1))),
    Case("squeeze-two-axes-of-a-run", "Squeeze", (a.normal(1, 3, 1, 5), ints(2, 0))),
    Case("unsqueeze-axes-of-a-run", "Unsqueeze", (a.normal(3, 5), ints(1))),
    Case("unsqueeze-many-axes-of-a-run", "Unsqueeze", (a.normal(3, 5), ints(4, 0, -3))),
    Case("unsqueeze", "Unsqueeze", (a.normal(3, 5), ints(1)), constants=SHAPE),
    Case("unsqueeze-many", "Unsqueeze", (a.normal(3, 5), ints(4, 0, -3)), opset=13, constants=SHAPE),
    Case("unsqueeze-rank0", "Unsqueeze", (scalar(3), ints(0)), constants=SHAPE),
    Case("unsqueeze-opset7", "Unsqueeze", (a.normal(3, 5),), {"axes": [0, 3]}, opset=7),
    Case("unsqueeze-opset11", "Unsqueeze", (a.normal(3, 5),), {"axes": [-1]}, opset=11),
]
