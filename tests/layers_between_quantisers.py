"""Layers of random graphs whose operators are on floats, between DequantizeLinear and QuantizeLinear."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from quantised_graph import (
    CHANNELS,
    QuantisedGraph,
    bias_of,
    dequantised_weight,
    moved,
    requantised,
    window_of,
)


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
        if r.random() < 0.3:
            x, extra["transA"] = g.one("Transpose", x, perm=[1, 0]), 1
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
