"""Operands of integer products that a model has transposed are stored as they are multiplied: along rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..dtypes import I8, I16, I32, U8
from ..ir.contraction import find_contraction, loaded_operand
from ..ir.nodes import Load
from ..ir.reduction import Reduce
from .multiply_words import is_along_memory
from .program import TensorProgram
from .tensor import Tensor


def store_rows(program: TensorProgram) -> TensorProgram:
    """x[i, k] = q[k, i]; total[i, j] = sum over k of int32(x[i, k]) * int32(w[k, j])
    ->  the same, with x in `stored`

    for constants w. Fusion would read q where x is read; but words, of which processors multiply all elements at once,
    are of neighbours in memory.
    """
    stored = program.stored.union(*map(_transposed, program.tensors))
    return program if stored == program.stored else replace(program, stored=stored)


def _transposed(t: Tensor) -> Iterator[Tensor]:
    """The operand of the product `t`, where that is moved to be multiplied along its last dimension."""
    if t.dtype != I32 or not isinstance(t.body, Reduce) or t.body.op != "sum":
        return
    contraction = find_contraction(t.axes, t.body.axes, t.body.value)
    by_buffer = {r.buffer: r for r in t.reads}
    for way in contraction.orientations if contraction is not None and contraction.over else ():
        x, w = loaded_operand(way.a), loaded_operand(way.b)
        if x is None or w is None or not way.columns or x.dtype not in (I8, U8, I16):
            continue
        of, k = by_buffer[x.buffer], way.over[-1]
        moved = isinstance(of.body, Load) and x.indices[-1] == k and by_buffer[w.buffer].is_constant
        if moved and not is_along_memory(of, x, k, 2):
            yield of
