"""Memory over a run, as SVG: a block for each value, by steps and addresses."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from ..text.size import size
from .element import element
from .page_data import Memory

_LEFT, _TOP, _WIDTH, _HEIGHT, _BOTTOM = 76, 8, 860, 280, 34
_LINES = 4


def draw_memory(memory: Memory) -> Element:
    """The SVG. Above the blocks is a line that marks the step of the peak."""
    steps, peak = max(len(memory.labels), 1), memory.peak
    across, up = _WIDTH / steps, _HEIGHT / max(memory.total, 1)
    drawing: list[Element] = []
    for n in range(_LINES + 1):
        y = round(_TOP + _HEIGHT * (1 - n / _LINES), 1)
        drawing.append(element("path", d=f"M{_LEFT} {y}h{_WIDTH}", class_="grid"))
        drawing.append(element("text", size(memory.total * n // _LINES), x=_LEFT - 8, y=y + 4, class_="tick end"))
    for b in memory.blocks:
        named = f"{b.name}: {size(b.bytes)}, {_span(memory, b.first, b.last)}"
        drawing.append(
            element(
                "rect",
                element("title", named),
                x=round(_LEFT + b.first * across, 2),
                y=round(_TOP + _HEIGHT - (b.at + b.bytes) * up, 2),
                width=round((b.last - b.first + 1) * across, 2),
                height=round(b.bytes * up, 2),
                class_="block",
            )
        )
    x = round(_LEFT + (peak + 0.5) * across, 1)
    drawing.append(element("path", d=f"M{x} {_TOP}v{_HEIGHT}", class_="mark"))
    at = _TOP + _HEIGHT + 16
    drawing.append(element("text", "step 0", x=_LEFT, y=at, class_="tick"))
    drawing.append(element("text", str(steps - 1), x=_LEFT + _WIDTH, y=at, class_="tick end"))
    near = min(max(x, _LEFT + 130), _LEFT + _WIDTH - 130)
    drawing.append(element("text", f"peak at step {peak}", x=near, y=at, class_="tick middle strong"))
    label = f"{len(memory.blocks)} values in {size(memory.total)}; most at step {peak}"
    box = f"0 0 {_LEFT + _WIDTH + 12} {_TOP + _HEIGHT + _BOTTOM}"
    return element("svg", *drawing, viewBox=box, role="img", aria_label=label, class_="wide")


def _span(memory: Memory, first: int, last: int) -> str:
    if first == last:
        return f"in step {first} ({memory.labels[first]})" if memory.labels else ""
    return f"from step {first} ({memory.labels[first]}) to {last} ({memory.labels[last]})"
