"""Rows of GroupQueryAttention: three tokens after four, four heads of queries on two of keys and values, of sixteen
elements, unless they say otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from op_cases._arrays import Arrays
from op_table import Array, Case, reference

_a = Arrays(82)

HEADS, SHARED, SIZE = 4, 2, 16
PAST_KEY, PAST_VALUE, LAST, TOTAL, COS, SIN, POSITIONS, BIAS, SINK = range(3, 12)
QUERY_NORM, KEY_NORM = 14, 15
_KNOWN = frozenset({TOTAL})


def _case(
    name: str,
    length: int = 3,
    past: int | None = 4,
    given: Mapping[int, Array] | None = None,
    *,
    last: tuple[int, ...] = (),
    total: int = 0,
    packed: bool = False,
    size: int = 8,
    known: frozenset[int] = _KNOWN,
    outputs: int = 3,
    **attributes: Any,
) -> Case:
    """`last` are seqlens_k, of as many sequences; `given` the inputs after total_sequence_length. Of a cache that is
    longer than `total`, what follows the last token is zeros: there onnxruntime leaves zeros."""
    total = total or length + (past or 0)
    last = last or (total - 1,)
    batch, heads = len(last), HEADS + 2 * SHARED if packed else HEADS
    new = [None, None] if packed else [_a.normal(batch, length, SHARED * size) for _ in range(2)]
    caches: list[Array | None] = [None, None]
    if past is not None:
        in_use = np.arange(past)[:, None] < np.asarray(last)[:, None, None, None] + 1 - (
            length if total > length else 0
        )
        caches = [_a.normal(batch, SHARED, past, size) * in_use for _ in range(2)]
    inputs = [_a.normal(batch, length, heads * size), *new, *caches]
    inputs += [np.asarray(last, np.int32), np.asarray([total], np.int32)]
    inputs += [(given or {}).get(i) for i in range(COS, max(given or (0,)) + 1)]
    attributes = {"num_heads": HEADS, "kv_num_heads": SHARED} | attributes
    return Case(
        f"groupqueryattention-{name}",
        "GroupQueryAttention",
        tuple(inputs),
        attributes,
        17,
        known,
        outputs,
        domain="com.microsoft",
    )


def _forgets(name: str, length: int, room: int, last: tuple[int, ...], **more: Any) -> Case:
    """A cache of `room` rows for a window of three: in these rows of the table all of them are in use at the end."""
    case = _case(name, length, room, last=last, total=max(last) + 1, sliding_window_cache=1, **more)
    inputs = list(case.inputs)
    for i in (PAST_KEY, PAST_VALUE):
        inputs[i] = _a.normal(*np.shape(inputs[i]))
    return replace(case, inputs=tuple(inputs), attributes={"local_window_size": 3, **case.attributes})


def _rotary(name: str, *args: Any, given: Mapping[int, Array] | None = None, **more: Any) -> Case:
    caches = {COS: _a.normal(12, 8), SIN: _a.normal(12, 8)}
    return _case(name, *args, {**caches, **(given or {})}, size=more.pop("size", 16), do_rotary=1, **more)


def _positions(*values: int) -> dict[int, Array]:
    return {POSITIONS: np.asarray([values])}


def _normalised(name: str, **epsilons: float) -> Case:
    """Heads over the roots of their mean squares, which onnxruntime has on GPUs alone: the same as such inputs."""
    weights = {QUERY_NORM: _a.normal(8), KEY_NORM: _a.normal(8)}
    case = _case(name, given=weights, **epsilons)

    def normal(x: Array | None, weight: Array, which: str) -> Array:
        heads = np.asarray(x).reshape(1, 3, -1, 8)
        epsilon = epsilons.get(f"{which}_norm_epsilon") or epsilons.get("qk_norm_epsilon", 1e-6)
        y = heads / np.sqrt((heads**2).mean(3, keepdims=True) + epsilon) * weight
        return np.asarray(y.reshape(1, 3, -1), np.float32)

    query, key = (normal(x, w, n) for x, w, n in zip(case.inputs[:2], weights.values(), "qk", strict=True))
    same = replace(case, inputs=(query, key, *case.inputs[2 : TOTAL + 1]), attributes=_case(name).attributes)
    return replace(case, expected=tuple(reference(same)))


CASES = [
    _case("prompt", past=None),
    _case("grows"),
    _case("grows-from-nothing", past=0),
    _case("token", 1, 5),
    _case("packed", packed=True),
    _case("packed-prompt", past=None, packed=True, last=(2, 2)),
    _case("batch", 1, 4, last=(4, 4)),
    _case("batch-of-lengths", 1, 5, last=(5, 3)),
    _case("shared-buffer", 3, 9, total=7),
    _case("shared-buffer-prompt", 3, 9, total=3, last=(2, 2)),
    _case("shared-buffer-of-lengths", 1, 9, total=6, last=(5, 3)),
    _case("shared-buffer-of-a-run", 1, 9, total=6, known=frozenset()),
    _case("shared-buffer-full", 2, 7, total=7),
    _case("window", local_window_size=2),
    _case("window-longer", local_window_size=9),
    _forgets("forgets", 1, 3, (7,)),
    _forgets("forgets-lengths", 1, 3, (7, 4)),
    _forgets("forgets-at-once", 1, 5, (7,)),
    _forgets("forgets-nothing", 1, 5, (4,)),
    _forgets("forgets-many", 6, 5, (10,), packed=True),
    _forgets("forgets-a-prompt", 8, 5, (7,), smooth_softmax=1),
    _case("bidirectional", causal=0),
    _case("bidirectional-lengths", 1, 9, total=6, last=(5, 3), causal=0),
    _case("softcap", softcap=0.7, scale=0.9),
    _case("bias", given={BIAS: _a.normal(1, 1, 3, 7)}, softcap=0.7),
    _case("bias-of-heads", 1, 9, {BIAS: _a.normal(2, 4, 1, 6)}, total=6, last=(5, 3)),
    _case("sink", given={SINK: _a.normal(4)}),
    _case("smooth", smooth_softmax=1, local_window_size=3),
    _case("scores", given={BIAS: _a.normal(1, 4, 3, 7)}, qk_output=1, outputs=4, softcap=0.7, local_window_size=2),
    _case("weights", 1, 9, total=6, last=(5, 3), qk_output=2, outputs=4),
    _rotary("rotary", 3, 4),
    _rotary("rotary-prompt", 3, None, last=(2, 2)),
    _rotary("rotary-interleaved", 3, 4, packed=True, rotary_interleaved=1),
    _rotary("rotary-part", 1, 9, total=6, last=(5, 3), size=32),
    _rotary("rotary-positions", 3, 4, given=_positions(9, 3, 11)),
    _rotary("rotary-positions-of-a-prompt", 3, None, given=_positions(4, 3, 11)),
    _rotary("rotary-positions-of-a-buffer", 3, 9, total=3, given=_positions(4, 3, 11)),
    _rotary("rotary-forgets", 1, 3, last=(9, 4), total=10, sliding_window_cache=1, local_window_size=3),
    _normalised("norm"),
    _normalised("norm-epsilon", qk_norm_epsilon=0.1),
    _normalised("norm-epsilons", q_norm_epsilon=0.2, k_norm_epsilon=0.3),
]
