"""Rows of MultiHeadAttention and DecoderMaskedMultiHeadAttention: two sequences of three queries and four keys, two
heads of five elements, unless they say otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from op_cases._arrays import Arrays
from op_table import Array, Case, feeds, reference, untyped_model

_a = Arrays(83)

BATCH, HEADS, SIZE = 2, 2, 5
HIDDEN = HEADS * SIZE
BIAS, MASK, SCORE_BIAS, PAST_KEY, PAST_VALUE, PAST_LENGTH = range(3, 9)


def _case(
    name: str,
    inputs: Sequence[Array | None],
    given: Mapping[int, Array] | None = None,
    *,
    op: str = "MultiHeadAttention",
    outputs: int = 1,
    absent: frozenset[int] = frozenset(),
    known: frozenset[int] = frozenset(),
    **attributes: Any,
) -> Case:
    """`inputs` are queries, keys and values, `given` the others by their number."""
    rest = [(given or {}).get(i) for i in range(len(inputs), max(given or (0,)) + 1)]
    attributes = {"num_heads": HEADS} | attributes
    return Case(
        f"{op.lower()}-{name}",
        op,
        (*inputs, *rest),
        attributes,
        17,
        known,
        outputs,
        absent,
        domain="com.microsoft",
    )


def _apart(length: int = 3, keys: int = 4, size: int = SIZE) -> tuple[Array, ...]:
    return _a.normal(BATCH, length, HIDDEN), _a.normal(BATCH, keys, HIDDEN), _a.normal(BATCH, keys, HEADS * size)


def _caches(length: int) -> tuple[Array, Array]:
    return _a.normal(BATCH, HEADS, length, SIZE), _a.normal(BATCH, HEADS, length, SIZE)


def _past(length: int, first: int = PAST_KEY) -> dict[int, Array]:
    return {first + k: cache for k, cache in enumerate(_caches(length))}


def _buffer(length: int, used: int, first: int = PAST_KEY) -> dict[int, Array]:
    return {**_past(length, first), first + 2: _int32(used)}


def _int32(*values: Any) -> Array:
    return np.asarray(values, np.int32)


def _keys(*shape: int) -> dict[int, Array]:
    return {MASK: _a.integers(-1, 3, *shape, dtype="int32")}


def _packed(name: str, parts: int, given: Mapping[int, Array] | None = None) -> Case:
    """Packed head by head, which onnxruntime has on GPUs alone: the same as apart."""
    query, key, value = _apart(4 if parts == 3 else 3)
    by_head = [t.reshape(BATCH, 4, HEADS, SIZE) for t in (query, key, value)[3 - parts :]]
    packed = np.stack(by_head, 3)
    inputs = (packed, None, None) if parts == 3 else (query, packed, None)
    same = _case("same", (query, key, value), given, outputs=3)
    return replace(_case(name, inputs, given, outputs=3), expected=tuple(reference(same)))


def _scores(case: Case) -> Case:
    """With the scores as the fourth output, of which onnxruntime has to know the type before."""
    model = untyped_model(case)
    del model.graph.output[:]
    names = [n for n in model.graph.node[0].output if n]
    model.graph.output.extend(onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, None) for n in names)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return replace(case, expected=tuple(session.run(None, feeds(case))))


def _decoder(name: str, inputs: Sequence[Array | None], given: Mapping[int, Array] | None = None, **more: Any) -> Case:
    return _case(name, inputs, given, op="DecoderMaskedMultiHeadAttention", **more)


def _step(name: str, given: Mapping[int, Array] | None = None, **more: Any) -> Case:
    """One token after two in a buffer of six."""
    given = {**_buffer(6, 2, 5), **(given or {})}
    return _decoder(name, _apart(1, 1), given, outputs=3, past_present_share_buffer=1, **more)


def _side_by_side() -> Case:
    """Queries, keys and values in one tensor, on which onnxruntime fails."""
    same = _step("same")
    packed = np.concatenate([np.asarray(t) for t in same.inputs[:3]], 2)
    case = replace(
        same, id="decodermaskedmultiheadattention-side-by-side", inputs=(packed, None, None, *same.inputs[3:])
    )
    return replace(case, expected=tuple(reference(same)))


def _cross(name: str, given: Mapping[int, Array] | None = None, **more: Any) -> Case:
    return _decoder(f"cross-{name}", (_a.normal(BATCH, 1, HIDDEN), *_caches(4)), given, **more)


_ALL_BIAS = {BIAS: _a.normal(3 * HIDDEN)}
_SAME = (3, 3)
"""As many keys as queries."""

CASES = [
    _case("plain", _apart()),
    _case("sizes-of-values", _apart(size=7), {BIAS: _a.normal(2 * HIDDEN + 14)}, outputs=3),
    _case("bias", _apart(), {BIAS: _a.normal(3 * HIDDEN)}, known=frozenset({BIAS}), scale=0.3),
    _case("one-head", (_a.normal(1, 3, 7), _a.normal(1, 5, 7), _a.normal(1, 5, 7)), num_heads=1),
    _case("present", _apart(*_SAME), outputs=3, unidirectional=1),
    _case("past", _apart(*_SAME), _past(2), outputs=3),
    _case("past-unidirectional", _apart(*_SAME), {**_past(2), **_ALL_BIAS}, outputs=3, unidirectional=1),
    _case("empty-past", _apart(*_SAME), _past(0), outputs=3, unidirectional=1),
    _case("past-mask", _apart(*_SAME), {**_past(2), **_keys(2, 5)}, outputs=3, mask_filter_value=-2.0),
    _case("ends", _apart(), {MASK: _int32(3, 2)}, mask_filter_value=-1.5),
    _case("ends-past", _apart(*_SAME), {MASK: _int32(5, 3), **_past(2)}, outputs=3, unidirectional=1),
    _case("offsets", _apart(), {MASK: _int32(3, 2, 0, 3, 6, 0, 2, 5)}, mask_filter_value=-1.5),
    _case("mask", _apart(), _keys(2, 4), mask_filter_value=-1.5),
    _case("mask-of-queries", _apart(), _keys(2, 3, 4)),
    _case("mask-of-queries-past", _apart(*_SAME), {**_keys(2, 3, 5), **_past(2)}, outputs=3, unidirectional=1),
    *(
        _case(f"scores-plus-{'-'.join(map(str, shape))}", _apart(), {SCORE_BIAS: _a.normal(*shape)})
        for shape in ((2, 2, 3, 4), (1, 2, 3, 4), (2, 1, 3, 4), (1, 1, 3, 4))
    ),
    _case("scores-plus-mask", _apart(), {SCORE_BIAS: _a.normal(1, 2, 3, 4), **_keys(2, 4)}, mask_filter_value=-1.0),
    _scores(
        _case(
            "scores",
            _apart(),
            {SCORE_BIAS: _a.normal(1, 2, 3, 4), **_keys(2, 4)},
            outputs=4,
            absent=frozenset({1, 2}),
            mask_filter_value=-2.0,
        )
    ),
    _case("cross", (_a.normal(BATCH, 3, HIDDEN), *_caches(4)), outputs=3),
    _case("cross-mask", (_a.normal(BATCH, 3, HIDDEN), *_caches(4)), {**_keys(2, 4), **_ALL_BIAS}),
    _case("buffer", _apart(*_SAME), _buffer(9, 2), outputs=3),
    _case("buffer-known", _apart(1, 1), _buffer(6, 2), outputs=3, known=frozenset({PAST_LENGTH})),
    _case("buffer-mask", _apart(1, 1), {**_buffer(6, 2), **_keys(2, 3)}, outputs=3, mask_filter_value=-1.5),
    _case("buffer-unidirectional", _apart(*_SAME), {**_buffer(9, 4), **_ALL_BIAS}, outputs=3, unidirectional=1),
    _packed("packed", 3),
    _packed("packed-bias", 3, _ALL_BIAS),
    _packed("packed-keys", 2, {SCORE_BIAS: _a.normal(1, 2, 3, 4)}),
    _step("plain"),
    _step("bias", {10: _a.normal(3 * HIDDEN)}, scale=0.4),
    _step(
        "mask", {3: _a.integers(0, 2, 2, 3, dtype="int32"), 8: _int32(1)}, mask_filter_value=-2.0, known=frozenset({8})
    ),
    _step("scores-plus", {4: _a.normal(1, 2, 1, 3)}),
    _side_by_side(),
    _cross("plain"),
    _cross("mask", {3: _a.integers(0, 2, 2, 4, dtype="int32"), 10: _a.normal(3 * HIDDEN)}, mask_filter_value=-2.0),
    _scores(_cross("scores", outputs=4, absent=frozenset({1, 2}), output_qk=1)),
]
