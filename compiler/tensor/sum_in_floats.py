"""Products of dequantised operands whose sums are those of float32: where targets compute these faster."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Set
from dataclasses import replace

from ..choices import ordered
from ..dtypes import F32
from ..ir.contraction import loaded_operand
from ..ir.nodes import Binary, Cast, Const, Expr, Load, Var
from ..ir.reduction import Reduce
from ..ir.rewrite import substitute
from .bound_elements import span_of
from .fold_tensor import fold
from .layer_choices import LayerChoices
from .program import TensorProgram, without_unread
from .replace_tensors import replace_tensors
from .tensor import Bounds, Tensor, compute


def sum_in_floats(
    program: TensorProgram, prefers_floats: Callable[[Tensor], bool], choices: LayerChoices
) -> TensorProgram:
    """total[i] = sum over k of int32(x[i, k]) * int32(w[k]); y[i] = float32(total[i])
    ->  y[i] = sum over k of float32(x[i, k]) * float32(w[k])

    for approximate tensors y. `prefers_floats` is given the sum in float32. The choice is `sums`.
    """
    totals: set[Tensor] = set()
    operands = FloatOperands()

    def make(t: Tensor) -> tuple[Tensor, ...]:
        if not t.approximate:
            return (t,)
        (total,) = t.reads
        parts = operands.sum(t, total)
        if parts is None:
            return (t,)
        preferred = "float32" if prefers_floats(parts[-1]) else "int32"
        if choices(t).choose("sums", ordered(preferred, ["int32", "float32"])) == "int32":
            return (t,)
        totals.add(total)
        operands.keep(parts)
        return parts

    result = replace_tensors(program, make)
    return without_sums(result, totals) if totals else program


def without_sums(program: TensorProgram, totals: Set[Tensor]) -> TensorProgram:
    """`program` without those sums of integers that nothing reads, and without operands that only they read."""
    kept = {*program.stored, *(t for _, t in program.outputs)}
    operands = {r for t in totals for r in t.reads if r.body is not None and not r.is_constant}
    return without_unread(without_unread(program, totals - kept), operands - kept)


class FloatOperands:
    """Operands of products in float32. Equal ones are one tensor: each product of a tensor has subtracted its zero
    point for itself."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Tensor] = {}
        self._axes: dict[Hashable, Var] = {}

    def sum(self, t: Tensor, total: Tensor) -> tuple[Tensor, ...] | None:
        """The operands in float32, but for constants and what is kept, and the sum, which keeps the buffer of `t`."""
        sums = total.body
        if not isinstance(sums, Reduce) or not isinstance(sums.value, Binary):
            return None
        a, b = loaded_operand(sums.value.a), loaded_operand(sums.value.b)
        if a is None or b is None:
            return None
        by_buffer = {r.buffer: r for r in total.reads}
        wide = {x.buffer: self._widened(by_buffer[x.buffer]) for x in (a, b)}

        def operand(x: Load) -> Expr:
            return Load(wide[x.buffer].buffer, x.indices, x.guard)

        value = Binary("*", operand(a), operand(b))
        reads = tuple(dict.fromkeys(wide[x.buffer] for x in (a, b)))
        body = Reduce(sums.op, sums.axes, value, Const(0.0, F32))
        # Exact: sums of quanta, which are scaled afterwards, are beyond float16.
        result = replace(t, axes=total.axes, body=body, reads=reads, approximate=False, exact=True)
        before = set(self._kept.values())
        return (*(r for r in reads if r.body is not None and r not in before), result)

    def keep(self, parts: tuple[Tensor, ...]) -> None:
        """Has further products share the operands among `parts`, which `sum` returned."""
        self._kept |= {self._key(operand.reads[0]): operand for operand in parts[:-1]}

    def _widened(self, x: Tensor) -> Tensor:
        kept = self._kept.get(self._key(x))
        if kept is not None:
            return kept
        widened = fold(compute(f"{x.name}.float", x.shape, (x,), lambda *i: Cast(F32, x.read(i))))
        span = span_of(x) if x.data is None or not x.data.size else (int(x.data.min()), int(x.data.max()))
        return replace(widened, bounds=Bounds(span))

    def _key(self, x: Tensor) -> Hashable:
        """Equal for tensors of which each element is the same expression."""
        if x.body is None or isinstance(x.body, Reduce):
            return x
        places = [(d, v.extent, v.length) for d, v in enumerate(x.axes)]
        axes = tuple(self._axes.setdefault(p, Var(f"i{p[0]}", *p[1:])) for p in places)
        return x.dtype, axes, substitute(x.body, dict(zip(x.axes, axes, strict=True)))
