"""Random ONNX graphs of quantised tensors: QuantizeLinear and DequantizeLinear around float operators, operators on
quanta, products of integers, and dynamic quantisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto
from onnx_models import Array, onnxruntime_results
from random_graphs import RandomGraph

CHANNELS = (1, 2, 3, 4, 5, 7, 8, 16, 19, 33)
OPSETS = (13, 17, 19, 21, 21)
BATCHES = 4
LARGEST_SUM = 1e8
"""Magnitude of sums of integers as floats, before they are scaled."""
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
        limits = np.iinfo(dtype)
        return self.arrays.integers(limits.min, limits.max + 1, shape).astype(dtype)

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


def float_convolution(g: QuantisedGraph) -> str:
    x = g.pick((3, 4))
    if x is None:
        return ""
    window = window_of(g, g.values[x])
    w = dequantised_weight(g, window.shape, 0, prod(window.shape[1:]))
    return g.one("Conv", x, w, bias_of(g, window.shape[0]), **window.attributes)


def float_transposed_convolution(g: QuantisedGraph) -> str:
    x, r = g.pick((3, 4)), g.draw
    if x is None:
        return ""
    a = g.values[x]
    d, groups = a.ndim - 2, r.choice([1, 1, a.shape[1]])
    filters = r.choice([1, 2, 3, 8])
    w = dequantised_weight(g, (a.shape[1], filters, *[r.choice([1, 2, 3])] * d), 1, a.shape[1] * 4)
    return g.one("ConvTranspose", x, w, bias_of(g, filters * groups), strides=[r.choice([1, 2])] * d, group=groups)


def float_product(g: QuantisedGraph) -> str:
    x, r = g.pick((2, 3, 4)), g.draw
    if x is None:
        return ""
    a = g.values[x]
    k, n = a.shape[-1], r.choice(CHANNELS)
    if r.random() < 0.15 and a.ndim > 2:  # a product of two activations
        turned = g.one("Transpose", x, perm=[*range(a.ndim - 2), a.ndim - 1, a.ndim - 2])
        return g.one("Mul", g.one("MatMul", x, turned), g.scale(0.5 / k**0.5))
    if a.ndim == 2 and r.random() < 0.6:
        turned = r.random() < 0.6
        w = dequantised_weight(g, (n, k) if turned else (k, n), 0 if turned else 1, k)
        extra = {"alpha": r.choice([1.0, 1.0, 1.0, 0.5])}
        return g.one("Gemm", x, w, bias_of(g, n), transB=int(turned), **extra)
    if r.random() < 0.15:
        return g.one("MatMul", dequantised_weight(g, (n, a.shape[-2]), 0, a.shape[-2]), x)
    lead = () if r.random() < 0.8 else (a.shape[1],) if a.ndim == 4 else (1,)
    product = g.one("MatMul", x, dequantised_weight(g, (*lead, k, n), len(lead) + 1, k))
    bias = bias_of(g, n)
    return g.one("Add", product, bias) if product and bias else product


def float_pair(g: QuantisedGraph) -> str:
    """A sum, product or Concat of values, or with a parameter."""
    x, r = g.pick(range(2, 7)), g.draw
    if x is None:
        return ""
    a = g.values[x]
    if r.random() < 0.25:
        axis = r.randrange(1, a.ndim)
        rest = (*a.shape[:axis], *a.shape[axis + 1 :])
        fit = [
            n
            for n, b in g.values.items()
            if b.dtype == a.dtype and b.ndim == a.ndim and (*b.shape[:axis], *b.shape[axis + 1 :]) == rest
        ]
        return g.one("Concat", x, *r.choices(fit, k=r.choice([1, 2])), axis=axis)
    same = [n for n, b in g.values.items() if b.dtype == a.dtype and b.shape == a.shape and n not in g.parameters]
    if r.random() < 0.3:
        shape = (a.shape[1], *[1] * (a.ndim - 2))
        other = dequantised_weight(g, shape, 0, 1)
    else:
        other = r.choice(same)
    operands = [x, other] if r.random() < 0.7 else [other, x]
    return g.one(r.choice(["Add", "Add", "Mul"]), *operands)


def float_unary(g: QuantisedGraph) -> str:
    x, r = g.pick(range(2, 7)), g.draw
    if x is None:
        return ""
    match r.choice(["Relu", "Clip", "activation", "move"]):
        case "Clip":
            return g.one("Clip", x, r.choice([g.scale(0), g.scale(-0.4), ""]), r.choice([g.scale(6), g.scale(0.5)]))
        case "activation":
            return g.one(r.choice(["Sigmoid", "Tanh", "HardSigmoid", "LeakyRelu"]), x)
        case "move":
            return moved(g, x)
    return g.one("Relu", x)


def float_pooling(g: QuantisedGraph) -> str:
    x, r = g.pick((3, 4)), g.draw
    if x is None:
        return ""
    d = g.values[x].ndim - 2
    op = r.choice(["MaxPool", "AveragePool", "GlobalAveragePool"])
    if op == "GlobalAveragePool":
        return g.one(op, x)
    k = r.choice([2, 3])
    extra = {"count_include_pad": r.choice([0, 1])} if op == "AveragePool" else {}
    return g.one(op, x, kernel_shape=[k] * d, strides=[r.choice([1, 2])] * d, pads=[k // 3] * 2 * d, **extra)


FLOAT: Mapping[Callable[[QuantisedGraph], str], int] = {
    float_convolution: 10,
    float_transposed_convolution: 1,
    float_product: 5,
    float_pair: 4,
    float_unary: 3,
    float_pooling: 2,
}


def between_quantisers(g: QuantisedGraph) -> None:
    """An operator on floats, an activation behind it perhaps, and a quantiser behind most."""
    (operator,) = g.draw.choices(list(FLOAT), list(FLOAT.values()))
    y = operator(g)
    if y and g.draw.random() < 0.25:
        y = g.one(g.draw.choice(["Relu", "Sigmoid"]), y)
    if g.draw.random() < 0.85:
        requantised(g, y)


def spread(g: QuantisedGraph, x: Quanta) -> float:
    """The standard deviation of dequantised elements."""
    scale = float(g.weights[x.scale].max())
    return scale * (float(np.std(g.values[x.q].astype(np.float32) - g.weights[x.zero].mean())) + 1)


def result(g: QuantisedGraph, deviation: float, dtype: Any) -> tuple[str, str]:
    """Scale and zero point of a result."""
    return g.scale(deviation / 45), g.weight(g.zero_point(dtype), dtype)


def small_weight(g: QuantisedGraph, shape: Sequence[int], axis: int, behind: int = 0) -> Quanta:
    """A weight of an operator on quanta, with one scale or one for each place along `axis`."""
    r = g.draw
    dtype = r.choice(BYTES)
    count = shape[axis] if r.random() < 0.5 else 0
    scales = (g.arrays.random(count or 1) + 0.3) * 0.01
    zeros = [g.zero_point(dtype, weights=True) for _ in scales] if r.random() < 0.5 else [0 for _ in scales]
    s, z = (g.scale(scales), g.weight(zeros, dtype)) if count else (g.scale(scales[0]), g.weight(zeros[0], dtype))
    return Quanta(g.weight(g.small(dtype, *shape)), s, z)


def quanta_convolution(g: QuantisedGraph) -> None:
    x, r = g.pick_quanta((3, 4)), g.draw
    if x is None:
        return
    window = window_of(g, g.values[x.q])
    w = small_weight(g, window.shape, 0)
    deviation = spread(g, x) * 0.3 * prod(window.shape[1:]) ** 0.5
    s, z = result(g, deviation, g.values[x.q].dtype.type)
    bias = g.weight(g.arrays.integers(-2000, 2000, window.shape[0]), np.int32) if r.random() < 0.5 else ""
    q = g.one("QLinearConv", x.q, x.scale, x.zero, w.q, w.scale, w.zero, s, z, bias, **window.attributes)
    if q:
        g.quanta.append(Quanta(q, s, z))


def quanta_product(g: QuantisedGraph) -> None:
    x, r = g.pick_quanta((2, 3)), g.draw
    if x is None:
        return
    k, n = g.values[x.q].shape[-1], r.choice(CHANNELS)
    s, z = result(g, spread(g, x) * 0.3 * k**0.5, g.values[x.q].dtype.type)
    if g.values[x.q].ndim == 2 and r.random() < 0.5:
        turned = r.random() < 0.5
        w = small_weight(g, (n, k) if turned else (k, n), 0 if turned else 1)
        bias = g.weight(g.arrays.integers(-2000, 2000, n), np.int32) if r.random() < 0.5 else ""
        outputs = (s, z) if r.random() < 0.8 else ("", "")
        q = g.one(
            "QGemm", *(x.q, x.scale, x.zero, w.q, w.scale, w.zero, bias, *outputs), transB=int(turned), domain=MICROSOFT
        )
        if not outputs[0]:
            return
    else:
        w = small_weight(g, (k, n), 1)
        q = g.one("QLinearMatMul", x.q, x.scale, x.zero, w.q, w.scale, w.zero, s, z)
    if q:
        g.quanta.append(Quanta(q, s, z))


def quanta_elementwise(g: QuantisedGraph) -> None:
    x, r = g.pick_quanta(), g.draw
    if x is None:
        return
    a = g.values[x.q]
    dtype = a.dtype.type
    s, z = result(g, spread(g, x) * 1.3, dtype)
    given = (x.q, x.scale, x.zero)
    match r.choice(["QLinearAdd", "QLinearAdd", "QLinearMul", "QLinearSigmoid", "QLinearLeakyRelu", "QLinearConcat"]):
        case "QLinearAdd" | "QLinearMul" as op:
            same = [y for y in g.quanta if g.values[y.q].dtype == a.dtype and g.values[y.q].shape == a.shape]
            y = r.choice(same)
            if op == "QLinearMul":
                s, z = result(g, spread(g, x) * spread(g, y) * 1.3, dtype)
            q = g.one(op, *given, y.q, y.scale, y.zero, s, z, domain=MICROSOFT)
        case "QLinearConcat":
            q = g.one("QLinearConcat", s, z, *given, *given, axis=a.ndim - 1, domain=MICROSOFT)
        case "QLinearSigmoid":
            s, z = g.scale(1 / 256), g.weight(np.iinfo(dtype).min, dtype)
            q = g.one("QLinearSigmoid", *given, s, z, domain=MICROSOFT)
        case op:
            q = g.one(op, *given, s, z, domain=MICROSOFT)
    if q:
        g.quanta.append(Quanta(q, s, z))


def quanta_pooling(g: QuantisedGraph) -> None:
    x, r = g.pick_quanta((4,)), g.draw
    if x is None:
        return
    s, z = result(g, spread(g, x), g.values[x.q].dtype.type)
    if r.random() < 0.5:
        q = g.one("QLinearGlobalAveragePool", x.q, x.scale, x.zero, s, z, channels_last=0, domain=MICROSOFT)
    else:
        attributes = {"kernel_shape": [r.choice([2, 3])] * 2, "strides": [r.choice([1, 2])] * 2}
        q = g.one("QLinearAveragePool", x.q, x.scale, x.zero, s, z, **attributes, domain=MICROSOFT)
    if q:
        g.quanta.append(Quanta(q, s, z))


def quanta_movement(g: QuantisedGraph) -> None:
    x = g.pick_quanta()
    q = "" if x is None else moved(g, x.q)
    if x is not None and q:
        g.quanta.append(replace(x, q=q))


def quanta_to_floats(g: QuantisedGraph) -> None:
    x = g.pick_quanta()
    if x is not None:
        g.one("DequantizeLinear", x.q, x.scale, x.zero)


ON_QUANTA: Mapping[Callable[[QuantisedGraph], None], int] = {
    quanta_convolution: 8,
    quanta_product: 5,
    quanta_elementwise: 4,
    quanta_pooling: 1,
    quanta_movement: 1,
    quanta_to_floats: 1,
}


def on_quanta(g: QuantisedGraph) -> None:
    (operator,) = g.draw.choices(list(ON_QUANTA), list(ON_QUANTA.values()))
    operator(g)


def integer_product(g: QuantisedGraph, q: str, zero: str) -> tuple[str, int, int]:
    """A product of int32, its axis of columns or filters, and the number of products in a sum."""
    a, r = g.values[q], g.draw
    dtype = r.choice(BYTES)
    if a.ndim in (3, 4) and r.random() < 0.6:
        window = window_of(g, a)
        w_zero = g.weight(g.zero_point(dtype, weights=True), dtype) if r.random() < 0.5 else ""
        w = g.weight(g.small(dtype, *window.shape))
        return g.one("ConvInteger", q, w, zero, w_zero, **window.attributes), 1, prod(window.shape[1:])
    k, n = a.shape[-1], r.choice(CHANNELS)
    zeros = [g.zero_point(dtype, weights=True) for _ in range(n)]
    w_zero = g.weight(zeros if r.random() < 0.4 else zeros[0], dtype) if r.random() < 0.6 else ""
    w = g.weight(g.small(dtype, k, n))
    return g.one("MatMulInteger", q, w, zero, w_zero), -1, k


def of_integers(g: QuantisedGraph) -> None:
    """A product of quanta, which may become floats and quanta again."""
    x, r = g.pick_quanta((2, 3, 4)), g.draw
    if x is None:
        return
    total, axis, terms = integer_product(g, x.q, x.zero if r.random() < 0.7 else "")
    if total and r.random() < 0.6:
        floats = scaled(g, total, axis, g.scale(0.5 / (74 * 40 * terms**0.5)))
        requantised(g, floats)


def scaled(g: QuantisedGraph, total: str, axis: int, scale: str) -> str:
    """The sums as floats, times the scale, and a bias perhaps."""
    y = g.one("Mul", g.one("Cast", total, to=TensorProto.FLOAT), scale)
    if y and g.draw.random() < 0.6:
        a = g.values[y]
        shape = (a.shape[axis], *[1] * (a.ndim - 2 if axis == 1 else 0))
        y = g.one("Add", y, g.weight(g.normal(*shape)))
    return g.one("Relu", y) if y and g.draw.random() < 0.4 else y


def dynamic(g: QuantisedGraph) -> None:
    """DynamicQuantizeLinear and one product or two of its result."""
    x, r = g.pick((2, 3, 4)), g.draw
    if x is None:
        return
    made = g.add("DynamicQuantizeLinear", [x], 3)
    if not made:
        return
    q, scale, zero = made
    for _ in range(r.choice([1, 1, 2])):
        total, axis, terms = integer_product(g, q, zero)
        if not total:
            continue
        factor = 0.5 / (37 * terms**0.5)
        count = g.values[total].shape[-1] if axis == -1 and r.random() < 0.5 else 1
        w_scale = g.scale(factor * (0.5 + g.arrays.random(count)) if count > 1 else factor)
        scaled(g, total, axis, g.one("Mul", scale, w_scale))


FAMILIES: Mapping[str, tuple[Sequence[Callable[[QuantisedGraph], None]], int]] = {
    "QDQ": ([between_quantisers], 8),
    "QOperator": ([on_quanta], 6),
    "integer": ([of_integers], 1),
    "dynamic": ([dynamic], 3),
    "mixed": ([between_quantisers, on_quanta, of_integers, dynamic], 2),
}


def random_quanta(seed: int) -> QuantisedGraph:
    """One to four layers of one family, or of any, behind one input or two."""
    g = QuantisedGraph(seed, largest=LARGEST_SUM)
    r = g.draw
    g.opset = r.choice(OPSETS)
    (family,) = r.choices(list(FAMILIES), [weight for _, weight in FAMILIES.values()])
    layers, _ = FAMILIES[family]
    batch = r.choice([1, 1, 2, 3])
    while not g.nodes:
        for _ in range(r.choice([1, 1, 2])):
            rank = r.choice([2, 3, 4, 4, 4])
            most = {2: 2, 3: 24, 4: 10}[rank]
            channels = r.choice((*CHANNELS, 64, 131, 300)) if rank == 2 else r.choice(CHANNELS)
            shape = (batch, channels, *(r.randrange(2, most + 1) for _ in range(rank - 2)))
            if family in ("QOperator", "integer"):
                dtype = r.choice(BYTES)
                q = g.input(g.bytes(dtype, *shape))
                g.quanta.append(Quanta(q, g.scale(0.012), g.weight(g.zero_point(dtype), dtype)))
            else:
                x = g.input(g.normal(*shape))
                if family in ("QDQ", "mixed"):
                    requantised(g, x)
        for _ in range(r.choice([1, 2, 3, 4])):
            before = len(g.values) - len(g.parameters)
            for _ in range(8):
                if len(g.values) - len(g.parameters) == before:
                    r.choice(layers)(g)
    return g


def with_any_batch(proto: onnx.ModelProto, inputs: Mapping[str, Array]) -> onnx.ModelProto | None:
    """The model with a first dimension named N; None where onnxruntime does not run it with every one,
    or where a window then is longer than what it moves along, of which results are empty."""
    named = onnx.ModelProto()
    named.CopyFrom(proto)
    for value in named.graph.input:
        value.type.tensor_type.shape.dim[0].dim_param = "N"
    try:
        for n in range(1, BATCHES + 1):
            if not all(a.size for a in onnxruntime_results(named, of_batch(inputs, n)).values()):
                return None
    except Exception:  # onnxruntime's exceptions share no base class
        return None
    return named


def of_batch(inputs: Mapping[str, Array], n: int) -> dict[str, Array]:
    """Inputs with so many rows."""
    return {name: np.resize(a, (n, *a.shape[1:])) for name, a in inputs.items()}


def other_inputs(inputs: Mapping[str, Array], seed: int) -> dict[str, Array]:
    """Inputs of the same shapes, a little larger than those that the quantisers fit."""
    arrays = np.random.default_rng(seed)

    def other(a: Array) -> Array:
        if a.dtype.kind == "f":
            return (arrays.standard_normal(a.shape) * 0.6).astype(a.dtype)
        return arrays.permuted(a)

    return {name: other(a) for name, a in inputs.items()}
