"""Evaluates tensors by NumPy over index grids, for constant folding and as the reference of every kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ..ir.evaluate_expression import Evaluator, Evaluators, State, evaluate_expression
from ..ir.nodes import Buffer, Expr, Load, Scalar, Var
from ..ir.reduction import COMBINE, Reduce
from ..ir.scalar_ops import apply_binary
from ..ir.sizes import number, scalars_of, value_of
from .computed_sizes import NO_SIZES, Sizes
from .structure import Branch, Loop
from .tensor import Tensor

Array = np.ndarray[Any, np.dtype[Any]]

Env = dict[Var, Array]

Scalars = dict[Scalar, int]

GRID_LIMIT = 1 << 22
"""Elements evaluated at once; a larger reduction is taken in slices of its first axes that do not fit."""


def evaluate(
    tensor: Tensor,
    feeds: Mapping[Tensor, Array] | None = None,
    scalars: Mapping[Scalar, int] | None = None,
    sizes: Sizes = NO_SIZES,
) -> Array:
    """The elements of `tensor`, as an array of its shape and dtype, given those of the placeholders, and the scalars,
    that it depends on; `sizes` says what tensors scalars are read from.

    Raises KeyError for a placeholder without a feed, and for a scalar without a value.
    """
    values: dict[Buffer, Array] = {t.buffer: np.asarray(a) for t, a in (feeds or {}).items()}
    with np.errstate(all="ignore"):
        return _evaluate(tensor, values, dict(scalars or {}), sizes)


def _evaluate(tensor: Tensor, values: dict[Buffer, Array], scalars: Scalars, sizes: Sizes) -> Array:
    if tensor.buffer in values:
        return values[tensor.buffer]
    if tensor.data is not None:
        return tensor.data
    if tensor.source is not None:
        return _evaluate_structure(tensor, values, scalars, sizes)
    if tensor.body is None:
        raise KeyError(f"no value given for {tensor.name}")
    for t in tensor.reads:
        values[t.buffer] = _evaluate(t, values, scalars, sizes)
    over = tensor.body.axes if isinstance(tensor.body, Reduce) else ()
    _measure((tensor.body, *(v.length for v in (*tensor.axes, *over) if v.length is not None)), values, scalars, sizes)
    rank = len(tensor.axes)
    shape = tuple(_trips(axis, scalars) for axis in tensor.axes)
    if 0 in shape:  # the other extents may be any
        return values.setdefault(tensor.buffer, np.empty(shape, tensor.dtype.numpy))
    env: Env = {s: np.asarray(n, np.int32) for s, n in scalars.items()}
    for d, (axis, extent) in enumerate(zip(tensor.axes, shape, strict=True)):
        env[axis] = np.arange(extent, dtype=np.int32).reshape((1,) * d + (-1,) + (1,) * (rank - d - 1))
    if isinstance(tensor.body, Reduce):
        result = _reduce(tensor.body, shape, tuple(_trips(axis, scalars) for axis in tensor.body.axes), env, values)
    else:
        result = np.broadcast_to(evaluate_expression(tensor.body, env, values, _loader), shape)
    array = np.ascontiguousarray(result, dtype=tensor.dtype.numpy).reshape(shape)
    values[tensor.buffer] = array
    return array


def _measure(expressions: Iterable[Expr], values: dict[Buffer, Array], scalars: Scalars, sizes: Sizes) -> None:
    """Computes the scalars that expressions take from tensors."""
    for s in scalars_of(*expressions):
        source = None if s in scalars else sizes.source(s)
        if source is not None:
            scalars[s] = _evaluate(source, values, scalars, sizes).item()


def _evaluate_structure(tensor: Tensor, values: dict[Buffer, Array], scalars: Scalars, sizes: Sizes) -> Array:
    """A result of a loop or a branch. Values of tensors inside are of one iteration, so they are not kept."""
    assert tensor.source is not None
    structure, index = tensor.source.structure, tensor.source.index
    if isinstance(structure, Branch):
        taken = structure.then if _evaluate(structure.condition, values, scalars, sizes) else structure.otherwise
        whole = _evaluate(taken[index], dict(values), dict(scalars), sizes)
        return values.setdefault(tensor.buffer, _live(whole, tensor, values, scalars, sizes))
    carried, rows = _run_loop(structure, values, scalars, sizes)
    if index < len(carried):
        return values.setdefault(tensor.buffer, _live(carried[index], tensor, values, scalars, sizes))
    result = np.zeros(_shape(tensor, values, scalars, sizes), tensor.dtype.numpy)
    for i, row in enumerate(rows[index - len(carried)]):
        result[i] = row
    return values.setdefault(tensor.buffer, result)


def _live(whole: Array, tensor: Tensor, values: dict[Buffer, Array], scalars: Scalars, sizes: Sizes) -> Array:
    """The elements within the tensor's shape, of memory that may be for more."""
    return whole[tuple(map(slice, _shape(tensor, values, scalars, sizes)))]


