"""The section of a target: its roofline, kernels, graph, memory, and the reasons for what runs where."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

from ..text.size import count, size
from .draw_graph import Box, draw_graph
from .draw_memory import draw_memory
from .draw_roofline import draw_roofline
from .element import Child, element
from .page_data import Kernel, Note, Step, Target

_SHOWN = 12
"""So many values at the peak are listed."""


def render_target(target: Target) -> Element:
    """The whole section."""
    parts: list[Child] = [element("h2", target.name), element("p", f"{target.about[:1].upper()}{target.about[1:]}.")]
    parts += [element("h3", "Kernels"), *_roofline(target), *_kernels(target)]
    parts += [element("h3", "Graph after fusion"), *_graph(target)]
    parts += [element("h3", "Memory over a run"), *_memory(target)]
    parts += [element("h3", "What runs where, and why"), *_reasons(target)]
    return element("section", *parts, id=target.name)


def plural(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


def table(head: Sequence[str], rows: Sequence[Sequence[Child]], label: str) -> Element:
    """Scrolls sideways where it is wider than the page. Cells that begin with a digit are aligned to the right."""
    heads = element("tr", *(element("th", text, scope="col") for text in head))
    body = (element("tr", *map(_cell, row)) for row in rows)
    made = element("table", element("thead", heads), element("tbody", *body))
    return element("div", made, class_="scrolled", tabindex=0, role="group", aria_label=label)


def _cell(content: Child) -> Element:
    number = isinstance(content, str) and content[:1].isdigit() and len(content) < 16
    return element("td", content, class_="number" if number else None)


def render_notes(notes: Sequence[Note]) -> Element:
    """As a table."""
    rows = [[n.where, n.why, f"{len(n.what)}: {', '.join(n.what)}"] for n in notes]
    return table(["where or how", "why", "what"], rows, "Reasons")


def _roofline(target: Target) -> Iterator[Element]:
    drawing = draw_roofline(target)
    if drawing is None:
        option = f"--peak {target.name}=GFLOPS,GBYTES"
        text = "The roofline, operations in a second by operations on a byte, needs the device's peak: "
        yield element("p", text, element("code", option), ".", class_="quiet")
        return
    notes = []
    if target.peak is not None:
        p = target.peak
        where = "measured on one thread of the machine that compiled" if p.measured else "as given"
        notes.append(
            f"Peak {p.gflops:.5g} G operations/s and {p.gbytes:.5g} GB/s, {where}; above {p.ridge:.3g} operations on a "
            "byte arithmetic is the limit, below it memory."
        )
    measured = target.ms is not None
    notes.append("Points are profiled kernels." if measured else "Points are the most that each kernel can reach.")
    legend = (
        element("li", element("span", class_=f"key {form}"), form)
        for form in ("contraction", "transform", "reduction", "map")
        if any(k.form == form and k.operations for k in target.kernels)
    )
    caption = element("figcaption", " ".join(notes), element("ul", *legend, class_="legend"))
    yield element(
        "figure", element("div", drawing, class_="scrolled", tabindex=0, role="group", aria_label="Roofline"), caption
    )


def _kernels(target: Target) -> Iterator[Element]:
    name = f"filter-{target.name}"
    orders = [("first", "first use"), ("work", "operations"), ("bytes", "bytes")]
    orders += [("ms", "time")] if target.ms is not None or target.peak is not None else []
    options = (element("option", text, value=value) for value, text in orders)
    yield element(
        "div",
        element("label", "Filter", element("input", type="search", id=name, placeholder="kernel, node or operator")),
        element("label", "Order by", element("select", *options)),
        element("output", aria_live="polite"),
        class_="controls",
        hidden=True,
    )
    yield element("div", *(_kernel(target, n, k) for n, k in enumerate(target.kernels)), class_="kernels")


def _kernel(target: Target, number: int, k: Kernel) -> Element:
    launches = len(k.steps)
    work, moved = ((n or 0) * launches for n in (k.operations, k.bytes))
    ops = sorted({op for s in k.steps for op in target.steps[s].ops})
    ms, best = target.kernel_ms(k), _best(target, k)
    shares = ((ms, target.ms), (best, _all_best(target)), (work, target.operations))
    part, whole = next((pair for pair in shares if pair[0] is not None), (0, 0))
    share = (part or 0) / whole if whole else 0
    numbers = [
        ("launches", f"{launches} x" if launches else "at load"),
        ("operations", f"{count(work)} ops" if launches and k.operations is not None else ""),
        ("bytes", size(moved) if launches and k.bytes is not None else ""),
        ("intensity", f"{k.operations / k.bytes:.3g} ops/B" if k.operations and k.bytes else ""),
        ("time", _time(ms, best)),
    ]
    title = element("span", element("b", f"{number} {k.name}"), element("small", ", ".join(ops)), class_="name")
    bar = element("span", _bar(share), class_="bar", aria_hidden="true")
    summary = element("summary", title, *(element("span", text, class_=f"n {kind}") for kind, text in numbers), bar)
    nodes = (n for s in k.steps for n in target.steps[s].nodes)
    return element(
        "details",
        summary,
        element("div", *_inside(target, k), class_="inside"),
        id=f"{target.name}-{number}",
        class_="kernel",
        data_first=k.steps[0] if k.steps else len(target.steps),
        data_work=work,
        data_bytes=moved,
        data_ms=f"{ms if ms is not None else best or 0:.6f}",
        data_words=" ".join((k.name, *ops, *nodes)).lower(),
    )


def _best(target: Target, k: Kernel) -> float | None:
    """The time that the roof allows for all launches."""
    if target.peak is None or k.operations is None or k.bytes is None:
        return None
    return target.peak.least_ms(k.operations, k.bytes) * sum(target.steps[s].count for s in k.steps)


def _all_best(target: Target) -> float:
    return sum(_best(target, k) or 0 for k in target.kernels)


def _time(ms: float | None, best: float | None) -> str:
    if ms is None:
        return f">= {_milliseconds(best)}" if best else ""
    roof = f", {best / ms:.0%} of the roof" if best and ms else ""
    return f"{_milliseconds(ms)}{roof}"


def _milliseconds(ms: float) -> str:
    return f"{ms:.3g} ms" if ms >= 0.1 else f"{ms * 1e3:.3g} \N{MICRO SIGN}s"


def _bar(share: float) -> Element:
    rect = element("rect", width=round(100 * share, 2), height=4)
    return element("svg", rect, viewBox="0 0 100 4", preserveAspectRatio="none")


def _inside(target: Target, k: Kernel) -> Iterator[Element]:
    facts = []
    if k.form:
        facts.append(("Form", ", ".join(dict.fromkeys(f for s in k.steps for f in target.steps[s].forms))))
    if target.peak is not None and k.operations is not None and k.bytes:
        bound = "arithmetic" if k.operations / k.bytes > target.peak.ridge else "memory"
        facts.append(("Bound by", bound))
    if k.extent:
        facts.append(("Launched as", k.extent))
    chosen = [f"{d.name} = {d.chosen} ({d.options} options)" for d in k.decisions]
    facts.append(("Schedule", "; ".join(chosen) or "no decisions"))
    if k.without_canary is not None:
        facts.append(("Canary", f"none: {k.without_canary}" if k.without_canary else "yes"))
    if k.refusal:
        facts.append(("Record", f"not applied: {k.refusal}"))
    pairs = (element("div", element("dt", label), element("dd", text)) for label, text in facts)
    yield element("dl", *pairs, class_="facts")
    if k.steps:
        rows = [_row(n, target.steps[n]) for n in k.steps]
        head = ["step", "nodes", "operators", "result", "layout"]
        if target.ms is not None:
            head.append("ms")
        yield table(head, rows, "Launches")
    packed = base64.b64encode(gzip.compress(k.source.encode(), mtime=0)).decode()
    source = element("pre", element("code", data_gzip=packed), tabindex=0, aria_label=f"Source of {k.name}")
    yield element("details", element("summary", f"Source ({target.language})"), source, class_="source")


def _row(number: int, step: Step) -> list[Child]:
    row: list[Child] = [str(number), ", ".join(step.nodes), ", ".join(step.ops), step.result, step.layout]
    if step.ms is not None:
        row.append(f"{step.ms:.4g}" + (f" in {step.count} times" if step.count != 1 else ""))
    return row


def _graph(target: Target) -> Iterator[Element]:
    label = f"Graph of {plural(len(target.steps), 'step')} on {target.name}"
    boxes = [_box(target, n, s) for n, s in enumerate(target.steps)]
    drawing = draw_graph(boxes, [s.before for s in target.steps], label)
    text = f"Each of the {plural(len(target.steps), 'step')} of a run with the operators that it computes."
    scrolled = element("div", drawing, class_="scrolled", tabindex=0, role="group", aria_label=label)
    yield element("p", f"{text} A click goes to the kernel.")
    yield element("details", element("summary", "Drawing"), scrolled)


def _box(target: Target, number: int, step: Step) -> Box:
    on_host = step.kernel is None
    kind = "host" if on_host else target.kernels[step.kernel or 0].form
    title = " + ".join(step.ops) or step.name
    where = f"host: {step.host}" if on_host else f"kernel {step.kernel} {step.name}"
    tooltip = f"step {number}, {where}; {', '.join(step.nodes)}; {step.result}"
    return Box(
        title, f"{number} {', '.join(step.nodes)}", tooltip, kind, None if on_host else f"{target.name}-{step.kernel}"
    )


def _memory(target: Target) -> Iterator[Element]:
    m, peak = target.memory, target.memory.peak
    most = m.live[peak]
    text = f"Values take {size(m.total)}; {size(most)} are in use at most, in step {peak}."
    fixed = ", ".join(f"{size(n)} {what}" for what, n in m.fixed)
    text += f" Constants besides: {fixed}." if fixed else ""
    yield element("p", text + (f" What runs leave for the next takes {size(m.states)} a session." if m.states else ""))
    if not m.blocks:
        return
    label = f"Memory of {target.name}"
    drawing = element("div", draw_memory(m), class_="scrolled", tabindex=0, role="group", aria_label=label)
    caption = "From left to right the steps of a run, upwards the addresses. Each block is a value, while it is needed."
    yield element("figure", drawing, element("figcaption", caption))
    held = m.at(peak)
    rows = [[b.name, size(b.bytes), f"{b.first} to {b.last}"] for b in held[:_SHOWN]]
    listed = table(["value", "size", "steps"], rows, "Values at the peak")
    more = f", the largest {_SHOWN} of {len(held)}" if len(held) > _SHOWN else ""
    yield element("details", element("summary", f"What is live in step {peak}{more}"), listed)


def _reasons(target: Target) -> Iterator[Element]:
    host = [n for n in target.steps if n.kernel is None]
    here = "All steps run on the target itself." if not host else f"{plural(len(host), 'part')} of a run on the host."
    yield element("p", here)
    if target.notes:
        yield render_notes(target.notes)
    if target.prepared:
        total = sum(p.bytes for p in target.prepared)
        rows = [[p.name, size(p.bytes)] for p in target.prepared]
        text = f"Computed once, at load: {plural(len(rows), 'tensor')}, {size(total)}"
        yield element("details", element("summary", text), table(["tensor", "size"], rows, "Computed at load"))
    counts: dict[str, int] = {}
    for s in target.steps:
        counts[s.layout] = counts.get(s.layout, 0) + 1
    rows = [[layout, str(n)] for layout, n in sorted(counts.items(), key=lambda c: (-c[1], c[0]))]
    yield element(
        "details", element("summary", "Layouts of results"), table(["layout", "steps"], rows, "Layouts of results")
    )
