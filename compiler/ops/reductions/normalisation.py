"""Normalisations per channel, per group, along axes and across neighbouring channels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir.construct import select, unary
from ...ir.nodes import Const, Expr
from ...ir.sizes import Size, product, reciprocal
from ...tensor import Tensor, compute
from ...tensor.fold_tensor import fold
from ..axes import many_axes, one_axis
from ..call import Call
from ..window import scaled, shifted, within
from .norm import norm_order, norm_root, norm_term, power
from .reduce_axes import reduce_axes, reduce_over, without


def batch_normalization(call: Call) -> Tensor | tuple[Tensor, ...]:
    """ONNX BatchNormalization: (x - mean) * factor + bias per channel (per activation with spatial = 0). In training
    by the mean and variance of the batch, with the running ones as further results. From opset 14 on training_mode
    says so; before, further outputs do, which are also the mean of the batch and, as onnxruntime has it,
    1 / sqrt(variance + epsilon)."""
    saves = call.opset < 14 and call.outputs > 1
    training = saves or call.flag("training_mode", 0)
    x = call.image(0) if training else call.input(0)
    spatial = call.flag("spatial", 1)
    if training and not spatial:
        raise call.unsupported("it trains with spatial=0", "export the model for inference")
    channels: tuple[Size, ...] = x.shape[1:2] or (1,)
    scale, bias, mean, variance = (call.input(i, channels if spatial else x.shape[1:]) for i in range(1, 5))
    if not training:
        return _batch_normalized(call, x, scale, bias, mean, variance, spatial=spatial)
    momentum = call.attribute("momentum", 0.9)
    others = tuple(d for d in range(x.rank) if d != 1)
    batch = moments(f"{call.name}.batch", x.shape, others, (x,), lambda *i: x[i])
    running = (
        compute(
            f"{call.name}.running_{what}",
            old.shape,
            (old, new),
            lambda *i, old=old, new=new: old[i] * momentum + new[i].cast(old.dtype) * (1 - momentum),
        )
        for what, old, new in zip(("mean", "var"), (mean, variance), batch, strict=True)
    )
    results = (_batch_normalized(call, x, scale, bias, *batch, spatial=True), *running)
    if not saves:
        return results
    epsilon, own = call.attribute("epsilon", 1e-5), batch[1]
    inverse = compute(f"{call.name}.inverse", own.shape, (own,), lambda c: 1 / unary("sqrt", own[c] + epsilon))
    return *results, batch[0], inverse


def _batch_normalized(
    call: Call, x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor, *, spatial: bool
) -> Tensor:
    epsilon = call.attribute("epsilon", 1e-5)
    factor = fold(
        compute(
            f"{call.name}.factor",
            scale.shape,
            (scale, variance),
            lambda *i: scale[i] / unary("sqrt", variance[i].cast(scale.dtype) + epsilon),
        )
    )

    def body(*i: Expr) -> Expr:
        own = (i[1] if len(i) > 1 else Const(0),) if spatial else i[1:]
        # A product and a sum alone would round x and the mean apart, which is all of the result where they are close.
        return (x[i] - mean[own].cast(x.dtype)) * factor[own].cast(x.dtype) + bias[own].cast(x.dtype)

    return compute(call.name, x.shape, (x, factor, mean, bias), body)


def moments(
    name: str, shape: Sequence[Size], axes: Sequence[int], reads: tuple[Tensor, ...], value: Callable[..., Expr]
) -> tuple[Tensor, Tensor]:
    """Mean and variance of `value(*index)` along `axes`, as tensors without these dimensions.

    The variance is that of the differences from the mean, which large means do not spoil.
    """
    share = reciprocal(product(shape[d] for d in axes), reads[0].dtype)
    total = reduce_axes(f"{name}.sum", "sum", shape, axes, reads, value)
    mean = compute(f"{name}.mean", total.shape, (total,), lambda *i: total[i] * share)

    def squared(*i: Expr) -> Expr:
        difference = value(*i) - mean[without(i, axes)]
        return difference * difference

    squares = reduce_axes(f"{name}.squares", "sum", shape, axes, (*reads, mean), squared)
    return mean, compute(f"{name}.variance", squares.shape, (squares,), lambda *i: squares[i] * share)


def instance_normalization(call: Call) -> Tensor:
    """ONNX InstanceNormalization: per image and channel, over the spatial axes."""
    x = call.image(0)
    scale, bias = (call.input(i, x.shape[1:2]) for i in (1, 2))
    epsilon = call.attribute("epsilon", 1e-5)
    mean, variance = moments(call.name, x.shape, range(2, x.rank), (x,), lambda *i: x[i])
    factor = compute(
        f"{call.name}.factor",
        variance.shape,
        (scale, variance),
        lambda n, c: scale[c] / unary("sqrt", variance[n, c] + epsilon),
    )
    return compute(
        call.name,
        x.shape,
        (x, mean, factor, bias),
        lambda n, c, *s: (x[n, c, *s] - mean[n, c]) * factor[n, c] + bias[c],
    )


def group_normalization(call: Call) -> Tensor:
    """ONNX GroupNormalization: over the channels of a group and the spatial axes.

    Scale and bias are per group in opset 18, per channel from 21.
    """
    x = call.image(0)
    epsilon, groups = call.attribute("epsilon", 1e-5), call.attribute("num_groups", 1)
    batch, _, *spatial = x.shape
    (channels,) = call.fixed(x, (1,))
    if groups < 1 or channels % groups:
        raise call.unsupported(f"{channels} channels do not divide into {groups} groups", "the model is invalid")
    per_group, per_channel = channels // groups, call.opset >= 21
    scale, bias = (call.input(i, (channels if per_channel else groups,)) for i in (1, 2))
    split = (batch, groups, per_group, *spatial)
    mean, variance = moments(
        call.name,
        split,
        range(2, len(split)),
        (x,),
        lambda n, g, c, *s: x.read([n, scaled(g, per_group) + c, *s]),
    )
    factor = compute(
        f"{call.name}.factor",
        (batch, channels),
        (scale, variance),
        lambda n, c: scale[c if per_channel else c // per_group] / unary("sqrt", variance[n, c // per_group] + epsilon),
    )

    def body(n: Expr, c: Expr, *s: Expr) -> Expr:
        group = c // per_group
        return (x[n, c, *s] - mean[n, group]) * factor[n, c] + bias[c if per_channel else group]

    return compute(call.name, x.shape, (x, mean, factor, bias), body)


def mean_variance_normalization(call: Call) -> Tensor:
    """ONNX MeanVarianceNormalization: along `axes`, default all but the channels."""
    return standardized(call, tuple(sorted(many_axes(call, call.attribute("axes", (0, 2, 3)), call.input(0).rank))))


def standardized(call: Call, axes: tuple[int, ...], *, scaled: bool = True) -> Tensor:
    """The first input less its mean along `axes`, and where `scaled` divided by the standard deviation."""
    x = call.input(0)
    mean, variance = moments(call.name, x.shape, axes, (x,), lambda *i: x[i])
    deviation = compute(
        f"{call.name}.deviation", variance.shape, (variance,), lambda *i: unary("sqrt", variance[i]) + 1e-9
    )

    def body(*i: Expr) -> Expr:
        own = without(i, axes)
        difference = x[i] - mean[own]
        return difference / deviation[own] if scaled else difference

    return compute(call.name, x.shape, (x, mean, deviation) if scaled else (x, mean), body)


def lrn(call: Call) -> Tensor:
    """ONNX LRN: x / (bias + alpha/size * squares of `size` neighbouring channels) ** beta."""
    x = call.image(0)
    size = call.attribute("size", 1)
    alpha, beta, bias = call.attribute("alpha", 1e-4), call.attribute("beta", 0.75), call.attribute("bias", 1.0)
    if size < 1:
        raise call.unsupported(f"attribute size={size} is less than 1", "the model is invalid")
    (channels,) = call.fixed(x, (1,))
    # All other neighbours are beyond the channels.
    before, after = (min(reach, max(channels - 1, 0)) for reach in ((size - 1) // 2, size // 2))
    taps = before + 1 + after

    def neighbours(n: Expr, c: Expr, *s: Expr) -> Expr:
        def square(k: Expr) -> Expr:
            channel = shifted(c + k, -before) if taps > 1 else c
            value = x.read([n, channel, *s], within(channel, channels, -before, channels - 1 + after))
            return value * value

        return reduce_over("sum", (taps,), square)

    squares = compute(f"{call.name}.squares", x.shape, (x,), neighbours)
    return compute(call.name, x.shape, (x, squares), lambda *i: x[i] / power(squares[i] * (alpha / size) + bias, beta))


def lp_normalization(call: Call) -> Tensor:
    """ONNX LpNormalization: x divided by its p-norm along `axis`, p = 1 or 2; zeros stay."""
    x, p = call.input(0), norm_order(call)
    axis = one_axis(call, call.attribute("axis", -1), x.rank)
    total = reduce_axes(f"{call.name}.sum", "sum", x.shape, (axis,), (x,), lambda *i: norm_term(x[i], p))
    norm = compute(
        f"{call.name}.norm", total.shape, (total,), lambda *i: select(total[i].eq(0), 1, norm_root(total[i], p))
    )
    return compute(call.name, x.shape, (x, norm), lambda *i: x[i] / norm[without(i, (axis,))])


OPERATORS = {
    "BatchNormalization": batch_normalization,
    "GroupNormalization": group_normalization,
    "InstanceNormalization": instance_normalization,
    "LRN": lrn,
    "LpNormalization": lp_normalization,
    "MeanVarianceNormalization": mean_variance_normalization,
}
