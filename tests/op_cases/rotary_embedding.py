"""Rows of RotaryEmbedding, of both domains: two sequences of three, four heads of six elements, unless they say
otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from op_cases._arrays import Arrays, ints
from op_table import Array, Case, reference

_a = Arrays(81)

_FLAT, _HEADS = (2, 3, 24), (2, 4, 3, 6)


def _case(name: str, *inputs: Array, **attributes: Any) -> Case:
    return Case(f"rotary-{name}", "RotaryEmbedding", inputs, attributes, 23)


def _ms(name: str, x: tuple[int, ...], positions: Array, pairs: int = 3, known: bool = True, **attributes: Any) -> Case:
    inputs = (_a.normal(*x), positions, _a.normal(9, pairs), _a.normal(9, pairs))
    constants = frozenset({2, 3} if known else ())
    return Case(f"rotary-ms-{name}", "RotaryEmbedding", inputs, attributes, 17, constants, domain="com.microsoft")


def _positions(*shape: int) -> Array:
    return _a.integers(0, 9, *shape)


def _from_each(name: str, *first: int) -> Case:
    """The position of the first token of each sequence, where onnxruntime has that of all alone."""
    case = _ms(name, _FLAT, ints(*first))
    same = replace(case, inputs=(case.inputs[0], ints(*first)[:, None] + np.arange(3), *case.inputs[2:]))
    return replace(case, expected=tuple(reference(same)))


_PARTIAL = {"rotary_embedding_dim": 4, "num_heads": 4}

CASES = [
    _case("positions", _a.normal(*_HEADS), _a.normal(9, 3), _a.normal(9, 3), _positions(2, 3)),
    _case("tokens", _a.normal(*_HEADS), _a.normal(2, 3, 3), _a.normal(2, 3, 3), interleaved=1),
    _case("flat", _a.normal(*_FLAT), _a.normal(9, 3), _a.normal(9, 3), _positions(2, 3), num_heads=4),
    _case("flat-tokens", _a.normal(*_FLAT), _a.normal(2, 3, 3), _a.normal(2, 3, 3), num_heads=4),
    _case("part", _a.normal(*_HEADS), _a.normal(9, 2), _a.normal(9, 2), _positions(2, 3), rotary_embedding_dim=4),
    _case("flat-part", _a.normal(*_FLAT), _a.normal(2, 3, 2), _a.normal(2, 3, 2), interleaved=1, **_PARTIAL),
    _ms("flat", _FLAT, _positions(2, 3)),
    _ms("heads", _HEADS, _positions(2, 3), known=False),
    _ms("interleaved", _HEADS, _positions(2, 3), interleaved=1),
    _ms("from", _FLAT, ints(4), scale=2.0),  # onnxruntime has no use for it, either
    _ms("from-scalar", _HEADS, np.asarray(6)),
    _from_each("from-each", 2, 5),
    _ms("part", _FLAT, _positions(2, 3), 2, **_PARTIAL),
    _ms("part-heads", _HEADS, ints(3), 2, interleaved=1, **_PARTIAL),
    _ms("one-sequence", (1, 5, 8), _positions(1, 5), 4),
]
