"""Random graphs of quantised tensors: their values, weights and quantisers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx_models import Array, random_integers
from random_graphs import RandomGraph

CHANNELS = (1, 2, 3, 4, 5, 7, 8, 16, 19, 33)
MICROSOFT = "com.microsoft"
BYTES = (np.int8, np.uint8)

SMALL = {np.int8: (-64, 64), np.uint8: (0, 121)}
"""Weights of integer operators: on processors without instructions for bytes, onnxruntime adds pairs of products in 16
bits, which these do not exceed."""


@dataclass(frozen=True)
class Quanta:
    """A quantised value, and the weights that are its scale and zero point."""

    q: str
    scale: str
    zero: str


@dataclass
class QuantisedGraph(RandomGraph):
    """`quanta` are values that operators on quanta may read."""

    quanta: list[Quanta] = field(default_factory=list)

    def pick_quanta(self, ranks: Sequence[int] = range(1, 7)) -> Quanta | None:
        """Oftener a late one."""
        fit = [x for x in self.quanta if self.values[x.q].ndim in ranks]
        return None if not fit else fit[-1] if self.draw.random() < 0.5 else self.draw.choice(fit[-6:])

    def one(self, op: str, *inputs: str, **attributes: Any) -> str:
        """The output of a new node; empty if it is refused, or if an input is empty that must not be."""
        if inputs and not inputs[0]:
            return ""
        last = max((i for i, n in enumerate(inputs) if n), default=-1)
        made = self.add(op, list(inputs[: last + 1]), **attributes)
        return made[0] if made else ""

    def scale(self, data: Any) -> str:
        return self.weight(data, np.float32)

    def bytes(self, dtype: Any, *shape: int) -> Array:
        """Bytes of the whole range."""
        return random_integers(self.arrays, shape, dtype)

    def small(self, dtype: Any, *shape: int) -> Array:
        return self.arrays.integers(*SMALL[dtype], shape).astype(dtype)

    def zero_point(self, dtype: Any, weights: bool = False) -> int:
        """Now and then a bound. Those of weights are small."""
        limits = np.iinfo(dtype)
        if weights and self.draw.random() < 0.6:
            return 0 if dtype == np.int8 else 60
        return self.draw.choice([int(limits.min), int(limits.max), 0, (int(limits.min) + int(limits.max)) // 2 + 9])


def parameters_of(g: QuantisedGraph, a: Array) -> tuple[float, int, Any]:
    """Scale, zero point and type for the elements of `a`, some of which are beyond the range now and then."""
    r = g.draw
    low, high = (float(v) * (0.6 if r.random() < 0.15 else 1) for v in (a.min(initial=0), a.max(initial=0)))
    types = [*BYTES] * 4 + ([np.int16, np.uint16] if g.opset >= 21 else [])
    dtype = r.choice(types)
    limits = np.iinfo(dtype)
    least, most = int(limits.min), int(limits.max)
    largest = max(high, -low, 1e-3)
    match r.choice(["fitted", "fitted", "middle", "least", "most"]):
        case "fitted":
            scale = max(high - low, 1e-3) / (most - least)
            return scale, min(max(round(least - low / scale), least), most), dtype
        case "middle":
            return largest / (most - least) * 2, (least + most + 1) // 2, dtype
        case "least":
            return largest / (most - least), least, dtype
    return largest / (most - least), most, dtype


def requantised(g: QuantisedGraph, x: str) -> str:
    """DequantizeLinear(QuantizeLinear(x)), with movements of quanta between them now and then."""
    if not x:
        return ""
    r = g.draw
    scale, zero, dtype = parameters_of(g, g.values[x])
    s, z = g.scale(scale), g.weight(zero, dtype)
    if r.random() < 0.2 and g.opset >= 21:
        scales = np.full(g.values[x].shape[-1], scale) * np.linspace(0.9, 1, g.values[x].shape[-1])
        s, z = g.scale(scales), g.weight(np.full(len(scales), zero), dtype)
    axis: dict[str, Any] = {} if g.weights[s].ndim == 0 else {"axis": g.values[x].ndim - 1}
    absent = zero == 0 and r.random() < 0.5
    if absent and dtype != np.uint8:
        if g.opset < 21:
            absent = False
        else:
            axis["output_dtype"] = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    q = g.one("QuantizeLinear", x, s, "" if absent else z, **axis)
    axis.pop("output_dtype", None)
    if not axis and r.random() < 0.2:
        q = moved(g, q) or q
    y = g.one("DequantizeLinear", q, s, "" if zero == 0 and r.random() < 0.5 else z, **axis)
    if y and not axis and dtype in BYTES:
        g.quanta.append(Quanta(q, s, z))
        if r.random() < 0.15:
            g.one("DequantizeLinear", q, s, r.choice([z, g.weight(zero ^ 5, dtype)]))
    return y


def moved(g: QuantisedGraph, x: str) -> str:
    """Elements of a value in other places, or a choice of them."""
    if not x:
        return ""
    a, r = g.values[x], g.draw
    match r.choice(["Transpose", "Reshape", "MaxPool", "Slice", "Concat"]):
        case "Transpose":
            order = (
                [0, *r.sample(range(1, a.ndim), a.ndim - 1)] if r.random() < 0.8 else r.sample(range(a.ndim), a.ndim)
            )
            return g.one("Transpose", x, perm=order)
        case "Reshape":
            return g.one("Reshape", x, g.weight(r.choice([[0, -1], [0, 1, -1]]), np.int64))
        case "MaxPool" if a.ndim in (3, 4):
            d = a.ndim - 2
            return g.one("MaxPool", x, kernel_shape=[r.choice([1, 2, 3])] * d, strides=[r.choice([1, 2])] * d)
        case "Concat":
            return g.one("Concat", x, x, axis=r.choice([a.ndim - 1, a.ndim // 2]))
    axis = r.randrange(a.ndim)
    first = r.choice([0, 0, 1])
    return g.one("Slice", x, *(g.weight([v], np.int64) for v in (first, 2**31 - 1, axis)))


def dequantised_weight(g: QuantisedGraph, shape: Sequence[int], axis: int, fan: int) -> str:
    """Weights of bytes, with one scale or one for each place along `axis`, or another one now and then."""
    r = g.draw
    if r.random() < 0.1:
        axis = r.randrange(len(shape))
    dtype = r.choice(BYTES)
    count = shape[axis]
    each = r.random() < 0.6
    scales = (g.arrays.random(count) + 0.3) * (0.016 / fan**0.5)
    zeros = [g.zero_point(dtype, weights=True) for _ in range(count)] if r.random() < 0.3 else [0] * count
    if dtype == np.uint8 and r.random() < 0.7:
        zeros = [128] * count
    absent = not any(zeros) and r.random() < 0.5
    s = g.scale(scales if each else scales[0])
    z = "" if absent else g.weight(zeros if each else zeros[0], dtype)
    w = g.weight(g.bytes(dtype, *shape))
    made = g.one("DequantizeLinear", w, s, z, **({"axis": axis} if each else {}))
    g.parameters.add(made)
    return made


def bias_of(g: QuantisedGraph, count: int) -> str:
    """None, of floats, or dequantised from int32."""
    kind = g.draw.choice(["none", "float", "int32"])
    if kind == "none":
        return ""
    if kind == "float":
        return g.weight(g.normal(count))
    made = g.one("DequantizeLinear", g.weight(g.arrays.integers(-900, 900, count), np.int32), g.scale(0.0007))
    g.parameters.add(made)
    return made


@dataclass(frozen=True)
class Window:
    """A convolution's weights, without the factor of groups, and its attributes."""

    shape: tuple[int, ...]
    attributes: Mapping[str, Any]


def window_of(g: QuantisedGraph, a: Array) -> Window:
    c, d, r = a.shape[1], a.ndim - 2, g.draw
    groups = r.choice([1, 1, c, r.choice([k for k in range(1, c + 1) if c % k == 0])])
    filters = groups * r.choice([1, 1, 2, 3]) if groups > 1 else r.choice([c, r.choice(CHANNELS), r.choice(CHANNELS)])
    kernel = [1] * d if r.random() < 0.35 else [r.choice([1, 2, 3, 3, 5]) for _ in range(d)]
    attributes: dict[str, Any] = {"group": groups, "strides": [r.choice([1, 1, 1, 2, 3]) for _ in range(d)]}
    attributes["dilations"] = [r.choice([1, 1, 1, 2]) for _ in range(d)]
    if r.random() < 0.2:
        attributes |= {"auto_pad": r.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]), "dilations": [1] * d}
    else:
        attributes["pads"] = [k // 2 for k in kernel] * 2 if r.random() < 0.5 else r.choices([0, 1, 1, 2], k=2 * d)
    return Window((filters, c // groups, *kernel), attributes)
