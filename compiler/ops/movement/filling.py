"""Tensors made from shapes and numbers alone. All but EyeLike are known at compile time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...dtypes import from_numpy
from ...ir.construct import maximum, select
from ...ir.nodes import Const
from ...ir.sizes import Size, ceiling, larger, product, size
from ...tensor import Tensor, compute
from ...tensor.bound_elements import bounded_size
from ...tensor.exact_floats import combined, parts
from ...tensor.known_elements import exact_floats, from_sizes
from ..axes import diagonal_within
from ..call import Call
from ..elementwise.casting import onnx_dtype


def _constant_of_shape(call: Call) -> Tensor:
    value = call.attribute("value", np.zeros(1, np.float32))
    if value.size != 1:
        raise call.unsupported(f"attribute value has {value.size} elements, not one", "the model is invalid")
    shape = call.counts(0, "input") or ()
    return compute(call.name, shape, (), lambda *_: Const(value.item(), from_numpy(value.dtype)))


def _eye_like(call: Call) -> Tensor:
    """Ones on the diagonal moved right by k, in the input's dtype unless `dtype` is given."""
    t = call.input(0)
    if t.rank != 2:
        raise call.unsupported(f"its input has rank {t.rank}, not 2", "the model is invalid")
    k = diagonal_within(call.attribute("k", 0), t.shape)
    dtype = onnx_dtype(call, "dtype", 0) if "dtype" in call.attributes else t.dtype
    return compute(call.name, t.shape, (), lambda y, x: (x - y).eq(k).cast(dtype))


def _range(call: Call) -> Tensor:
    """start + i * delta, up to limit, which is not included."""
    if any(call.input(i).data is None for i in range(3)):
        return _range_of_sizes(call)
    arguments = [call.constant(i, what) for i, what in enumerate(("start", "limit", "delta"))]
    start, limit, delta = (np.asarray(0 if a is None else a).item() for a in arguments)
    dtype = call.input(0).dtype
    if delta == 0:
        raise call.unsupported("delta is 0", "the model is invalid")
    if not all(map(math.isfinite, (start, limit, delta))):
        raise call.unsupported(
            f"start {start}, limit {limit} and delta {delta} give no finite sequence", "the model is invalid"
        )
    count = max(0, math.ceil((limit - start) / delta))
    return compute(call.name, (count,), (), lambda i: i.cast(dtype) * delta + start)


def _range_of_sizes(call: Call) -> Tensor:
    """A range whose length is known at run time, of numbers that are known as sizes, or whose bounds bound it."""
    dtype = call.input(0).dtype
    if dtype.is_float:
        return _range_of_run(call)
    start, limit, delta = (call.element(i) for i in range(3))
    if isinstance(start, int) and start >= 0 and isinstance(delta, int) and delta > 0:
        limit = call.element(1, count=True)
    if start is None or limit is None or not isinstance(delta, int):
        return _range_of_run(call)
    if delta == 0:
        raise call.unsupported("delta is 0", "the model is invalid")
    distance = limit - start if delta > 0 else start - limit
    count = larger(ceiling(distance, abs(delta)), 0)
    return compute(call.name, (count,), (), lambda i: (i * delta + start).cast(dtype))


def _range_of_run(call: Call) -> Tensor:
    """A range of which a run computes how many numbers it has, if there is a bound of it."""
    inputs = [call.input(i) for i in range(3)]
    dtype = inputs[0].dtype
    start, limit, delta = (t.read((Const(0),) * t.rank) for t in inputs)
    count = None if dtype.is_int else _count_of_floats(inputs)
    if dtype.is_int:
        up = delta > 0
        distance = select(up, limit - start, start - limit)
        steps = (maximum(distance, 1) - 1) // maximum(select(up, delta, -delta), 1) + 1
        count = bounded_size(f"{call.name}.count", inputs, select(distance > 0, steps, 0))
    if count is None:
        unknown = [i for i in range(3) if inputs[i].data is None and call.element(i) is None]
        index = unknown[0] if unknown else 1
        advice = ", or in the model by Min or Clip" if dtype.is_int else ""
        raise call.not_known(index, ("start", "limit", "delta")[index], advice)
    return compute(call.name, (count,), inputs, lambda i: start + i.cast(dtype) * delta)


def _count_of_floats(inputs: Sequence[Tensor]) -> Size | None:
    """How many numbers a range of floats has where start, limit and delta are exact, and delta is a number; None where
    they are not."""
    dtype = inputs[0].dtype
    start, limit, delta = (e[0] if (e := exact_floats(t)) else None for t in inputs)
    if start is None or limit is None or delta is None:
        return None
    step, parts_of_one = parts(delta)
    distance = combined("-", limit, start, dtype)
    if distance is None or isinstance(distance, bool) or not isinstance(step, int) or step == 0:
        return None
    n, d = parts(distance)
    if d & (d - 1) and abs(step) != parts_of_one:  # the distance is rounded, and would be divided
        return None
    return larger(ceiling(size(n * (parts_of_one if step > 0 else -parts_of_one)), d * abs(step)), 0)


def _shape(call: Call) -> Tensor:
    """int64; from `start` up to `end`, which count from the end where negative (opset 15)."""
    shape = call.input(0).shape
    start, end = call.attribute("start", 0), call.attribute("end", len(shape))
    return from_sizes(call.name, shape[start:end])


def _size(call: Call) -> Tensor:
    return from_sizes(call.name, product(call.input(0).shape))


OPERATORS = {
    "ConstantOfShape": _constant_of_shape,
    "EyeLike": _eye_like,
    "Range": _range,
    "Shape": _shape,
    "Size": _size,
}
