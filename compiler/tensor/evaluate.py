"""Evaluates tensors by NumPy over index grids, for constant folding and as the reference of every kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ..ir.nodes import Binary, Bitcast, Buffer, Cast, Const, Expr, Load, Select, Unary, Var
from ..ir.reduction import COMBINE, Reduce
from ..ir.scalar_ops import apply_binary, apply_cast, apply_unary
from .tensor import Tensor

Array = np.ndarray[Any, np.dtype[Any]]

GRID_LIMIT = 1 << 22
"""Elements evaluated at once; a larger reduction is taken in slices of its first axes that do not fit."""


def evaluate(tensor: Tensor, feeds: Mapping[Tensor, Array] | None = None) -> Array:
    """The elements of `tensor`, as an array of its shape and dtype, given those of the placeholders it depends on.

    Raises KeyError for a placeholder without a feed.
    """
    values: dict[Buffer, Array] = {t.buffer: np.asarray(a) for t, a in (feeds or {}).items()}
    return _evaluate(tensor, values)


def _evaluate(tensor: Tensor, values: dict[Buffer, Array]) -> Array:
    if tensor.buffer in values:
        return values[tensor.buffer]
    if tensor.data is not None:
        return tensor.data
    if tensor.body is None:
        raise KeyError(f"no value given for {tensor.name}")
    for t in tensor.reads:
        values[t.buffer] = _evaluate(t, values)
    if 0 in tensor.shape:  # the other extents may be any
        return values.setdefault(tensor.buffer, np.empty(tensor.shape, tensor.dtype.numpy))
    rank = len(tensor.axes)
    env: dict[Var, Array] = {}
    for d, axis in enumerate(tensor.axes):
        env[axis] = np.arange(axis.extent, dtype=np.int32).reshape((1,) * d + (-1,) + (1,) * (rank - d - 1))
    if isinstance(tensor.body, Reduce):
        result = _reduce(tensor.body, tensor.shape, env, values)
    else:
        result = np.broadcast_to(_eval(tensor.body, env, values), tensor.shape)
    array = np.ascontiguousarray(result, dtype=tensor.dtype.numpy).reshape(tensor.shape)
    values[tensor.buffer] = array
    return array


def _reduce(body: Reduce, shape: tuple[int, ...], env: dict[Var, Array], values: dict[Buffer, Array]) -> Array:
    rank, axes = len(shape), body.axes or (Var("once", 1),)
    size = prod(shape)
    # The inner axes that fit the grid are reduced by NumPy at once, the next one in slices that do, the others one by
    # one.
    cut, count = len(axes) - 1, 1
    while cut > 0 and size * count * axes[cut].extent <= GRID_LIMIT:
        count *= axes[cut].extent
        cut -= 1
    length, step = axes[cut].extent, max(1, GRID_LIMIT // max(1, size * count))
    wide = np.dtype(np.float64) if body.dtype.is_float and body.op in ("sum", "prod") else body.dtype.numpy
    result = np.full(shape, body.init.value, wide)
    inner = axes[cut + 1 :]
    env = {v: a.reshape(a.shape + (1,) * (1 + len(inner))) for v, a in env.items()}
    for d, axis in enumerate(inner):
        env[axis] = np.arange(axis.extent, dtype=np.int32).reshape((-1,) + (1,) * (len(inner) - d - 1))
    for outer in np.ndindex(*(a.extent for a in axes[:cut])):
        for axis, i in zip(axes, outer, strict=False):
            env[axis] = np.asarray(i, np.int32)
        for start in range(0, length, step):
            stop = min(start + step, length)
            env[axes[cut]] = np.arange(start, stop, dtype=np.int32).reshape((-1,) + (1,) * len(inner))
            value = np.broadcast_to(_eval(body.value, env, values), (*shape, stop - start, *(a.extent for a in inner)))
            value = _collapse(body.op, value, tuple(range(rank, value.ndim)), wide)
            result = apply_binary(COMBINE[body.op], result, value.astype(wide))
    with np.errstate(all="ignore"):
        return result.astype(body.dtype.numpy)


def _collapse(op: str, value: Array, dims: tuple[int, ...], wide: np.dtype[Any]) -> Array:
    with np.errstate(all="ignore"):
        if op in ("sum", "prod"):
            fn = np.sum if op == "sum" else np.prod
            return np.asarray(fn(value, axis=dims, dtype=wide))
        # As kernels do, which start from the neutral element: a NaN is no extreme.
        return np.asarray((np.fmax if op == "max" else np.fmin).reduce(value, axis=dims))


def _eval(e: Expr, env: Mapping[Var, Array], values: Mapping[Buffer, Array]) -> Array:
    match e:
        case Const(value, dtype):
            return np.asarray(value, dtype.numpy)
        case Var():
            return env[e]
        case Unary(op, a):
            return apply_unary(op, _eval(a, env, values))
        case Binary(op, a, b):
            return apply_binary(op, _eval(a, env, values), _eval(b, env, values))
        case Select(c, a, b):
            return np.where(_eval(c, env, values), _eval(a, env, values), _eval(b, env, values))
        case Cast(dtype, a):
            return apply_cast(dtype, _eval(a, env, values))
        case Bitcast(dtype, a):
            return np.asarray(_eval(a, env, values), order="C").view(dtype.numpy)
        case Load(buffer, indices, guard):
            return _load(
                values[buffer],
                [_eval(i, env, values) for i in indices],
                None if guard is None else _eval(guard, env, values),
            )
    raise AssertionError(f"no tensor-level expression: {e!r}")


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
    found: dict[Tensor, None] = {}
    waiting = list(tensors)
    while waiting:
        t = waiting.pop()
        if t.data is None and t not in found:
            found[t] = None
            waiting.extend(t.reads)
    return list(found)


def depends_only_on_constants(tensor: Tensor) -> bool:
    """Whether no placeholder is read, so that `evaluate(tensor)` needs no feeds."""
    if tensor.data is not None:
        return True
    return tensor.body is not None and all(depends_only_on_constants(t) for t in tensor.reads)
