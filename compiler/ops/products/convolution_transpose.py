"""Transposed convolution: as a convolution whose filters are one for each phase of the output, or in gather form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from ...ir.nodes import Const, Expr
from ...ir.sizes import Size, divided, larger, least, text_of
from ...ir.sizes import size as canonical
from ...tensor import Tensor, compute
from ...tensor.fold_tensor import fold
from ..call import Call
from ..quantisation.zero_points import factor, less_zero_point
from ..reductions.reduce_axes import reduce_over
from ..window import both, per_axis, scaled, shifted, split_padding, within
from .convolution import add_bias, check_channels, image_and_weights


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
    def has_phases(self) -> bool:
        """Whether position o is reached by exactly the taps (o + before) % stride + stride*j, or by all taps: with a
        stride and a dilation it is not. Where a run decides the padding, it decides the phases, too."""
        return (self.dilation == 1 or self.stride == 1) and isinstance(self.before, int)

    @property
    def steps(self) -> int:
        """Taps that may reach a position, where the axis has phases."""
        return -(-self.kernel // self.stride)

    @property
    def first(self) -> int:
        """The coarse position of position 0: that of position o is (o + before) // stride."""
        assert isinstance(self.before, int)
        return self.before // self.stride

    @property
    def coarse(self) -> Size:
        """Coarse positions, each of which is a position of every phase but for what is cut off at the ends."""
        return canonical(divided(self.count - 1 + self.before, self.stride) - self.first + 1)

    def element(self, q: Expr, j: Expr) -> tuple[Expr, Expr | None]:
        """The element that step j of coarse position `first + q` reads, and whether it exists (None: always)."""
        back = (self.steps - 1) * self.dilation
        element = shifted(q + scaled(j, self.dilation) if self.steps > 1 else q, self.first - back)
        return element, within(element, self.size, self.first - back, self.coarse - 1 + self.first)

    def candidate(self, o: Expr, k: Expr) -> tuple[Expr, Expr | None]:
        """The element that reaches position o by tap k, and whether there is one (None: always)."""
        base = shifted(o, self.before)
        furthest = canonical(self.before - (self.kernel - 1) * self.dilation)
        last = canonical(self.count - 1 + self.before)
        origin = base - scaled(k, self.dilation) if self.kernel > 1 else base
        element = origin // self.stride
        inside = within(element, self.size, divided(furthest, self.stride), divided(last, self.stride))
        return element, both((origin % self.stride).eq(0), inside)

    @property
    def reaches(self) -> int:
        """Pairs of an element and a tap that may reach a position."""
        return self.steps if self.has_phases else self.kernel

    def reaching(self, o: Expr, j: Expr) -> tuple[Expr, Expr, Expr | None]:
        """Number `j` of the pairs that may reach position o, the last element first: the element, the tap, and whether
        there is one (None: always)."""
        if not self.has_phases:
            element, exists = self.candidate(o, j)
            return element, j, exists
        base = shifted(o, self.before)
        phase, last = base % self.stride, base // self.stride
        if self.steps == 1:
            element, tap, back = last, phase, 0
        else:
            element, tap = last - scaled(j, self.dilation), phase + scaled(j, self.stride)
            back = (self.steps - 1) * self.dilation
        exists = within(element, self.size, self.first - back, divided(self.count - 1 + self.before, self.stride))
        return element, tap, both(exists, tap < self.kernel if self.kernel % self.stride else None)


