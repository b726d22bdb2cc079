"""The Reduce family and ArgMax, ArgMin."""

from __future__ import annotations

from collections.abc import Callable

from ...dtypes import BOOL, F32, I64, U8
from ...ir.construct import select, unary
from ...ir.nodes import Expr
from ...ir.sizes import Size, larger, number, product, reciprocal
from ...tensor import Tensor, compute
from ..axes import many_axes, one_axis
from ..call import Call
from .reduce_axes import attains, reduce_axes, without

Map = Callable[[Expr], Expr]


def _axes(call: Call) -> tuple[int, ...]:
    """From input 1 or the attribute; without any, all axes, or none with noop_with_empty_axes."""
    rank = call.input(0).rank
    absent: tuple[int, ...] = ()
    axes = call.ints(1, "axes") or call.attribute("axes", absent)
    if not axes and not call.flag("noop_with_empty_axes", 0):
        axes = tuple(range(rank))
    return tuple(sorted(many_axes(call, axes, rank)))


def _reduction(op: str, before: Map, after: Callable[[Expr, Size], Expr] | None = None) -> Callable[[Call], Tensor]:
    """`op` over before(x), then after(result, number of elements reduced)."""

    def operator(call: Call) -> Tensor:
        x, axes = call.input(0), _axes(call)
        keepdims = call.flag("keepdims", 1)
        result = reduce_axes(call.name, op, x.shape, axes, (x,), lambda *i: before(x[i]), keepdims)
        if after is None:
            return result
        count = product(x.shape[d] for d in axes)
        return compute(f"{call.name}.result", result.shape, (result,), lambda *i: after(result[i], count))

    return operator


def _itself(x: Expr) -> Expr:
    return x


def _extreme(op: str) -> Callable[[Call], Tensor]:
    """A maximum or minimum, NaN where an element is; of bools (opset 20) as of 0 and 1."""
    plain = _reduction(op, _itself)
    of_bools = _reduction(op, lambda x: x.cast(U8), lambda r, _: r.cast(BOOL))
    return lambda call: (of_bools if call.input(0).dtype == BOOL else plain)(call)


def _mean(total: Expr, count: Size) -> Expr:
    if total.dtype.is_float:
        return total * reciprocal(count, total.dtype)
    return total / number(larger(count, 1), total.dtype)


def _in_float(op: str) -> Callable[[Expr, Size], Expr]:
    """A function of real numbers; of integers, computed in float32 and truncated."""

    def apply(x: Expr, _: Size) -> Expr:
        return unary(op, x if x.dtype.is_float else x.cast(F32)).cast(x.dtype)

    return apply


def reduce_log_sum_exp(call: Call) -> Tensor:
    """max + log(sum(exp(x - max))), so that no exponential overflows."""
    x, axes = call.input(0), _axes(call)
    keepdims = call.flag("keepdims", 1)
    if not x.dtype.is_float:
        raise call.unsupported(f"its input is {x.dtype}", "cast it to float32 first")
    highest = reduce_axes(f"{call.name}.max", "max", x.shape, axes, (x,), lambda *i: x[i])
    # Infinity minus itself is no number; with a finite shift the infinity follows from exp and log.
    shift = compute(
        f"{call.name}.shift",
        highest.shape,
        (highest,),
        lambda *i: select(unary("isinf", highest[i]), 0, highest[i]),
    )
    total = reduce_axes(
        f"{call.name}.sum",
        "sum",
        x.shape,
        axes,
        (x, shift),
        lambda *i: unary("exp", x[i] - shift[without(i, axes)]),
    )
    shape = tuple(1 if d in axes else x.shape[d] for d in range(x.rank)) if keepdims else total.shape

    def body(*i: Expr) -> Expr:
        own = without(i, axes) if keepdims else i
        return unary("log", total[own]) + shift[own]

    return compute(call.name, shape, (total, shift), body)


def _arg(op: str) -> Callable[[Call], Tensor]:
    """The index of the maximum or minimum along an axis."""

    def operator(call: Call) -> Tensor:
        x = call.input(0)
        axis = one_axis(call, call.attribute("axis", 0), x.rank)
        last = call.attribute("select_last_index", 0) != 0
        indices = place_of_extreme(call.name, op, x, axis, last=last, keepdims=call.flag("keepdims", 1))
        return compute(call.name, indices.shape, (indices,), lambda *i: indices[i].cast(I64))

    return operator


def place_of_extreme(name: str, op: str, x: Tensor, axis: int, *, last: bool = False, keepdims: bool = False) -> Tensor:
    """The first index, or the `last`, of the maximum (`op` "max") or minimum along an axis, or of a NaN, as int32: the
    extreme first, then where it stands."""
    best = reduce_axes(f"{name}.{op}", f"{op}_nan", x.shape, (axis,), (x,), lambda *i: x[i])
    fallback = 0 if last else larger(x.shape[axis] - 1, 0)

    def place(*i: Expr) -> Expr:
        return select(attains(x[i], best[without(i, (axis,))]), i[axis], fallback)

    return reduce_axes(f"{name}.place", "max" if last else "min", x.shape, (axis,), (x, best), place, keepdims)


OPERATORS: dict[str, Callable[[Call], Tensor]] = {
    "ArgMax": _arg("max"),
    "ArgMin": _arg("min"),
    "ReduceL1": _reduction("sum", lambda x: unary("abs", x)),
    "ReduceL2": _reduction("sum", lambda x: x * x, _in_float("sqrt")),
    "ReduceLogSum": _reduction("sum", _itself, _in_float("log")),
    "ReduceLogSumExp": reduce_log_sum_exp,
    "ReduceMax": _extreme("max_nan"),
    "ReduceMean": _reduction("sum", _itself, _mean),
    "ReduceMin": _extreme("min_nan"),
    "ReduceProd": _reduction("prod", _itself),
    "ReduceSum": _reduction("sum", _itself),
    "ReduceSumSquare": _reduction("sum", lambda x: x * x),
}
