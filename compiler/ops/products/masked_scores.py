"""Scores of com.microsoft's attention with biases and masks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...dtypes import F16, F32
from ...ir.construct import select
from ...ir.nodes import Const, Expr
from ...ir.sizes import Size, equal, is_one, shown, size, text_of
from ...tensor import Tensor, compute
from ..broadcast import broadcast_element, spread_input
from ..call import Call

_LEAST = {F16: float(np.finfo(np.float16).min), F32: float(np.finfo(np.float32).min)}
"""By dtype the least finite number."""


def masked(
    call: Call, scores: Tensor, mask_index: int, bias_index: int, before: Size, reads: Sequence[Tensor] = ()
) -> Tensor:
    """The scores plus the bias, plus `mask_filter_value` for keys that the mask hides, or plus the least number of the
    dtype for keys after the query, where it is unidirectional: all of them finite, so that a query that attends to no
    key weighs the hidden ones. Mask and bias are inputs of these numbers; the first query is at position `before`,
    which is computed from `reads`."""
    bias, mask = spread_input(call, bias_index, scores.shape), call.optional(mask_index)
    if mask is not None and mask.rank == 2 and is_one(mask.shape[1]):
        mask = None  # it hides all keys of a sequence or none, which is the same
    causal = call.flag("unidirectional", 0)
    if bias is None and mask is None and not causal:
        return scores
    if mask is not None:
        _check_mask(call, mask, scores, causal=causal)
    hidden = Const(call.attribute("mask_filter_value", -10000.0), scores.dtype)
    later = Const(_LEAST[scores.dtype], scores.dtype)

    def body(b: Expr, h: Expr, i: Expr, j: Expr) -> Expr:
        result = scores[b, h, i, j]
        if bias is not None:
            result = result + broadcast_element(bias, (b, h, i, j))
        offset: Expr = Const(0.0, scores.dtype)
        if mask is not None:
            offset = select(_seen(mask, scores, (b, i, j), before), offset, hidden)
        if causal:
            offset = select(j <= i + before, offset, later)
        return result if mask is None and not causal else result + offset

    return compute(f"{call.name}.masked", scores.shape, (scores, bias, mask, *reads), body)


def _forms(scores: Tensor) -> dict[int, Sequence[tuple[Size | None, ...]]]:
    """By rank the shapes of a mask: ends of the keys; ends, then starts; ends, then offsets for packed sequences, which
    say nothing else; keys; keys of each query; the same of all positions, those of the past and later ones, too."""
    batch, _, length, total = scores.shape
    return {
        1: [(batch,), (size(batch * 2),), (size(batch * 3 + 2),)],
        2: [(batch, total)],
        3: [(batch, length, total)],
        4: [(batch, 1, None, None)],
    }


def _check_mask(call: Call, mask: Tensor, scores: Tensor, *, causal: bool) -> None:
    """Raises UnsupportedError for a mask of no form that there is."""
    forms = _forms(scores).get(mask.rank, [])
    expected = " or ".join(f"[{', '.join('any' if e is None else text_of(e) for e in f)}]" for f in forms)
    call.check_shape(
        mask,
        forms,
        f"its mask has shape {shown(mask.shape)}, where {expected or '1 to 4 dimensions'} is expected",
        "check the shapes given to the model",
    )
    if mask.rank == 4 and causal:
        raise call.unsupported("it is unidirectional, and has a mask of 4 dimensions", "the model is invalid")


def _seen(mask: Tensor, scores: Tensor, at: tuple[Expr, Expr, Expr], before: Size) -> Expr:
    """Whether by the mask query i attends to key j in sequence b."""
    b, i, j = at
    match mask.rank:
        case 1:
            inside = j < mask[b,]
            batch = scores.shape[0]
            pairs = equal(mask.shape[0], size(batch * 2))
            return inside & (j >= mask[b + batch,]) if pairs else inside
        case 2:
            return mask[b, j] > 0
        case 3:
            return mask[b, i, j] > 0
        case _:
            return mask[b, 0, i + before, j] > 0
