"""A directed acyclic graph in layers, as SVG (Sugiyama, Tagawa and Toda, 1981).

A node is in the layer below its lowest predecessor. Results that pass layers go through places of their own there, one
for all readers. Layers are ordered by the means of their neighbours' places, then moved sideways to be below these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from .element import element

WIDTH, HEIGHT = 168, 36
"""The size of a node."""
_GAP, _LINE, _BETWEEN = 16, 12, 30
"""Between nodes, the width of a passing edge, between layers."""
_SWEEPS = 4
_LETTERS = 22
"""So many fit into a node."""


@dataclass(frozen=True, slots=True)
class Box:
    """A node: two lines of text, the text of its tooltip, a CSS class, a number for scripts."""

    title: str
    subtitle: str
    tooltip: str
    kind: str
    kernel: str | None = None


@dataclass(slots=True, eq=False)
class _Place:
    """A node, or a point where the result of `box` passes a layer."""

    box: int
    passing: bool
    above: list[_Place] = field(default_factory=list)
    below: list[_Place] = field(default_factory=list)
    order: float = 0
    x: float = 0

    @property
    def width(self) -> int:
        return _LINE if self.passing else WIDTH


def draw_graph(boxes: Sequence[Box], before: Sequence[Sequence[int]], label: str) -> Element:
    """The SVG; `before` are the predecessors of each box, all of which have lower numbers."""
    layers = _place(before, _layers(before))
    _order(layers)
    width = _align(layers)
    step = HEIGHT + _BETWEEN
    y = {id(p): row * step for row, layer in enumerate(layers) for p in layer}
    drawing: list[Element] = []
    for layer in layers:
        for p in layer:
            lines = [_edge(p, b, y[id(p)], y[id(b)]) for b in p.below]
            if p.passing:
                lines.append(f"M{_middle(p)} {y[id(p)]}v{HEIGHT}")
            if lines:
                drawing.append(element("path", d="".join(lines), class_="edge"))
    for layer in layers:
        drawing += [_node(boxes[p.box], p.x, y[id(p)]) for p in layer if not p.passing]
    height = max(len(layers) * step - _BETWEEN, 1)
    size = f"-1 -1 {width + 2:.0f} {height + 2}"
    return element(
        "svg", *drawing, viewBox=size, width=f"{width + 2:.0f}", height=height + 2, role="img", aria_label=label
    )


def _layers(before: Sequence[Sequence[int]]) -> list[int]:
    """The layer of each node: of a source the one above its first reader."""
    layer: list[int] = []
    for above in before:
        layer.append(1 + max((layer[n] for n in above), default=-1))
    first: dict[int, int] = {}
    for number, above in enumerate(before):
        for n in above:
            first[n] = min(first.get(n, layer[number]), layer[number])
    return [first.get(n, 1) - 1 if not before[n] else at for n, at in enumerate(layer)]


def _place(before: Sequence[Sequence[int]], layer: Sequence[int]) -> list[list[_Place]]:
    layers: list[list[_Place]] = [[] for _ in range(max(layer, default=-1) + 1)]
    ends: Mapping[int, dict[int, _Place]] = {n: {} for n in range(len(before))}
    for number, above in enumerate(before):
        here = _Place(number, passing=False)
        layers[layer[number]].append(here)
        ends[number][layer[number]] = here
        for n in above:
            for row in range(layer[n] + 1, layer[number]):
                if row not in ends[n]:
                    ends[n][row] = _Place(n, passing=True)
                    layers[row].append(ends[n][row])
                    _connect(ends[n][row - 1], ends[n][row])
            _connect(ends[n][layer[number] - 1], here)
    for places in layers:
        for i, p in enumerate(places):
            p.order = i
    return layers


def _connect(above: _Place, below: _Place) -> None:
    above.below.append(below)
    below.above.append(above)


def _order(layers: list[list[_Place]]) -> None:
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for places in layers if down else reversed(layers):
            for p in places:
                others = p.above if down else p.below
                if others:
                    p.order = sum(o.order for o in others) / len(others)
            places.sort(key=lambda p: (p.order, p.box))
            for i, p in enumerate(places):
                p.order = i


def _align(layers: list[list[_Place]]) -> float:
    """Sets each place's left edge; returns the width of the drawing."""
    for places in layers:
        x = None
        wanted = [_mean(p.above) - p.width / 2 if p.above else 0.0 for p in places]
        for p, want in zip(places, wanted, strict=True):
            p.x = want if x is None else max(want, x)
            x = p.x + p.width + _GAP
        shift = sum(p.x - w for p, w in zip(places, wanted, strict=True)) / max(len(places), 1)
        for p in places:
            p.x -= shift
    left = min((p.x for places in layers for p in places), default=0)
    for places in layers:
        for p in places:
            p.x = round(p.x - left, 1)
    return max((p.x + p.width for places in layers for p in places), default=1)


def _middle(p: _Place) -> float:
    return round(p.x + p.width / 2, 1)


def _mean(places: Sequence[_Place]) -> float:
    return sum(map(_middle, places)) / len(places)


def _edge(a: _Place, b: _Place, top: int, bottom: int) -> str:
    x, to, half = _middle(a), _middle(b), _BETWEEN // 2
    start = f"M{x} {top + HEIGHT}"
    if abs(x - to) < 0.5:
        return f"{start}v{bottom - top - HEIGHT}"
    return f"{start}C{x} {top + HEIGHT + half} {to} {bottom - half} {to} {bottom}"


def _node(box: Box, x: float, y: int) -> Element:
    lines = (
        element("text", _short(text), x=x + 10, y=y + at, class_=kind)
        for text, at, kind in ((box.title, 15, "title"), (box.subtitle, 29, "subtitle"))
    )
    rect = element("rect", x=x, y=y, width=WIDTH, height=HEIGHT, rx=6)
    tooltip = element("title", box.tooltip)
    return element("g", tooltip, rect, *lines, class_=f"node {box.kind}", data_kernel=box.kernel)


def _short(text: str) -> str:
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"
