"""Joining tensors along an axis, and cutting one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

from ...dtypes import I32, I64, highest
from ...ir.construct import minimum, select
from ...ir.name_size import name_size
from ...ir.nodes import Expr, expr
from ...ir.sizes import Size, capacity, ceiling, divides, equal, larger, number, shown, size, smaller, text_of
from ...tensor import Tensor, compute, reduce
from ...tensor.bound_elements import span_of
from ...tensor.computed_sizes import computed_size
from ..axes import one_axis
from ..broadcast import MOST_OPERANDS
from ..call import Call, SizesDifferError
from ..equal_sizes import advice_for
from .gather import to_int32


def concat(call: Call) -> Tensor:
    every = call.every_input()
    first = every[0]
    axis = one_axis(call, call.attribute("axis", 0), first.rank)
    for t in every:
        pairs = [(a, b) for d, (a, b) in enumerate(zip(t.shape, first.shape, strict=False)) if d != axis]
        differing = [pair for pair in pairs if not equal(*pair)]
        shapes = f"shapes {shown(first.shape)} and {shown(t.shape)}"
        if t.rank != first.rank or any(equal(*pair) is False for pair in differing):
            raise call.unsupported(f"{shapes} differ in more than axis {axis}", "check the input shapes")
        if differing:
            reason = f"{shapes} differ in more than axis {axis} in some runs"
            raise SizesDifferError(str(call.unsupported(reason, advice_for(differing))), differing[0])
    return joined(call.name, every, axis)


def joined(name: str, every: list[Tensor], axis: int) -> Tensor:
    """`every` concatenated along `axis`; many in groups, which are concatenated then. A part starts where those
    before it end: at a sum, where their sizes vary, and at a scalar once that is long."""
    first = every[0]
    parts = [t for t in every if t.extents[axis] > 0]
    if len(parts) > MOST_OPERANDS:
        groups = [parts[i : i + MOST_OPERANDS] for i in range(0, len(parts), MOST_OPERANDS)]
        return joined(name, [joined(f"{name}.{i}", group, axis) for i, group in enumerate(groups)], axis)
    starts, ends = [], []
    start: Size = 0
    for t in parts:
        starts.append(start)
        ends.append(size(start + t.shape[axis]))
        start = name_size(ends[-1])
    shape = (*first.shape[:axis], ends[-1] if ends else 0, *first.shape[axis + 1 :])

    def body(*axes: Expr) -> Expr:
        if not parts:
            return expr(0, first.dtype)
        position = axes[axis]
        result: Expr | None = None
        for i in reversed(range(len(parts))):
            start, end = starts[i], ends[i]
            # Selects evaluate both arms, so every read needs the whole of its own guard.
            guards = [position >= start] * (i > 0) + [position < end] * (i < len(parts) - 1)
            guard = guards[0] & guards[1] if len(guards) == 2 else guards[0] if guards else None
            element = parts[i].read([p - start if d == axis and start != 0 else p for d, p in enumerate(axes)], guard)
            result = element if result is None else select(position < end, element, result)
        assert result is not None
        return result

    return compute(name, shape, parts, body)


def _split(call: Call) -> tuple[Tensor, ...]:
    """By sizes (an attribute before opset 13, then an input), or into equal parts of which the last may be smaller."""
    t = call.input(0)
    axis = one_axis(call, call.attribute("axis", 0), t.rank)
    extent = t.shape[axis]
    sizes: tuple[Size, ...] | None
    if call.opset >= 13 and call.has(1) and call.known_sizes(1) is None:
        ends = _ends_of_run(call, axis, extent)
        sizes = tuple(larger(size(end - start), 0) for start, end in zip([0, *ends], ends, strict=False))
        return _parts(call, t, axis, sizes, ends)
    sizes = call.sizes(1, "split") if call.opset >= 13 else call.attribute("split", None)
    if sizes is None:
        count = call.attribute("num_outputs", call.outputs)
        if call.opset < 18:
            _require_equal_parts(call, extent, count)
        chunk = ceiling(extent, count)
        ends = [smaller(size((i + 1) * chunk), extent) for i in range(count)]
        sizes = tuple(size(end - start) for start, end in zip([0, *ends], ends, strict=False))
    else:
        ends = list(accumulate(sizes, lambda a, b: size(a + b)))
    if not equal(ends[-1] if ends else 0, extent) or any(isinstance(s, int) and s < 0 for s in sizes):
        raise call.unsupported(
            f"axis {axis} of extent {text_of(extent)} cannot be cut into {shown(sizes)}",
            "check the input shapes",
        )
    for n in sizes:
        call.require_at_least(n, 0, f"{text_of(n)}, the size of a part of axis {axis}, is negative")
    return _parts(call, t, axis, sizes, ends)


def _require_equal_parts(call: Call, extent: Size, count: int) -> None:
    """UnsupportedError, or an error of the run, for parts that differ: from opset 18 on the last may be smaller."""
    if divides(count, extent):
        return
    reason = f"an axis of extent {text_of(extent)} is not cut into {count} equal parts"
    if isinstance(extent, int):
        raise call.unsupported(reason, "give the sizes of the parts, or export it with opset 18 or newer")
    call.refuse_where((extent % count).ne(0), (), f"{reason} in this run")


def _ends_of_run(call: Call, axis: int, extent: Size) -> list[Size]:
    """Where parts end whose sizes a run computes: within the axis, of which the last part is the rest."""
    lengths = call.input(1, (None,))
    (count,) = call.fixed(lengths)
    dtype = I32 if count * (capacity(extent) + 1) <= highest(I32) else I64

    def length_of(j: Expr) -> Expr:
        """A size; where there can be none such, one that makes the sum too large."""
        n = to_int32(lengths[j])
        return select((n < 0) | (n > extent), number(extent) + 1, n).cast(dtype)

    # One reduction for all of them: no end is an expression of all parts before it.
    sums = compute(
        f"{call.name}.ends",
        (count,),
        (lengths,),
        lambda i: reduce("sum", (count,), lambda j: select(j <= i, length_of(j), 0)),
    )
    last = sums[count - 1] if count else expr(0)
    call.refuse_where(
        last.ne(number(extent, last.dtype)),
        (sums,),
        f"this run computes sizes of {count} parts that do not make up axis {axis}, of extent {text_of(extent)}",
    )
    longest = max(span_of(lengths)[1], 0)

    def end(i: int) -> Size:
        name = f"{call.name}.end{i}"
        most = min((i + 1) * longest, capacity(extent))
        source = compute(name, (1,), (sums,), lambda _: minimum(sums[i], number(extent, dtype)).cast(I32))
        return smaller(computed_size(name, most + 1, source), extent)

    return [*(end(i) for i in range(count - 1)), extent]


def _parts(call: Call, t: Tensor, axis: int, sizes: Sequence[Size], ends: Sequence[Size]) -> tuple[Tensor, ...]:
    def part(i: int, start: Size) -> Tensor:
        shape = (*t.shape[:axis], sizes[i], *t.shape[axis + 1 :])
        return compute(
            f"{call.name}.{i}",
            shape,
            (t,),
            lambda *axes: t.read([p + start if d == axis and start != 0 else p for d, p in enumerate(axes)]),
        )

    return tuple(part(i, ends[i - 1] if i else 0) for i in range(len(sizes)))


OPERATORS: dict[str, Callable[[Call], Tensor | tuple[Tensor, ...]]] = {
    "Concat": concat,
    "Split": _split,
}
