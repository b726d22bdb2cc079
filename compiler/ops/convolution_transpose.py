"""Transposed convolution in gather form: each output element sums the input elements that reach it."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.nodes import Const, Expr
from ..ir.sizes import Size, larger, least, text_of
from ..ir.sizes import size as canonical
from ..tensor import Tensor, compute
from .call import Call
from .convolution import add_bias, check_channels, image_and_weights
from .reduce_axes import reduce_over
from .window import both, per_axis, scaled, shifted, split_padding, within


@dataclass(frozen=True, slots=True)
class Spread:
    """One spatial axis: element i times tap k goes to position i*stride + k*dilation - before of `count`."""

    size: Size
    kernel: int
    stride: int
    dilation: int
    before: Size
    count: Size

    @property
    def by_phase(self) -> bool:
        """Whether position o has exactly the taps (o + before) % stride + stride*j: with a dilation it does not."""
        return self.dilation == 1 and self.stride > 1

    @property
    def steps(self) -> int:
        """The number of candidates that may reach a position."""
        return -(-self.kernel // self.stride) if self.by_phase else self.kernel

    def candidate(self, o: Expr, j: Expr) -> tuple[Expr, Expr, Expr | None]:
        """The element and the tap of candidate j of position o, and whether that reaches it (None: always)."""
        base = shifted(o, self.before)
        furthest, last = self.before - (self.kernel - 1) * self.dilation, self.count - 1 + self.before
        if self.by_phase:
            element = base // self.stride
            tap: Expr = base % self.stride
            if self.steps > 1:
                element, tap = element - j, tap + j * self.stride
            first = self.before // self.stride - (self.steps - 1)
            reached = tap < self.kernel if self.kernel % self.stride else None
            return element, tap, both(reached, within(element, self.size, first, last // self.stride))
        origin = base - scaled(j, self.dilation) if self.kernel > 1 else base
        if self.stride == 1:
            return origin, j, within(origin, self.size, furthest, last)
        element = origin // self.stride
        inside = within(element, self.size, furthest // self.stride, last // self.stride)
        return element, j, both((origin % self.stride).eq(0), inside)


def conv_transpose(call: Call) -> Tensor:
    """ONNX ConvTranspose: x (N, IC, spatial), w (IC, OC/group, spatial), optional bias (OC)."""
    x, w = image_and_weights(call)
    group = call.attribute("group", 1)
    batch, _, *sizes = x.shape
    (channels,) = call.fixed(x, (1,))
    rows, per_group, *kernel = call.fixed(w)
    check_channels(call, channels, rows, rows, group)
    filters, depth = per_group * group, channels // group
    spreads = _spreads(call, sizes, kernel)

    def body(n: Expr, oc: Expr, *o: Expr) -> Expr:
        def product(ic: Expr, *j: Expr) -> Expr:
            channel, column = ic, oc
            if group > 1:
                first = scaled(oc if per_group == 1 else oc // per_group, depth)
                channel = first if depth == 1 else first + ic
                column = Const(0) if per_group == 1 else oc % per_group
            elements, taps, guard = [], [], None
            for spread, position, step in zip(spreads, o, j, strict=True):
                element, tap, reached = spread.candidate(position, step)
                elements.append(element)
                taps.append(tap)
                guard = both(guard, reached)
            # A tap beyond the kernel must not be read, so both factors share the guard where one can occur.
            overrun = any(s.by_phase and s.kernel % s.stride for s in spreads)
            weight = w.read([channel, column, *taps], guard if overrun else None)
            return x.read([n, channel, *elements], guard) * weight

        return reduce_over("sum", (depth, *(s.steps for s in spreads)), product)

    shape = (batch, filters, *(s.count for s in spreads))
    return add_bias(call, compute(call.name, shape, (x, w), body), 2)


def _spreads(call: Call, sizes: list[Size], kernel: list[int]) -> list[Spread]:
    """From strides, dilations, and output_shape, or auto_pad, or pads and output_padding."""
    rank = len(sizes)
    ones, zeros = (1,) * rank, (0,) * rank
    strides, dilations = per_axis(call, "strides", ones), per_axis(call, "dilations", ones)
    pads, extra = per_axis(call, "pads", 2 * zeros), per_axis(call, "output_padding", zeros)
    absent: tuple[int, ...] = ()
    wanted = call.attribute("output_shape", absent)[-rank:]  # batch and channels may stand before the spatial axes
    auto_pad = call.attribute("auto_pad", "NOTSET")
    spreads = []
    for d, (size, taps) in enumerate(zip(sizes, kernel, strict=True)):
        full = strides[d] * (size - 1) + extra[d] + (taps - 1) * dilations[d] + 1
        before: Size = pads[d]
        count: Size
        if wanted:
            total = larger(full - wanted[d], 0)
            before, _ = split_padding(total, auto_pad)
            count = wanted[d]
        elif auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            count = size * strides[d]
            total = larger(full - count, 0)
            before, _ = split_padding(total, auto_pad)
        elif auto_pad == "VALID":
            before, count = 0, full
        else:
            count = full - pads[d] - pads[rank + d]
        count = canonical(count)
        if least(count) < 1:
            raise call.unsupported(
                f"spatial axis {d} of its result would have extent {text_of(count)}", "check the input shape"
            )
        spreads.append(Spread(size, taps, strides[d], dilations[d], before, count))
    return spreads


OPERATORS = {"ConvTranspose": conv_transpose}
