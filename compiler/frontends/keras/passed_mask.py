"""The masks of results that have those of their layer's operands."""

from __future__ import annotations

from collections.abc import Sequence

from .call import UNKNOWN_MASK, Call
from .layers import JOINS_MASKS, PASSES_MASK


def passed_mask(call: Call) -> str | None:
    """The mask, bool[batch, steps], that the results of a layer have of its operands: UNKNOWN_MASK where it is not
    computed, None where all steps count, and for layers that give their results a mask themselves."""
    masks = [v.mask for v in call.values]
    found = [mask for mask in masks if mask is not None]
    if not found:
        return None
    if call.layer.kind == "Concatenate":
        return _concatenated(call, found, everywhere=len(found) == len(masks))
    if call.layer.kind in JOINS_MASKS:
        return _joined(call, found) if len(found) == len(masks) else None
    if call.layer.kind not in PASSES_MASK:
        return None
    return found[0] if len(masks) == 1 else UNKNOWN_MASK


def _joined(call: Call, masks: Sequence[str]) -> str:
    """A step counts where it does in any, or before Keras 3 in all."""
    if UNKNOWN_MASK in masks:
        return UNKNOWN_MASK
    first, *others = dict.fromkeys(masks)
    for mask in others:
        first = call.node("Or" if call.scope.dialect.masks_of_keras_3 else "And", [first, mask])
    return first


def _concatenated(call: Call, masks: Sequence[str], *, everywhere: bool) -> str | None:
    """All steps of an operand without a mask count."""
    rank = call.values[0].rank
    axis = int(call.option("axis", -1)) % rank
    if UNKNOWN_MASK in masks or (axis == 1 and not everywhere):
        return UNKNOWN_MASK
    if axis == 1:
        return call.node("Concat", masks, axis=1)
    if axis != rank - 1:
        return UNKNOWN_MASK
    return _joined(call, masks) if everywhere or not call.scope.dialect.masks_of_keras_3 else None