def _shape(tensor: Tensor, values: dict[Buffer, Array], scalars: Scalars, sizes: Sizes) -> tuple[int, ...]:
    _measure(map(number, tensor.shape), values, scalars, sizes)
    return tuple(value_of(n, scalars) for n in tensor.shape)


def _run_loop(
    loop: Loop, values: dict[Buffer, Array], scalars: Scalars, sizes: Sizes
) -> tuple[list[Array], list[list[Array]]]:
    """The carried values after the last iteration, and the rows."""
    carried = [_evaluate(c.start, values, scalars, sizes) for c in loop.carried]
    rows: list[list[Array]] = [[] for _ in loop.rows]
    _measure((number(loop.trips),), values, scalars, sizes)
    for i in range(value_of(loop.trips, scalars)):
        if loop.condition is not None and not carried[loop.condition]:
            break
        inside = {**values, **{c.inside.buffer: a for c, a in zip(loop.carried, carried, strict=True)}}
        here = {**scalars, loop.counter: i}
        for iterations, row in zip(rows, loop.rows, strict=True):
            iterations.append(_evaluate(row, inside, here, sizes))
        carried = [_evaluate(c.next, inside, here, sizes) for c in loop.carried]
    return carried, rows


def _trips(axis: Var, scalars: Scalars) -> int:
    return axis.extent if axis.length is None else value_of(axis.length, scalars)


def _reduce(
    body: Reduce, shape: tuple[int, ...], over: tuple[int, ...], env: Env, values: dict[Buffer, Array]
) -> Array:
    rank = len(shape)
    axes, extents = (body.axes, over) if body.axes else ((Var("once", 1),), (1,))
    size = prod(shape)
    # The inner axes that fit the grid are reduced by NumPy at once, the next one in slices that do, the others one by
    # one.
    cut, count = len(axes) - 1, 1
    while cut > 0 and size * count * extents[cut] <= GRID_LIMIT:
        count *= extents[cut]
        cut -= 1
    length, step = extents[cut], max(1, GRID_LIMIT // max(1, size * count))
    wide = np.dtype(np.float64) if body.dtype.is_float and body.op in ("sum", "prod") else body.dtype.numpy
    result = np.full(shape, body.init.value, wide)
    inner = extents[cut + 1 :]
    env = {v: a.reshape(a.shape + (1,) * (1 + len(inner))) for v, a in env.items()}
    for d, (axis, extent) in enumerate(zip(axes[cut + 1 :], inner, strict=True)):
        env[axis] = np.arange(extent, dtype=np.int32).reshape((-1,) + (1,) * (len(inner) - d - 1))
    for outer in np.ndindex(*extents[:cut]):
        for axis, i in zip(axes, outer, strict=False):
            env[axis] = np.asarray(i, np.int32)
        for start in range(0, length, step):
            stop = min(start + step, length)
            env[axes[cut]] = np.arange(start, stop, dtype=np.int32).reshape((-1,) + (1,) * len(inner))
            value = evaluate_expression(body.value, env, values, _loader)
            value = np.broadcast_to(value, (*shape, stop - start, *inner))
            value = _collapse(body.op, value, tuple(range(rank, value.ndim)), wide)
            result = apply_binary(COMBINE[body.op], result, value.astype(wide))
    return result.astype(body.dtype.numpy)


def _collapse(op: str, value: Array, dims: tuple[int, ...], wide: np.dtype[Any]) -> Array:
    if op in ("sum", "prod"):
        fn = np.sum if op == "sum" else np.prod
        return np.asarray(fn(value, axis=dims, dtype=wide))
    # As kernels do, which start from the neutral element: a NaN is no extreme of max and min.
    extremes = {"max": np.fmax, "min": np.fmin, "max_nan": np.maximum, "min_nan": np.minimum}
    return np.asarray(extremes[op].reduce(value, axis=dims))


def _loader(evaluators: Evaluators, e: Load) -> Evaluator:
    buffer, indices = e.buffer, [evaluators.value(i) for i in e.indices]
    guard = None if e.guard is None else evaluators.value(e.guard)

    def load(state: State) -> Array:
        inside = None if guard is None else guard(state)
        return _load(state.memory[buffer], [i(state) for i in indices], inside)

    return load


def _load(data: Array, indices: list[Array], guard: Array | None) -> Array:
    if not indices:
        value = data
    elif guard is None:
        value = data[tuple(indices)]
    else:
        value = data[tuple(np.where(guard, i, 0) for i in indices)] if data.size else np.zeros((), data.dtype)
    return value if guard is None else np.where(guard, value, np.zeros((), data.dtype))


def unevaluated(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The tensors with a body that evaluating `tensors` computes, each once."""
    reached: dict[Tensor, None] = {}
    waiting = list(tensors)
    while waiting:
        t = waiting.pop()
        if t.data is None and t not in reached:
            reached[t] = None
            waiting.extend(t.reads)
    return list(reached)
