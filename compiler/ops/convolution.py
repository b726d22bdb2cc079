"""Convolutions, as one contraction over input channels and taps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..dtypes import I32
from ..ir.nodes import Const, Expr
from ..ir.sizes import shown
from ..tensor import Tensor, compute
from .call import Call
from .reduce_axes import reduce_over
from .window import guard_of, per_axis, scaled, shifted, windows_of

Element = Callable[[Sequence[Expr], Expr | None], Expr]
"""How a factor of the product is read: its index, and the guard that is false in the padding."""


def conv(call: Call) -> Tensor:
    """ONNX Conv: x (N, IC, spatial), w (OC, IC/group, spatial), optional bias (OC)."""
    x, w = image_and_weights(call)
    return add_bias(
        call, _contract(call, x, w, lambda i, guard: x.read(list(i), guard), lambda i, _: w.read(list(i))), 2
    )


def conv_integer(call: Call) -> Tensor:
    """ONNX ConvInteger: 8-bit x and w less their zero points, accumulated in int32; padding counts as zero."""
    x, w = image_and_weights(call)
    x_zero, w_zero = zero_point(call, 2), zero_point(call, 3)

    def x_element(index: Sequence[Expr], guard: Expr | None) -> Expr:
        if x_zero is None:
            return x.read(list(index), guard).cast(I32)
        zero = x_zero.read([Const(0)] * x_zero.rank)
        return x.read(list(index), guard, otherwise=zero).cast(I32) - zero.cast(I32)

    def w_element(index: Sequence[Expr], _: Expr | None) -> Expr:
        value = w.read(list(index)).cast(I32)
        if w_zero is None:
            return value
        channel = index[0] if w_zero.shape not in ((), (1,)) else Const(0)
        return value - w_zero.read([channel] * w_zero.rank).cast(I32)

    return _contract(call, x, w, x_element, w_element, (x_zero, w_zero))


def image_and_weights(call: Call) -> tuple[Tensor, Tensor]:
    """The first two inputs, of one rank; raises UnsupportedError where kernel_shape contradicts the weights."""
    x = call.input(0)
    w = call.input(1, (None,) * x.rank)
    if x.rank < 3:
        raise call.unsupported(f"its input has shape {shown(x.shape)}, without spatial axes", "check the input shape")
    kernel = call.fixed(w, range(2, w.rank))
    if per_axis(call, "kernel_shape", kernel) != kernel:
        raise call.unsupported(
            f"kernel_shape is {list(call.attribute('kernel_shape', ()))} for weights of shape {shown(w.shape)}",
            "the model is invalid: export it again",
        )
    return x, w


def _contract(
    call: Call, x: Tensor, w: Tensor, x_element: Element, w_element: Element, more: tuple[Tensor | None, ...] = ()
) -> Tensor:
    """The sum over (channel, taps) of x * w, with shape (N, OC, positions)."""
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
            return x_element([n, channel, *position], guard_of(windows, o, k)) * w_element([oc, ic, *taps], None)

        return reduce_over("sum", (depth, *(window.kernel for window in windows)), product)

    shape = (batch, filters, *(window.count for window in windows))
    return compute(call.name, shape, (x, w, *more), body)


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


def zero_point(call: Call, index: int) -> Tensor | None:
    """Input `index`, None where it is absent or known to be zero."""
    t = call.optional(index)
    return None if t is None or (t.data is not None and not t.data.any()) else t


OPERATORS = {"Conv": conv, "ConvInteger": conv_integer}
