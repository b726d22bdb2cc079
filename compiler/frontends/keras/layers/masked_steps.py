"""Masks of recurrent layers, which leave states and outputs as they were at masked steps.

ONNX's recurrent operators take the length of each sequence, not a mask. So the steps that count are moved to the front,
in order, and the rows of the results are moved back.
"""

from __future__ import annotations

from dataclasses import dataclass

import onnx

from ..call import Call, Value


@dataclass(frozen=True, slots=True)
class MaskedSteps:
    """The mask of a call, bool[batch, steps], and, int64[batch, steps], how many steps count up to each one, itself
    included."""

    call: Call
    mask: str
    counts: str

    @property
    def lengths(self) -> str:
        """How many steps count, int32[batch]."""
        total = self.call.node("ReduceSum", [self._counted(), self.call.integers([1])], keepdims=0)
        return self.call.node("Cast", [total], to=onnx.TensorProto.INT32)

    def front(self, x: str) -> str:
        """`x`, batch x steps x features, with the steps that count first; what follows them is not defined."""
        call = self.call
        ones = call.node("Add", [call.node("Mul", [self.counts, call.integers(0)]), call.integers(1)])
        places = call.node("CumSum", [ones, call.integers(1)], exclusive=1)
        # As many steps precede the one that goes to place p as have counts up to p.
        precede = call.node("LessOrEqual", [self._wide(self.counts, 1), self._wide(places, 2)])
        numbers = call.node("Cast", [precede], to=onnx.TensorProto.INT64)
        sources = call.node("ReduceSum", [numbers, call.integers([2])], keepdims=0)
        # Beyond the last of them the sum is the number of steps.
        last = call.node("Sub", [call.node("Shape", [x], start=1, end=2), call.integers(1)])
        return self._rows(x, call.node("Min", [sources, last]))

    def back(self, steps: str, start: str | None, *, backwards: bool, zero: bool) -> str:
        """Results of the steps that count, batch x steps x units, at all steps: those of the nearest step before that
        counts (after, if `backwards`), and where there is none `start`, batch x units, or zero. With `zero`, masked
        steps have zeros."""
        call = self.call
        if start is None:
            all_steps = call.node("Pad", [steps, call.integers([0, 1, 0, 0, 0, 0])])
        else:
            all_steps = call.node("Concat", [self._wide(start, 1), steps], axis=1)
        rows = self._rows(all_steps, self._after() if backwards else self.counts)
        return call.node("Where", [self._wide(self.mask, 2), rows, call.number(0)]) if zero else rows

    def _after(self) -> str:
        """1 + the place of the first step from each one on that counts; 0 where there is none."""
        call = self.call
        before = call.node("Sub", [self.counts, self._counted()])
        total = call.node("ReduceSum", [self._counted(), call.integers([1])], keepdims=1)
        exists = call.node("Cast", [call.node("Less", [before, total])], to=onnx.TensorProto.INT64)
        return call.node("Mul", [call.node("Add", [before, call.integers(1)]), exists])

    def _counted(self) -> str:
        return self.call.node("Cast", [self.mask], to=onnx.TensorProto.INT64)

    def _rows(self, x: str, places: str) -> str:
        return self.call.node("GatherND", [x, self._wide(places, 2)], batch_dims=1)

    def _wide(self, value: str, axis: int) -> str:
        return self.call.node("Unsqueeze", [value, self.call.integers([axis])])


def masked_steps(call: Call, x: Value) -> MaskedSteps | None:
    """None where all steps of `x` count. Raises UnsupportedError for a mask that is not computed."""
    if x.mask is None:
        return None
    mask = call.known_mask(x)
    numbers = call.node("Cast", [mask], to=onnx.TensorProto.INT64)
    return MaskedSteps(call, mask, call.node("CumSum", [numbers, call.integers(1)]))
