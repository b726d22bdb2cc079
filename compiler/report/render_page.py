"""The page of a build: HTML with its styles, drawings and script inside, which refers to nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from xml.etree.ElementTree import Element

from ..text.size import count, size
from .draw_graph import Box, draw_graph
from .element import Child, element, write
from .page_data import Node, Page
from .render_target import plural, render_notes, render_target, table

_END = "</"
"""Not in our style and script, which are written as they are."""


def render_page(page: Page) -> str:
    """The text of the page, the same for the same data."""
    own = files(__package__)
    style, script = (own.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    assert _END not in style + script
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{page.model}: how it was compiled"),
        element("style", style),
    )
    body = element(
        "body",
        element("a", "Skip to the content", href="#content", class_="skip"),
        element("header", element("h1", page.model), element("p", _lead(page)), _navigation(page)),
        element("main", *_sections(page), id="content"),
        element("script", script),
    )
    return f"<!doctype html>\n{write(element('html', head, body, lang='en'))}\n"


def _policy(style: str, script: str) -> str:
    """The browser fetches nothing, and runs no script but ours."""
    return f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _lead(page: Page) -> str:
    targets = ", ".join(t.name for t in page.targets)
    return f"{plural(len(page.nodes), 'operator')} compiled by webnn-compile for {targets}."


def _navigation(page: Page) -> Element:
    links = [("#summary", "Summary"), *((f"#{t.name}", t.name) for t in page.targets)]
    links += [
        ("#graph", "Graph before fusion"),
        *([("#reasons", "Reasons")] if page.notes else []),
        ("#files", "Files"),
    ]
    items = (element("li", element("a", text, href=href)) for href, text in links)
    return element("nav", element("ul", *items), aria_label="Sections")


def _sections(page: Page) -> Iterator[Element]:
    yield element("section", element("h2", "Summary"), _facts(page), _summary(page), id="summary")
    for target in page.targets:
        yield render_target(target)
    yield _graph(page)
    if page.notes:
        yield element("section", element("h2", "Reasons, for all targets"), render_notes(page.notes), id="reasons")
    yield _files(page)


def _facts(page: Page) -> Element:
    pairs: list[Child] = []
    for label, text in page.facts:
        pairs.append(element("div", element("dt", label), element("dd", text)))
    return element("dl", *pairs, class_="facts")


def _summary(page: Page) -> Element:
    rows = []
    for t in page.targets:
        cells = [
            t.name,
            str(len(t.kernels)),
            str(len(t.steps)),
            count(t.operations),
            size(t.bytes),
            size(t.memory.total),
            size(sum(n for _, n in t.memory.fixed)),
            size(t.code),
        ]
        rows.append([*cells, "" if t.ms is None else f"{t.ms:.2f} ms"])
    head = ["target", "kernels", "steps", "operations", "bytes moved", "values", "constants", "code", "profiled"]
    if all(t.ms is None for t in page.targets):
        head, rows = head[:-1], [row[:-1] for row in rows]
    return table(head, rows, "Targets")


def _graph(page: Page) -> Element:
    places = _places(page)
    boxes = [_box(n, places.get(n.name, {})) for n in page.nodes]
    label = f"Graph of {len(page.nodes)} operators"
    gone = sum(not n.kept for n in page.nodes)
    text = (
        f"{plural(len(page.nodes), 'operator')} as imported; {page.optimised} after the passes on the graph. Dashed: "
        f"{gone} that these passes took out, by folding them into constants or into other operators. A click goes to "
        "the kernel that computes an operator."
    )
    drawing = draw_graph(boxes, [n.before for n in page.nodes], label)
    listed = table(
        ["operator", "node", "kernels"],
        [[_op(n), n.name, ", ".join(places.get(n.name, ())) or "none"] for n in page.nodes],
        "Operators",
    )
    return element(
        "section",
        element("h2", "Graph before fusion"),
        element("p", text),
        element("details", element("summary", "Drawing"), _scrolled(drawing, label)),
        element("details", element("summary", "List of operators"), listed),
        id="graph",
    )


def _box(node: Node, places: Mapping[str, str | None]) -> Box:
    where = "; ".join(places) or "in no kernel"
    kind = "operator" if node.kept else "operator gone"
    kernel = next((k for k in places.values() if k is not None), None)
    return Box(_op(node), node.name, f"{_op(node)} {node.name}: {where}", kind, kernel)


def _op(node: Node) -> str:
    return f"{node.op} ({plural(node.inner, 'node')} inside)" if node.inner else node.op


def _places(page: Page) -> Mapping[str, dict[str, str | None]]:
    """By node the texts of where each target computes it, each with the id of the kernel."""
    found: dict[str, dict[str, str | None]] = {}
    for t in page.targets:
        for s in t.steps:
            host = s.kernel is None
            for name in s.nodes:
                text = f"{t.name}: {'host' if host else f'kernel {s.kernel}'}"
                found.setdefault(name, {})[text] = None if host else f"{t.name}-{s.kernel}"
    return found


def _scrolled(drawing: Element, label: str) -> Element:
    return element("div", drawing, class_="scrolled", tabindex=0, role="group", aria_label=label)


def _files(page: Page) -> Element:
    kinds: dict[str, list[int]] = {}
    for f in page.files:
        kinds.setdefault(f.kind, []).append(f.bytes)
    total = max(sum(f.bytes for f in page.files), 1)
    by_kind = [[k, str(len(n)), size(sum(n)), f"{sum(n) / total:.1%}"] for k, n in kinds.items()]
    each = [[f.name, f.kind, size(f.bytes)] for f in page.files]
    listed = table(["file", "kind", "size"], each, "Files")
    return element(
        "section",
        element("h2", "Files"),
        element("p", f"{plural(len(page.files), 'file')}, {size(total)} in all."),
        table(["kind", "files", "size", "share"], by_kind, "Files by kind"),
        element("details", element("summary", "All files"), listed),
        id="files",
    )
