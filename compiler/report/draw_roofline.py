"""The roofline model (Williams, Waterman and Patterson, 2009), as SVG: operations in a second by those on a byte."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, floor, log10
from xml.etree.ElementTree import Element

from .element import element
from .page_data import Target

_LEFT, _TOP, _WIDTH, _HEIGHT, _BOTTOM = 64, 14, 860, 300, 44


@dataclass(frozen=True, slots=True)
class Point:
    """A kernel: operations on a byte, billions of operations in a second, as `measured` or as the roof allows."""

    number: int
    intensity: float
    gflops: float
    measured: bool


def find_points(target: Target) -> list[Point]:
    """The kernels of a run that have operations; without a profile those of a target whose peak is known."""
    return list(_points(target))


def _points(target: Target) -> Iterator[Point]:
    for number, k in enumerate(target.kernels):
        if not k.operations or not k.bytes or not k.steps:
            continue
        times = sum(target.steps[s].count for s in k.steps)
        intensity, ms = k.operations / k.bytes, target.kernel_ms(k)
        if ms:
            yield Point(number, intensity, k.operations * times / ms / 1e6, True)
        elif target.peak is not None:
            roof = min(target.peak.gflops, target.peak.gbytes * intensity)
            yield Point(number, intensity, roof, False)


def draw_roofline(target: Target) -> Element | None:
    """The SVG, None where nothing can be drawn."""
    points, peak = find_points(target), target.peak
    if not points:
        return None
    xs = [p.intensity for p in points] + ([peak.ridge] if peak else [])
    ys = [p.gflops for p in points] + ([peak.gflops] if peak else [])
    x, y = _Axis(xs, _LEFT, _WIDTH), _Axis(ys, _TOP + _HEIGHT, -_HEIGHT)
    drawing = [*_grid(x, y)]
    if peak is not None:
        start = max(x.least, y.least / peak.gbytes)
        corner = f"L{x.at(peak.ridge)} {y.at(peak.gflops)}" if x.least < peak.ridge < x.most else ""
        ends = [f"{x.at(at)} {y.at(min(peak.gflops, peak.gbytes * at))}" for at in (start, x.most)]
        drawing.append(element("path", d=f"M{ends[0]}{corner}L{ends[1]}", class_="roof"))
    for p in points:
        k = target.kernels[p.number]
        how = "" if p.measured else " at most"
        named = f"{p.number} {k.name}: {p.intensity:.3g} operations on a byte, {p.gflops:.3g} G operations/s{how}"
        kind = f"point {k.form} {'measured' if p.measured else 'bound'}"
        at = {"cx": x.at(p.intensity), "cy": y.at(p.gflops)}
        title = element("title", named)
        drawing.append(element("circle", title, r=6, class_=kind, data_kernel=f"{target.name}-{p.number}", **at))
    middle = _LEFT + _WIDTH / 2
    below = _TOP + _HEIGHT + 36
    drawing.append(element("text", "operations on a byte", x=middle, y=below, class_="tick middle"))
    drawing.append(element("text", "G operations/s", x=_LEFT + 6, y=_TOP + 12, class_="tick"))
    box = f"0 0 {_LEFT + _WIDTH + 16} {_TOP + _HEIGHT + _BOTTOM}"
    label = f"Roofline of {target.name}: {len(points)} kernels; the list below has the numbers"
    return element("svg", *drawing, viewBox=box, role="img", aria_label=label, class_="wide")


class _Axis:
    """Whole decades from `start` on."""

    def __init__(self, values: list[float], start: float, length: float) -> None:
        low, high = floor(log10(min(values))), ceil(log10(max(values) * 1.05))
        self.decades = range(low, max(high, low + 1) + 1)
        self._start, self._length = start, length

    @property
    def least(self) -> float:
        return 10.0 ** self.decades[0]

    @property
    def most(self) -> float:
        return 10.0 ** self.decades[-1]

    def at(self, value: float) -> float:
        share = (log10(value) - self.decades[0]) / (len(self.decades) - 1)
        return round(self._start + share * self._length, 1)


def _grid(x: _Axis, y: _Axis) -> Iterator[Element]:
    for n in x.decades:
        at = x.at(10.0**n)
        yield element("path", d=f"M{at} {_TOP}v{_HEIGHT}", class_="grid")
        yield element("text", f"{10.0**n:g}", x=at, y=_TOP + _HEIGHT + 16, class_="tick middle")
    for n in y.decades:
        at = y.at(10.0**n)
        yield element("path", d=f"M{_LEFT} {at}h{_WIDTH}", class_="grid")
        yield element("text", f"{10.0**n:g}", x=_LEFT - 8, y=at + 4, class_="tick end")