@dataclass(frozen=True, slots=True)
class Groups:
    """`count` groups, each of `depth` input channels and `filters` output channels."""

    count: int
    depth: int
    filters: int

    def split(self, channel: Expr, each: int) -> tuple[Expr, Expr]:
        """The group of one of `each` channels a group, and its number there."""
        if self.count == 1:
            return Const(0), channel
        return (channel, Const(0)) if each == 1 else (channel // each, channel % each)

    def input(self, group: Expr, ic: Expr) -> Expr:
        """The input channel that is number `ic` of its group."""
        first = scaled(group, self.depth)
        return ic if self.count == 1 else first if self.depth == 1 else first + ic


def conv_transpose(call: Call) -> Tensor:
    """ONNX ConvTranspose: x (N, IC, spatial), w (IC, OC/group, spatial), optional bias (OC)."""
    return add_bias(call, conv_transpose_of(call, *image_and_weights(call)), 2)


def integer_conv_transpose_of(
    call: Call, zeros: tuple[Tensor | None, Tensor | None], convert: Callable[[Tensor], Tensor]
) -> Tensor:
    """The transposed convolution of integers, less these zero points: scalars, or one for each filter of a group. Sums
    are converted before they are interleaved."""
    x, w = image_and_weights(call)

    def of_image(_: Sequence[Expr], zero: Tensor) -> Expr:
        return zero.read([Const(0)] * zero.rank)

    def of_filter(index: Sequence[Expr], zero: Tensor) -> Expr:
        return zero.read([index[1] if zero.buffer.size > 1 else Const(0)] * zero.rank)

    image = less_zero_point(f"{call.name}.x", x, zeros[0], of_image)
    filters = less_zero_point(f"{call.name}.w", w, zeros[1], of_filter)
    return conv_transpose_of(call, image, filters, convert)


def conv_transpose_of(
    call: Call, x: Tensor, w: Tensor, convert: Callable[[Tensor], Tensor] = lambda sums: sums
) -> Tensor:
    group = call.attribute("group", 1)
    _, _, *sizes = x.shape
    (channels,) = call.fixed(x, (1,))
    rows, per_group, *kernel = call.fixed(w)
    check_channels(call, channels, rows, rows, group)
    groups = Groups(group, channels // group, per_group)
    spreads = _spreads(call, sizes, kernel)
    if all(s.has_phases for s in spreads):
        return _by_phases(call.name, x, w, groups, spreads, convert)
    return convert(_gather(call.name, x, w, groups, spreads))


def _by_phases(
    name: str, x: Tensor, w: Tensor, groups: Groups, spreads: list[Spread], convert: Callable[[Tensor], Tensor]
) -> Tensor:
    """Positions that are equal modulo the strides are a convolution of x by every so many taps. All these are one
    convolution, whose filters are (group, phase, filter of the group), and whose results are then interleaved."""
    strides = [s.stride for s in spreads]
    phases = prod(strides)
    depth, filters = groups.depth, groups.filters
    rows = phases * filters

    def weight(row: Expr, ic: Expr, *j: Expr) -> Expr:
        group, rest = groups.split(row, rows)
        phase, column = (rest, Const(0)) if filters == 1 else (rest // filters, rest % filters)
        taps: list[Expr] = []
        guard = None
        inner = phases
        for s, step in zip(spreads, j, strict=True):
            inner //= s.stride
            tap: Expr = (phase // inner) % s.stride if phases > 1 else Const(0)
            if s.steps > 1:
                tap = tap + (s.steps - 1 - step) * s.stride
            taps.append(tap)
            guard = both(guard, tap < s.kernel if s.kernel % s.stride else None)
        return w.read([groups.input(group, ic), column, *taps], guard)

    def value(n: Expr, row: Expr, *q: Expr) -> Expr:
        def product(ic: Expr, *j: Expr) -> Expr:
            group, _ = groups.split(row, rows)
            elements, guard = [], None
            for s, position, step in zip(spreads, q, j, strict=True):
                element, inside = s.element(position, step)
                elements.append(element)
                guard = both(guard, inside)
            image = x.read([n, groups.input(group, ic), *elements], guard)
            return factor(image) * factor(by_phase.read([row, ic, *j]))

        return reduce_over("sum", (depth, *(s.steps for s in spreads)), product)

    def interleaved(n: Expr, oc: Expr, *o: Expr) -> Expr:
        group, column = groups.split(oc, filters)
        bases = [shifted(i, s.before) for s, i in zip(spreads, o, strict=True)]
        phase: Expr = Const(0)
        for s, base in zip(spreads, bases, strict=True):
            phase = phase * s.stride + base % s.stride
        row = (group * phases + phase) * filters + column
        return coarse.read([n, row, *(shifted(b // s.stride, -s.first) for s, b in zip(spreads, bases, strict=True))])

    count = groups.count * filters
    steps = [s.steps for s in spreads]
    by_phase = fold(compute(f"{name}.filters", (count * phases, depth, *steps), (w,), weight))
    coarse_name = name if phases == 1 else f"{name}.phases"
    sums = compute(coarse_name, (x.shape[0], count * phases, *(s.coarse for s in spreads)), (x, by_phase), value)
    coarse = convert(sums)
    if phases == 1:
        return coarse
    return compute(name, (x.shape[0], count, *(s.count for s in spreads)), (coarse,), interleaved)


def _gather(name: str, x: Tensor, w: Tensor, groups: Groups, spreads: list[Spread]) -> Tensor:
    """Each output element sums the input elements that reach it, over all taps."""

    def body(n: Expr, oc: Expr, *o: Expr) -> Expr:
        def product(ic: Expr, *k: Expr) -> Expr:
            group, column = groups.split(oc, groups.filters)
            channel = groups.input(group, ic)
            elements, guard = [], None
            for s, position, tap in zip(spreads, o, k, strict=True):
                element, reached = s.candidate(position, tap)
                elements.append(element)
                guard = both(guard, reached)
            return factor(x.read([n, channel, *elements], guard)) * factor(w.read([channel, column, *k]))

        return reduce_over("sum", (groups.depth, *(s.kernel for s in spreads)), product)

    shape = (x.shape[0], groups.count * groups.filters, *(s.count for s in spreads))
    return compute(name, shape, (x, w), body)


def _spreads(call: Call, sizes: list[Size], kernel: list[int]) -> list[Spread]:
    """From strides, dilations, and output_shape, or auto_pad, or pads and output_padding."""
    rank = len(sizes)
    ones, zeros = (1,) * rank, (0,) * rank
    strides, dilations = per_axis(call, "strides", ones), per_axis(call, "dilations", ones)
    pads, extra = per_axis(call, "pads", 2 * zeros), per_axis(call, "output_padding", zeros)
    absent: tuple[int, ...] = ()
    output_shape = call.attribute("output_shape", absent)[-rank:]  # batch and channels may come before
    auto_pad = call.attribute("auto_pad", "NOTSET")
    spreads = []
    for d, (size, taps) in enumerate(zip(sizes, kernel, strict=True)):
        full = strides[d] * (size - 1) + extra[d] + (taps - 1) * dilations[d] + 1
        before: Size = pads[d]
        count: Size
        if output_shape:
            total = larger(full - output_shape[d], 0)
            before, _ = split_padding(total, auto_pad)
            count = output_shape[d]
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
