"""Rows of Attention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from op_cases._arrays import Arrays, ints
from op_table import Array, Case

_a = Arrays(48)

MASK, PAST_KEY, PAST_VALUE, NONPAD = range(3, 7)


def _case(
    name: str,
    query: tuple[int, ...] = (2, 4, 3, 5),
    key: tuple[int, ...] = (2, 4, 6, 5),
    value: tuple[int, ...] | None = None,
    *,
    given: Mapping[int, Array] | None = None,
    opset: int = 23,
    outputs: int = 1,
    constants: frozenset[int] = frozenset(),
    **attributes: Any,
) -> Case:
    """`given` are the optional inputs."""
    optional = [(given or {}).get(i) for i in range(MASK, max(given or (0,)) + 1)]
    inputs = (*(_a.normal(*shape) for shape in (query, key, value or key)), *optional)
    return Case(f"attention-{name}", "Attention", inputs, attributes, opset, constants, outputs)


def _past(length: int, size: int = 5, heads: int = 4) -> dict[int, Array]:
    """Keys and values of before."""
    return {PAST_KEY: _a.normal(2, heads, length, 5), PAST_VALUE: _a.normal(2, heads, length, size)}


_THREE = ((2, 3, 20), (2, 6, 20))
_HEADS = {"q_num_heads": 4, "kv_num_heads": 4}
_SEEN = _a.bools(3, 6) | (np.arange(6) == 1)
"""A mask that lets each query see a key."""
_BLIND = _SEEN & (np.arange(3) != 1)[:, None]
"""A mask that lets each query but the second see a key."""

CASES = [
    _case("4d"),
    _case("3d", *_THREE, **_HEADS),
    _case("odd-sizes", (1, 3, 7, 9), (1, 3, 13, 9), (1, 3, 13, 11), scale=0.2),
    _case("shared-keys", (2, 6, 3, 5), (2, 2, 6, 5)),
    _case("3d-shared-keys", (2, 3, 20), (2, 6, 10), (2, 6, 14), q_num_heads=4, kv_num_heads=2),
    _case("mask", given={MASK: _a.normal(3, 6)}),
    _case("mask-of-each-head", given={MASK: _a.normal(2, 1, 3, 6)}),
    _case("bool-mask", given={MASK: _SEEN}),
    _case("constant-mask", given={MASK: _SEEN}, constants=frozenset({MASK})),
    _case("causal", (2, 4, 6, 5), is_causal=1),
    _case("causal-mask", (2, 4, 6, 5), given={MASK: _a.normal(6, 6)}, is_causal=1, softcap=1.5),
    _case("past", given=_past(2), outputs=3),
    _case("past-3d", (2, 3, 20), (2, 6, 20), (2, 6, 28), given=_past(4, 7), outputs=3, is_causal=1, **_HEADS),
    _case("past-mask", given={MASK: _a.normal(3, 8), **_past(2)}, outputs=3),
    *(
        _case(f"scores-{mode}", given={MASK: _a.normal(3, 6)}, outputs=4, softcap=2.0, qk_matmul_output_mode=mode)
        for mode in range(4)
    ),
    _case("half-precision", softmax_precision=10),
    _case("precision", softmax_precision=1, opset=24),
    _case("short-mask", given={MASK: _a.normal(3, 4)}, opset=24),
    # onnxruntime takes such masks of integers alone. From opset 24 on those of one key are padded, too.
    *(
        _case(
            f"mask-of-one-key-{opset}-{len(shape)}", given={MASK: _a.integers(0, 3, *shape, dtype="int32")}, opset=opset
        )
        for opset in (23, 24)
        for shape in ((1,), (3, 1), (4, 1, 1))
    ),
    _case("lengths", given={NONPAD: ints(4, 6)}, opset=24),
    # Queries that see no key.
    _case("blind-bool-mask", given={MASK: _BLIND}),
    _case("blind-float-mask", given={MASK: np.where(_BLIND, _a.normal(3, 6), -np.inf).astype(np.float32)}),
    _case("blind-softcap", given={MASK: _BLIND}, softcap=2.0),
    _case("blind-weights", given={MASK: _BLIND}, outputs=4, qk_matmul_output_mode=3),
    _case("blind-lengths", given={NONPAD: ints(3, 0)}, opset=24),
    # The last query sees the last key of its sequence; of two keys the first of three queries sees none.
    _case("lengths-causal", given={NONPAD: ints(4, 6)}, opset=24, is_causal=1),
    _case("lengths-causal-blind", given={NONPAD: ints(2, 5)}, opset=24, is_causal=1),
    _case("lengths-causal-mask", given={MASK: _a.normal(3, 6), NONPAD: ints(4, 6)}, opset=24, is_causal=1),
    *(_case(f"{t}-mask", given={MASK: _a.integers(0, 3, 3, 6, dtype=t)}) for t in ("int64", "int32", "int8", "uint8")),
]
