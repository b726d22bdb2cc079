"""Convolutions, as one contraction over input channels and taps."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.nodes import Const, Expr
from ...ir.sizes import shown
from ...tensor import Tensor, compute
from ..call import Call
from ..quantisation.zero_points import factor, less_zero_point, zero_point
from ..reductions.reduce_axes import reduce_over
from ..window import guard_of, per_axis, scaled, shifted, windows_of


def conv(call: Call) -> Tensor:
    """ONNX Conv: x (N, IC, spatial), w (OC, IC/group, spatial), optional bias (OC)."""
    x, w = image_and_weights(call)
    return add_bias(call, _contract(call, x, w), 2)


def conv_integer(call: Call) -> Tensor:
    """ONNX ConvInteger: 8-bit x and w less their zero points, accumulated in int32; padding counts as zero."""
    return integer_conv_of(call, (0, 1), (zero_point(call, 2), zero_point(call, 3)))


def integer_conv_of(call: Call, operands: tuple[int, int], zeros: tuple[Tensor | None, Tensor | None]) -> Tensor:
    """The convolution of the inputs with these numbers, less these zero points: a scalar, and a scalar or one per
    filter."""
    x, w = image_and_weights(call, *operands)
    x_zero, w_zero = zeros

    def of_image(_: Sequence[Expr], zero: Tensor) -> Expr:
        return zero.read([Const(0)] * zero.rank)

    def of_filter(index: Sequence[Expr], zero: Tensor) -> Expr:
        channel = index[0] if zero.shape not in ((), (1,)) else Const(0)
        return zero.read([channel] * zero.rank)

    image = less_zero_point(f"{call.name}.x", x, x_zero, of_image)
    filters = less_zero_point(f"{call.name}.w", w, w_zero, of_filter)
    return _contract(call, image, filters)


def image_and_weights(call: Call, image: int = 0, weights: int = 1) -> tuple[Tensor, Tensor]:
    """These inputs, of one rank; raises UnsupportedError where kernel_shape contradicts the weights."""
    x = call.input(image)
    w = call.input(weights, (None,) * x.rank)
    if x.rank < 3:
        raise call.unsupported(f"its input has shape {shown(x.shape)}, without spatial axes", "check the input shape")
    kernel = call.fixed(w, range(2, w.rank))
    if per_axis(call, "kernel_shape", kernel) != kernel:
        raise call.unsupported(
            f"kernel_shape is {list(call.attribute('kernel_shape', ()))} for weights of shape {shown(w.shape)}",
            "the model is invalid: export it again",
        )
    return x, w


def _contract(call: Call, x: Tensor, w: Tensor) -> Tensor:
    """The sum over (channel, taps) of x * w, of integers in int32, with shape (N, OC, positions)."""
    group = call.attribute("group", 1)
    batch, _, *sizes = x.shape
    (channels,) = call.fixed(x, (1,))
    filters, depth, *kernel = call.fixed(w)
    check_channels(call, channels, depth * group, filters, group)
    live = [window.live() for window in windows_of(call, sizes, kernel)]
    windows, skipped = [window for window, _ in live], [n for _, n in live]
    per_group = filters // group

    def body(n: Expr, oc: Expr, *o: Expr) -> Expr:
        def product(ic: Expr, *k: Expr) -> Expr:
            channel = ic
            if group > 1:
                first = scaled(oc if per_group == 1 else oc // per_group, depth)
                channel = first if depth == 1 else first + ic
            position = [window.at(i, j) for window, i, j in zip(windows, o, k, strict=True)]
            taps = [shifted(j, n) for j, n in zip(k, skipped, strict=True)]
            image = x.read([n, channel, *position], guard_of(windows, o, k))
            return factor(image) * factor(w.read([oc, ic, *taps]))

        return reduce_over("sum", (depth, *(window.kernel for window in windows)), product)

    shape = (batch, filters, *(window.count for window in windows))
    return compute(call.name, shape, (x, w), body)


def add_bias(call: Call, t: Tensor, index: int) -> Tensor:
    """`t` plus the optional input `index`, one value per channel."""
    bias = call.optional(index, t.shape[1:2])
    if bias is None:
        return t
    return compute(f"{call.name}.bias", t.shape, (t, bias), lambda n, c, *s: t.read([n, c, *s]) + bias[c])


def check_channels(call: Call, have: int, expected: int, filters: int, group: int) -> None:
    if group < 1 or have != expected or filters % group:
        raise call.unsupported(
            f"its input has {have} channels, its weights are for {expected} in {group} groups with {filters} filters",
            "check the input shape",
        )


OPERATORS = {"Conv": conv, "ConvInteger": conv_integer}
