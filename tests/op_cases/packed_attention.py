"""Rows of com.microsoft's Attention: two sequences of three, two heads of five elements, unless they say otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from op_cases._arrays import Arrays
from op_table import Array, Case, reference

_a = Arrays(52)

MASK, PAST, BIAS = 3, 4, 5


def _case(
    name: str,
    given: Mapping[int, Array] | None = None,
    *,
    x: tuple[int, int, int] = (2, 3, 9),
    columns: int = 30,
    projection_bias: bool = True,
    outputs: int = 1,
    constants: frozenset[int] = frozenset(),
    **attributes: Any,
) -> Case:
    """`given` are the inputs after the third."""
    bias = _a.normal(columns) if projection_bias else None
    rest = [(given or {}).get(i) for i in range(MASK, max(given or (0,)) + 1)]
    inputs = (_a.normal(*x), _a.normal(x[2], columns), bias, *rest)
    attributes = {"num_heads": 2} | attributes
    return Case(f"attention-ms-{name}", "Attention", inputs, attributes, 17, constants, outputs, domain="com.microsoft")


def _mask(*values: Any) -> dict[int, Array]:
    return {MASK: np.asarray(values, np.int32)}


def _keys(*shape: int) -> dict[int, Array]:
    """A mask with negative numbers, which hide keys as zeros do."""
    return {MASK: _a.integers(-1, 3, *shape, dtype="int32")}


def _past(length: int) -> dict[int, Array]:
    return {PAST: _a.normal(2, 2, 2, length, 5)}


_LEAST = float(np.finfo(np.float32).min)

_ENDS = (2, 3)
_STARTS = (1, 0)


def _of_all_positions() -> Case:
    """The mask of four dimensions, which onnxruntime has on GPUs alone: the same as one of three, cut out of it."""
    mask = _a.integers(0, 2, 2, 1, 7, 7, dtype="int32")
    past = _past(2)
    same = _case("same", {MASK: mask[:, 0, 2:5, :5], **past}, outputs=2, mask_filter_value=-2.0)
    inputs = (*same.inputs[:MASK], mask, *same.inputs[PAST:])
    return replace(same, id="attention-ms-mask-of-all-positions", inputs=inputs, expected=tuple(reference(same)))


CASES = [
    _case("plain"),
    _case("weights", constants=frozenset({1, 2})),
    _case("no-bias", projection_bias=False),
    _case("present", outputs=2, qkv_hidden_sizes=[10, 10, 10]),
    _case("past", _past(4), outputs=2),
    _case("empty-past", _past(0), outputs=2, unidirectional=1),
    _case("sizes", columns=26, qkv_hidden_sizes=[8, 8, 10]),
    _case("one-head-scale", x=(1, 7, 4), num_heads=1, scale=0.3),
    _case("negative-scale", scale=-0.7),
    _case("unidirectional", unidirectional=1),
    _case("unidirectional-3", unidirectional=3),  # is not 1, so it is not true
    _case("unidirectional-past", _past(4), unidirectional=1, outputs=2),
    _case("one-query-past", {**_past(4), **_keys(2, 5)}, x=(2, 1, 9), unidirectional=1, outputs=2),
    _case("ends", _mask(*_ENDS)),
    _case("ends-unidirectional", _mask(*_ENDS), unidirectional=1, mask_filter_value=-1.5),
    _case("ends-past", {**_mask(5, 3), **_past(4)}, outputs=2),
    _case("ends-beyond", _mask(0, 9), mask_filter_value=-1.0),
    _case("starts", _mask(*_ENDS, *_STARTS)),
    _case("starts-past", {**_mask(7, 5, 3, 0), **_past(4)}, unidirectional=1, outputs=2, mask_filter_value=-1.0),
    _case("starts-beyond", _mask(2, 3, 5, -1), mask_filter_value=-1.0),
    _case("offsets", _mask(*_ENDS, 0, 3, 6, 0, 2, 5)),
    _case("mask", _keys(2, 3)),
    _case("mask-unidirectional", _keys(2, 3), unidirectional=1, mask_filter_value=-1.0),
    _case("mask-past", {**_keys(2, 7), **_past(4)}, unidirectional=1, outputs=2, mask_filter_value=-1.0),
    _case("mask-of-one", _mask([0], [1]), mask_filter_value=-1.0),
    _case("mask-of-one-shared", _mask([0]), unidirectional=1),
    _case("mask-of-queries", _keys(2, 3, 3), mask_filter_value=-1.0),
    _case("mask-of-queries-past", {**_keys(2, 3, 7), **_past(4)}, unidirectional=1, outputs=2),
    _of_all_positions(),
    # Queries that see no key.
    _case("blind", _mask([0, 0, 0], [1, 0, 1]), unidirectional=1),
    _case("blind-least", _mask([0, 0, 1], [0, 0, 0]), unidirectional=1, mask_filter_value=_LEAST),
    _case("blind-infinite", _mask([0, 0, 0], [1, 0, 1]), mask_filter_value=-np.inf),
    *(
        _case(f"scores-plus-{'-'.join(map(str, shape))}", {BIAS: _a.normal(*shape)})
        for shape in ((2, 2, 3, 3), (1, 2, 3, 3), (2, 1, 3, 3), (1, 1, 3, 3))
    ),
    _case("scores-plus-mask", {BIAS: _a.normal(1, 2, 3, 3), **_keys(2, 3)}, unidirectional=1, mask_filter_value=-1.0),
]
