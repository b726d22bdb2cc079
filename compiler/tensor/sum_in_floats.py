"""Products of dequantised operands whose sums are those of float32: where targets compute these faster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..choices import ordered
from ..dtypes import F32
from ..ir.contraction import loaded_operand
from ..ir.nodes import Binary, Cast, Const, Expr, Load
from ..ir.reduction import Reduce
from .fold_tensor import fold
from .layer_choices import LayerChoices
from .program import TensorProgram, without_unread
from .replace_tensors import replace_tensors
from .tensor import Tensor, compute


def sum_in_floats(
    program: TensorProgram, prefers_floats: Callable[[Tensor], bool], choices: LayerChoices
) -> TensorProgram:
    """total[i] = sum over k of int32(x[i, k]) * int32(w[k]); y[i] = float32(total[i])
    ->  y[i] = sum over k of float32(x[i, k]) * float32(w[k])

    for approximate tensors y. `prefers_floats` is given the sum in float32. The choice is `sums`.
    """
    totals: set[Tensor] = set()

    def make(t: Tensor) -> tuple[Tensor, ...]:
        if not t.approximate:
            return (t,)
        (total,) = t.reads
        parts = in_floats(t, total)
        if parts is None:
            return (t,)
        preferred = "float32" if prefers_floats(parts[-1]) else "int32"
        if choices(t).choose("sums", ordered(preferred, ["int32", "float32"])) == "int32":
            return (t,)
        totals.add(total)
        return parts

    result = replace_tensors(program, make)
    if not totals:
        return program
    return without_unread(result, totals)


def in_floats(t: Tensor, total: Tensor) -> tuple[Tensor, ...] | None:
    """The operands in float32, but for constants, and the sum, which keeps the buffer of `t`."""
    sums = total.body
    if not isinstance(sums, Reduce) or not isinstance(sums.value, Binary):
        return None
    a, b = loaded_operand(sums.value.a), loaded_operand(sums.value.b)
    if a is None or b is None:
        return None
    by_buffer = {r.buffer: r for r in total.reads}
    wide = {x.buffer: _widened(by_buffer[x.buffer]) for x in (a, b)}

    def operand(x: Load) -> Expr:
        return Load(wide[x.buffer].buffer, x.indices, x.guard)

    value = Binary("*", operand(a), operand(b))
    reads = tuple(dict.fromkeys(wide[x.buffer] for x in (a, b)))
    body = Reduce(sums.op, sums.axes, value, Const(0.0, F32))
    # Exact: sums of quanta, which are scaled afterwards, are beyond float16.
    result = replace(t, axes=total.axes, body=body, reads=reads, approximate=False, exact=True)
    return (*(r for r in reads if r.body is not None), result)


def _widened(x: Tensor) -> Tensor:
    return fold(compute(f"{x.name}.float", x.shape, (x,), lambda *i: Cast(F32, x.read(i))))
