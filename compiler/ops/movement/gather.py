"""Elements chosen by a tensor of indices.

Indices count from the end where negative, also those computed at run time; one that is out of range then means the
nearest element, so that no kernel reads outside of its buffers. Where they are constants and the extent is decided by a
run, such a run ends with an error.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...dtypes import I32, I64
from ...ir.construct import maximum, minimum, select
from ...ir.nodes import Const, Expr, expr
from ...ir.simplify import simplify_expr
from ...ir.sizes import Size, equal, known_less, least, number, shown
from ...tensor import Tensor, compute, constant
from ..axes import one_axis
from ..call import Call


def _known_in_range(call: Call, indices: Tensor, data: Tensor, axis: int) -> Tensor:
    """`indices` of a dimension of `data`; those known at compile time are checked and counted from the front, as int32,
    where its extent is known too."""
    extent = data.shape[axis]
    if extent == 0 and indices.buffer.size:
        raise call.unsupported(f"nothing can be chosen from shape {shown(data.shape)}", "check the input shapes")
    constants = indices.data
    if constants is None:
        return indices
    if not isinstance(extent, int):
        require_in_range(call, constants, data, axis)
        return indices
    wrong = (constants < -extent) | (constants >= extent)
    if wrong.any():
        raise call.unsupported(
            f"index {constants[wrong].flat[0]} is out of range in a tensor of shape {shown(data.shape)}",
            "the model is invalid",
        )
    if indices.prepared:  # what they are computed from is shipped
        return indices
    return constant(indices.name, np.asarray(np.where(constants < 0, constants + extent, constants), np.int32))


def require_in_range(call: Call, indices: np.ndarray, data: Tensor, axis: int) -> None:
    """A run ends with an error whose size of a dimension of `data` has no place for one of the constant `indices`."""
    if indices.size:
        low, high = int(indices.min()), int(indices.max())
        worst = high if high >= -low else low
        reason = f"index {worst} is out of range in dimension {axis} of a tensor of shape {shown(data.shape)}"
        call.require_at_least(data.shape[axis], max(high + 1, -low), reason)


def to_int32(index: Expr) -> Expr:
    """`index` as int32; one that int32 cannot hold becomes the nearest number that it can, and stays out of range."""
    if index.dtype == I64:
        index = minimum(maximum(index, -(2**31)), 2**31 - 1)
    return index.cast(I32)


def _index(indices: Tensor, at: Sequence[Expr], extent: Size) -> Expr:
    """The element of `indices` at `at`, as an index into a dimension of `extent`."""
    values = indices.data
    if indices.elements is not None and len(indices.elements) == 1:
        return simplify_expr(_within(number(indices.elements[0]), extent))
    if values is not None and values.size == 1 and not isinstance(extent, int):
        return simplify_expr(_within(Const(int(values.item())), extent))
    if values is None or indices.prepared or not isinstance(extent, int):
        return _within(to_int32(indices.read(tuple(at))), extent)
    if values.size == 1:
        return Const(int(values.item()))
    if values.ndim == 1:
        # A slice in disguise, whose access stays affine.
        first, step = int(values[0]), int(values[1]) - int(values[0])
        if np.array_equal(values, first + step * np.arange(values.size)):
            return at[0] * step + first
    return indices.read(tuple(at))


def _within(index: Expr, extent: Size) -> Expr:
    """An index that counts from the end where it is negative; the nearest place to one that is out of range."""
    from_front = maximum(select(index < 0, index + extent, index), 0)
    if not least(extent):  # of nothing, the first place in memory
        return maximum(minimum(from_front, number(extent) - 1), 0)
    return minimum(from_front, extent - 1)


def _gather(call: Call) -> Tensor:
    data = call.input(0)
    return gathered(call, call.name, data, call.input(1), one_axis(call, call.attribute("axis", 0), data.rank))


def gathered(call: Call, name: str, data: Tensor, indices: Tensor, axis: int) -> Tensor:
    """The elements of `data` at `indices` along `axis`, which the dimensions of `indices` replace."""
    indices = _known_in_range(call, indices, data, axis)
    shape = (*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :])

    def body(*axes: Expr) -> Expr:
        if 0 in shape:
            return expr(0, data.dtype)
        index = _index(indices, axes[axis : axis + indices.rank], data.shape[axis])
        return data.read([*axes[:axis], index, *axes[axis + indices.rank :]])

    return compute(name, shape, (data, indices), body)


def _gather_elements(call: Call) -> Tensor:
    data = call.input(0)
    axis = one_axis(call, call.attribute("axis", 0), data.rank)
    indices = _known_in_range(call, call.input(1), data, axis)
    if indices.rank != data.rank or any(
        known_less(e, i) for d, (i, e) in enumerate(zip(indices.shape, data.shape, strict=True)) if d != axis
    ):
        raise call.unsupported(
            f"indices of shape {shown(indices.shape)} do not fit data of {shown(data.shape)}", "check the input shapes"
        )

    def body(*axes: Expr) -> Expr:
        if 0 in indices.shape:
            return expr(0, data.dtype)
        index = _index(indices, axes, data.shape[axis])
        return data.read([index if d == axis else a for d, a in enumerate(axes)])

    return compute(call.name, indices.shape, (data, indices), body)


def _gather_nd(call: Call) -> Tensor:
    """The last dimension of the indices holds one index for each dimension of data after the first batch_dims."""
    data, indices = call.input(0), call.input(1)
    batch = call.attribute("batch_dims", 0)
    depth = call.fixed(indices, (-1,))[0] if indices.rank else 0
    fits = 0 <= batch < indices.rank and 0 < depth <= data.rank - batch
    if not fits or not all(equal(a, b) for a, b in zip(data.shape[:batch], indices.shape[:batch], strict=True)):
        raise call.unsupported(
            f"indices {shown(indices.shape)}, data {shown(data.shape)} and batch_dims {batch} do not fit",
            "check the input shapes",
        )
    # Known columns are tables of their own: each is in range of its own dimension.
    constants = indices.data
    tables = [] if constants is None else [constant(f"{indices.name}.{k}", constants[..., k]) for k in range(depth)]
    columns = [_known_in_range(call, table, data, batch + k) for k, table in enumerate(tables)]
    outer = indices.rank - 1
    shape = (*indices.shape[:-1], *data.shape[batch + depth :])

    def body(*axes: Expr) -> Expr:
        if 0 in shape:
            return expr(0, data.dtype)
        at = axes[:outer]
        chosen = [_index(column, at, data.shape[batch + k]) for k, column in enumerate(columns)] or [
            _index(indices, [*at, Const(k)], data.shape[batch + k]) for k in range(depth)
        ]
        return data.read([*axes[:batch], *chosen, *axes[outer:]])

    return compute(call.name, shape, (data, indices, *columns), body)


def _one_hot(call: Call) -> Tensor:
    """values[1] where the new axis stands at the index (from the end where negative), values[0] elsewhere."""
    indices, values = call.input(0), call.input(2)
    depth = (call.counts(1, "depth") or (0,))[0]
    axis = one_axis(call, call.attribute("axis", -1), indices.rank + 1)
    wide = I64 if indices.dtype.is_int and indices.dtype.bits > 16 else I32

    def body(*axes: Expr) -> Expr:
        index = indices.read([*axes[:axis], *axes[axis + 1 :]]).cast(wide)
        here = select(index < 0, index + number(depth, wide), index).eq(axes[axis].cast(wide))
        off, on = (values[i] if values.data is None else Const(values.data[i].item(), values.dtype) for i in (0, 1))
        return select(here, on, off)

    shape = (*indices.shape[:axis], depth, *indices.shape[axis:])
    return compute(call.name, shape, (indices, values), body)


OPERATORS = {
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "OneHot": _one_hot,
}
