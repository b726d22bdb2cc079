"""Rows of com.microsoft's normalisations of sums, and of those that onnxruntime has in the default domain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from op_cases._arrays import Arrays
from op_table import Array, Case, reference
from webnn_compile.ops.call import OWN_DOMAIN

_a = Arrays(51)
_x = _a.normal


def _case(id: str, op: str, *inputs: Array | None, **given: Any) -> Case:
    of_case = {n: given.pop(n) for n in ("outputs", "absent", "constants", "tolerance") if n in given}
    return Case(f"ms-{id}", op, inputs, given, 17, domain="com.microsoft", **of_case)


def _skip(id: str, *inputs: Array | None, op: str = "SkipLayerNormalization", **given: Any) -> Case:
    return _case(f"skip-{id}", op, *inputs, **{"epsilon": 1e-3} | given)


def _rms(id: str, *inputs: Array | None, **given: Any) -> Case:
    return _skip(f"simplified-{id}", *inputs, op="SkipSimplifiedLayerNormalization", **given)


def _own(id: str, op: str, *inputs: Array, outputs: int = 1, **attributes: Any) -> Case:
    """An operator that is the compiler's own once the importer has met it in the default domain."""
    case = Case(f"onnxruntime-{id}", op, inputs, {"epsilon": 1e-3} | attributes, 12, outputs=outputs)
    return replace(case, domain=OWN_DOMAIN, expected=tuple(reference(case)))


def _embed(id: str, *inputs: Array | None, **given: Any) -> Case:
    return _case(f"embed-{id}", "EmbedLayerNormalization", *inputs, **{"epsilon": 1e-3, "outputs": 3} | given)


_SMALL = (_x(2, 3, 7) * 1e-3, _x(2, 3, 7) * 1e-3)
"""Sums of which the variance is no more than some epsilons."""


def _ids(high: int, *shape: int) -> Array:
    return _a.integers(0, high, *(shape or (2, 3)), dtype="int32")


_WORDS, _POSITIONS, _SEGMENTS, _SCALE, _SHIFT = _x(6, 5), _x(8, 5), _x(3, 5), _x(5), _x(5)

CASES = [
    _skip("all", _x(2, 3, 7), _x(2, 3, 7), _x(7), _x(7), _x(7), outputs=4),
    _skip("scale-alone", _x(2, 3, 7), _x(2, 3, 7), _x(7)),
    _skip("bias-alone", _x(2, 3, 7), _x(2, 3, 7), _x(7), None, _x(7), outputs=4, absent=frozenset({1, 2})),
    _skip("of-one-batch", _x(2, 3, 7), _x(1, 3, 7), _x(7), _x(7), outputs=4),
    _skip("of-two-dimensions", _x(2, 3, 7), _x(3, 7), _x(7), _x(7), constants=frozenset({1, 2, 3})),
    _skip("tokens", _x(3, 7), _x(3, 7), _x(7), _x(7), _x(7), outputs=4),
    _skip("epsilon", *_SMALL, _x(7), epsilon=0.5),
    _case("skip-default-epsilon", "SkipLayerNormalization", *_SMALL, _x(7), outputs=4),
    _rms("all", _x(2, 3, 7), _x(2, 3, 7), _x(7), _x(7), outputs=4),
    _rms("scale-alone", _x(2, 3, 7), _x(1, 3, 7), _x(7)),
    _rms("tokens", _x(3, 7), _x(3, 7), _x(7), outputs=4, absent=frozenset({1, 2})),
    _case("skip-simplified-default-epsilon", "SkipSimplifiedLayerNormalization", *_SMALL, _x(7)),
    _own("layernorm", "LayerNormalization", _x(2, 3, 7), _x(7), _x(7), outputs=3),
    _own("layernorm-axis", "LayerNormalization", _x(2, 3, 7), _x(3, 7), axis=1),
    _own("simplified", "SimplifiedLayerNormalization", _x(2, 3, 7), _x(7), axis=-1, outputs=2, stash_type=1),
    _own("simplified-axis", "SimplifiedLayerNormalization", _x(2, 3, 7), _x(3, 7), axis=1, outputs=2),
    _embed("words", _ids(6), None, _WORDS, _POSITIONS, None, _SCALE, _SHIFT),
    _embed("segments", _ids(6), _ids(3), _WORDS, _POSITIONS, _SEGMENTS, _SCALE, _SHIFT),
    _embed("first-segment", _ids(6), None, _WORDS, _POSITIONS, _SEGMENTS, _SCALE, _SHIFT),
    _embed("mask", _ids(6), None, _WORDS, _POSITIONS, None, _SCALE, _SHIFT, _ids(3), outputs=2),
    _embed("positions", _ids(6), None, _WORDS, _POSITIONS, None, _SCALE, _SHIFT, None, _ids(8)),
    _embed(
        "shared-positions",
        *(_ids(6), _ids(3), _WORDS, _POSITIONS, _SEGMENTS, _SCALE, _SHIFT, _ids(2), _ids(8, 1, 3)),
        constants=frozenset({2, 3, 4, 5, 6}),
    ),
    _embed("no-index", _ids(6), None, _WORDS, _POSITIONS, None, _SCALE, _SHIFT, mask_index_type=0, outputs=1),
    _case(
        "embed-default-epsilon",
        "EmbedLayerNormalization",
        *(_ids(6), None, _WORDS * 1e-3, _POSITIONS * 1e-3, None, _SCALE, _SHIFT),
        outputs=2,
    ),
]
