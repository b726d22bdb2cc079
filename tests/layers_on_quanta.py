"""Layers of random graphs whose operators are on quanta: of ONNX and com.microsoft, products of integers, and dynamic
quantisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from onnx import TensorProto
from quantised_graph import (
    BYTES,
    CHANNELS,
    MICROSOFT,
    Quanta,
    QuantisedGraph,
    moved,
    requantised,
    window_of,
)


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


def transposed(g: QuantisedGraph, q: str) -> str:
    """Matrices transposed: a product with what they were is of two activations."""
    n = g.values[q].ndim
    return g.one("Transpose", q, perm=[*range(n - 2), n - 1, n - 2])


def quanta_product(g: QuantisedGraph) -> None:
    x, r = g.pick_quanta((2, 3)), g.draw
    if x is None:
        return
    k, n = g.values[x.q].shape[-1], r.choice(CHANNELS)
    if g.values[x.q].ndim == 3 and r.random() < 0.3:
        s, z = result(g, spread(g, x) ** 2 * k**0.5, g.values[x.q].dtype.type)
        q = g.one("QLinearMatMul", x.q, x.scale, x.zero, transposed(g, x.q), x.scale, x.zero, s, z)
        if q:
            g.quanta.append(Quanta(q, s, z))
        return
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
    if a.ndim > 2 and r.random() < 0.25:
        return g.one("MatMulInteger", q, transposed(g, q), zero, zero), -1, k
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
