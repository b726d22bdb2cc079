"""Windows that slide over spatial axes: the geometry that convolutions and pooling share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..ir.construct import maximum, minimum
from ..ir.nodes import Const, Expr
from ..ir.simplify import simplify_expr
from ..ir.sizes import Size, ceiling, divided, known_less, larger, number, size, smaller, text_of
from .call import Call


@dataclass(frozen=True, slots=True)
class Window:
    """One spatial axis: tap k of position o reads element o*stride + k*dilation - before of `size` elements.

    `before` and `after` are the padding; `count` is the number of positions.
    """

    size: Size
    kernel: int
    stride: int
    dilation: int
    before: Size
    after: Size
    count: Size

    def at(self, o: Expr, k: Expr) -> Expr:
        """The element that tap k reads at position o; in range only where `guard` holds."""
        index = scaled(o, self.stride)
        if self.kernel > 1:
            index = index + scaled(k, self.dilation)
        return shifted(index, -self.before)

    def guard(self, o: Expr, k: Expr) -> Expr | None:
        """Whether tap k of position o is within the axis; None where every tap of every position does."""
        last = (self.count - 1) * self.stride + (self.kernel - 1) * self.dilation - self.before
        return within(self.at(o, k), self.size, -self.before, last)

    def live(self) -> tuple[Window, int]:
        """The window without the taps at either end that fall into the padding at every position, and how many are
        before it: of a wide dilation on a small image most do."""
        size, count, before = self.size, self.count, self.before
        if not (isinstance(size, int) and isinstance(count, int) and isinstance(before, int)) or count < 1:
            return self, 0
        last = (count - 1) * self.stride
        first = min(self.kernel, max(0, -((last - before) // self.dilation)))
        behind = min(self.kernel, max(first, -((-size - before) // self.dilation)))
        return replace(self, kernel=behind - first, before=before - first * self.dilation), first

    def valid_taps(self, position: int, padded: bool) -> int:
        """The number of taps that fall on elements, and on padding too where `padded`."""
        assert isinstance(self.size, int)
        assert isinstance(self.before, int)
        assert isinstance(self.after, int)
        low, high = (-self.before, self.size + self.after) if padded else (0, self.size)
        start = position * self.stride - self.before
        first, behind = (-((start - end) // self.dilation) for end in (low, high))
        return max(0, min(behind, self.kernel) - max(first, 0))

    def count_taps(self, position: Expr, padded: bool) -> Expr:
        """The number of taps at any position, as an expression."""
        low, high = (-self.before, self.size + self.after) if padded else (0, self.size)
        start = position * self.stride - self.before
        first, behind = (
            maximum((number(end) - start + (self.dilation - 1)) // self.dilation, 0) for end in (low, high)
        )
        return maximum(minimum(behind, self.kernel) - first, 0)


def within(index: Expr, size: Size, low: Size, most: Size) -> Expr | None:
    """The comparisons by which 0 <= index < size, of those that low <= index <= most leaves open; None if none."""
    return both(None if known_less(-1, low) else Const(0) <= index, None if known_less(most, size) else index < size)


def both(a: Expr | None, b: Expr | None) -> Expr | None:
    """a and b, where None stands for true."""
    if a is None or b is None:
        return b if a is None else a
    return a & b


def guard_of(windows: Sequence[Window], o: Sequence[Expr], k: Sequence[Expr]) -> Expr | None:
    """Whether taps k of positions o are within every axis; None where they always do."""
    guard: Expr | None = None
    for w, position, tap in zip(windows, o, k, strict=True):
        guard = both(guard, w.guard(position, tap))
    return guard


def scaled(e: Expr, factor: Size) -> Expr:
    """An index `e` times a step of an axis: 0 where the step is beyond int32, as there is no other position then."""
    if isinstance(factor, Expr):
        return e * factor
    if not -(2**31) <= factor < 2**31:
        return Const(0)
    return e if factor == 1 else e * factor


def shifted(e: Expr, offset: Size) -> Expr:
    if isinstance(offset, Expr):
        return simplify_expr(e + offset)
    if offset == 0:
        return e
    return e + offset if offset > 0 else e - -offset


def windows_of(
    call: Call, sizes: Sequence[Size], kernel: Sequence[int], *, partial: bool = False
) -> tuple[Window, ...]:
    """The windows of a convolution or pooling node, from strides, dilations, pads, auto_pad and ceil_mode.

    With ceil_mode a last window that would start in the padding after the input is dropped. With `partial` an axis may
    be too short for one window: as in onnxruntime, whose quotient truncates, it has one that reaches beyond the end if
    it lacks less than a stride, and none if it lacks less than two. Raises UnsupportedError where it is shorter.
    """
    rank = len(sizes)
    ones, zeros = (1,) * rank, (0,) * rank
    strides, dilations, pads = (
        per_axis(call, *default) for default in (("strides", ones), ("dilations", ones), ("pads", 2 * zeros))
    )
    # ONNX's inference refuses such of its own operators.
    if min(*strides, *dilations, 1) < 1:
        raise call.unsupported(
            f"strides are {list(strides)} and dilations {list(dilations)}", "the model is invalid: each is at least 1"
        )
    auto_pad, ceil = call.attribute("auto_pad", "NOTSET"), call.flag("ceil_mode", 0)
    windows = []
    for d, (extent, taps) in enumerate(zip(sizes, kernel, strict=True)):
        stride, dilation = strides[d], dilations[d]
        before: Size = pads[d]
        after: Size = pads[rank + d]
        reach = (taps - 1) * dilation + 1
        if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            count = ceiling(extent, stride)
            total = larger((count - 1) * stride + reach - extent, 0)
            before, after = split_padding(total, auto_pad)
            if not isinstance(extent, int):
                windows.append(Window(extent, taps, stride, dilation, before, after, count))
                continue
        elif auto_pad == "VALID":
            before = after = 0
        if not isinstance(extent, int) or not isinstance(before, int) or not isinstance(after, int):
            windows.append(_varying(call, Window(extent, taps, stride, dilation, before, after, 0), reach, ceil=ceil))
            continue
        free = extent + before + after - reach
        count = (-(-free // stride) if ceil or free < 0 else free // stride) + 1
        if ceil and (count - 1) * stride >= extent + before:
            count -= 1
        if count < 0 or (free < 0 and not partial):
            raise call.unsupported(
                f"its window spans {reach} elements of an axis that has {extent + before + after} with padding",
                "check the input shape",
            )
        # What a window covers beyond the end counts as padding, before opset 19.
        if not ceil and call.opset < 19:
            after += max(-free, 0)
        windows.append(Window(extent, taps, stride, dilation, before, after, count))
    return tuple(windows)


def _varying(call: Call, window: Window, reach: int, *, ceil: bool) -> Window:
    """The window along an axis whose size is known at run time only: never shorter than its reach."""
    free = size(window.size + (window.before + window.after - reach))
    if not known_less(-1, free):
        raise call.unsupported(
            f"its window spans {reach} elements, and the axis that has {text_of(window.size)} may be shorter",
            "raise the least value of the size: --dim NAME=LEAST..MOST",
        )
    if not ceil:
        return replace(window, count=size(divided(free, window.stride) + 1))
    # A last window that would start in the padding after the input is dropped.
    starting = divided(size(window.size + window.before - 1), window.stride) + 1
    return replace(window, count=smaller(size(ceiling(free, window.stride) + 1), size(starting)))


def split_padding(total: Size, auto_pad: str) -> tuple[Size, Size]:
    """Padding before and after; an odd element goes to the end with SAME_UPPER, else to the beginning."""
    small = divided(total, 2)
    rest = size(total - small)
    return (small, rest) if auto_pad == "SAME_UPPER" else (rest, small)


def per_axis(call: Call, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
    """An attribute of as many integers as `default`, which it is where absent."""
    absent: tuple[int, ...] = ()
    value = call.attribute(name, absent) or default
    if len(value) != len(default):
        raise call.unsupported(
            f"attribute {name} has {len(value)} elements where {len(default)} are expected", "the model is invalid"
        )
    return tuple(value)
