"""Rows that reduce many elements to few results: a GPU shares each among invocations, still longer ones in stages."""

from __future__ import annotations

import numpy as np
from op_cases._arrays import Array, Arrays, ints
from op_table import Case

_a = Arrays(41)
_x = _a.normal

LAST = frozenset({1})


def _with(x: Array, *values: float) -> Array:
    """`x` with other elements at the ends of its rows."""
    for i, v in enumerate(values):
        x[i % len(x), -1 - i // len(x)] = v
    return x


CASES = [
    Case("reducesum-vectors", "ReduceSum", (_x(3, 1024), ints(1)), constants=LAST),
    Case("reducesum-odd-rows", "ReduceSum", (_x(5, 333), ints(1)), constants=LAST),
    Case("reducesum-one-row", "ReduceSum", (_x(2000),)),
    Case("reducesum-two-elements-each", "ReduceSum", (_x(2, 129), ints(1)), constants=LAST),
    Case("reducesum-tail-of-vectors", "ReduceSum", (_x(2, 1028), ints(1)), constants=LAST),
    Case("reducesum-columns", "ReduceSum", (_x(200, 12), ints(0)), constants=LAST),
    Case("reducesum-odd-columns", "ReduceSum", (_x(2, 131, 5), ints(1)), constants=LAST),
    Case("reducesum-planes", "ReduceSum", (_x(2, 12, 4, 13), ints(1, 3)), constants=LAST),
    Case("reducesum-short-last-axis", "ReduceSum", (_x(2, 431, 3), ints(1, 2)), constants=LAST),
    Case("reducesum-short-axes-apart", "ReduceSum", (_x(431, 2, 3), ints(0, 2)), constants=LAST),
    Case("reducesum-many-columns", "ReduceSum", (_x(431, 19), ints(0)), constants=LAST),
    Case("reducemax-short-last-axis", "ReduceMax", (_x(2, 431, 3), ints(1, 2)), opset=18, constants=LAST),
    Case("reducesum-stages", "ReduceSum", (_x(2, 40001), ints(1)), constants=LAST),
    Case(
        "reducesum-infinities", "ReduceSum", (_with(_x(4, 200), np.inf, -np.inf, np.nan, 3e38), ints(1)), constants=LAST
    ),
    Case("reducesum-int32-row", "ReduceSum", (_a.integers(-9, 9, 3, 500, dtype="int32"), ints(1)), constants=LAST),
    Case("reducemax-int32-row", "ReduceMax", (_a.integers(-9, 9, 3, 500, dtype="int32"), ints(1)), constants=LAST),
    Case("reducemin-uint8-row", "ReduceMin", (_a.integers(3, 99, 3, 500, dtype="uint8"), ints(1)), constants=LAST),
    Case("reducemax-bool-row", "ReduceMax", (_a.bools(3, 130), ints(1)), opset=20, constants=LAST),
    Case("reducemax-row", "ReduceMax", (_with(_x(3, 333), np.inf, -np.inf), ints(1)), constants=LAST),
    Case("reducemax-nothing", "ReduceMax", (np.full((2, 256), -np.inf, np.float32), ints(1)), constants=LAST),
    Case("reducemin-row", "ReduceMin", (_with(_x(3, 512), np.inf, -np.inf), ints(1)), constants=LAST),
    Case("reduceprod-row", "ReduceProd", (_a.uniform(0.99, 1.01, 3, 260), ints(1)), constants=LAST),
    Case("reducemean-last-axes", "ReduceMean", (_x(3, 16, 17), ints(1, 2)), constants=LAST),
    Case("reducelogsumexp-row", "ReduceLogSumExp", (_x(3, 300) * 50, ints(1)), constants=LAST),
    Case("argmax-row", "ArgMax", (_x(3, 400),), {"axis": 1}),
    Case("argmin-ties-row", "ArgMin", (_a.integers(0, 5, 3, 400, dtype="int32"),), {"axis": 1, "select_last_index": 1}),
    Case("softmax-row", "Softmax", (_x(5, 513),)),
    Case("softmax-masked-row", "Softmax", (_with(_x(2, 256), -np.inf, -np.inf, -np.inf),)),
    Case("softmax-nan-row", "Softmax", (_with(_x(2, 256), np.nan),)),
    Case("logsoftmax-row", "LogSoftmax", (_x(4, 256),)),
    Case("layernorm-row", "LayerNormalization", (_x(1, 6, 256), _x(256), _x(256))),
    Case("layernorm-odd-row", "LayerNormalization", (_x(2, 3, 131), _x(131), _x(131))),
    Case("layernorm-short-last-axis", "LayerNormalization", (_x(431, 3), _x(431, 3)), {"axis": 0}),
    Case("globalaveragepool-large", "GlobalAveragePool", (_x(1, 8, 13, 14),)),
    Case("globalmaxpool-large", "GlobalMaxPool", (_x(2, 3, 12, 12),)),
    Case("instancenorm-large", "InstanceNormalization", (_x(2, 3, 12, 13), _x(3), _x(3))),
]
