"""Builds with a page as the report, for its tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html.parser import HTMLParser
from pathlib import Path

import onnx
from onnx_models import model, node, random
from webnn_compile.driver.build import build
from webnn_compile.driver.options import Options
from webnn_compile.report.describe_build import describe_build
from webnn_compile.report.page_data import Page, Peak

PEAK = Peak(100.0, 20.0, measured=True)


def two_layers() -> onnx.ModelProto:
    """Two equal products with a Relu, and a Softmax."""
    nodes = [
        node("MatMul", ["x", "v"], ["a"], "first"),
        node("Relu", ["a"], ["b"], "first_relu"),
        node("Identity", ["b"], ["i"], "same"),
        node("MatMul", ["i", "w"], ["c"], "second"),
        node("Relu", ["c"], ["d"], "second_relu"),
        node("Softmax", ["d"], ["y"], "softmax"),
    ]
    return model(nodes, {"x": [1, 8]}, ["y"], {"v": random((8, 8)), "w": random((8, 8), 1)})


def described(proto: onnx.ModelProto, folder: Path, targets: Iterable[str], **options: object) -> Page:
    """The data of the page of a build in `folder`."""
    model = folder / "model.onnx"
    onnx.save(proto, model)
    given = Options(targets=tuple(targets), report=folder / "report.html", processes=1, **options)  # type: ignore[arg-type]
    report = build(model, folder / "out", given, lambda _: None, lambda _: None)
    return describe_build(report, given, lambda _: PEAK)


class Parsed(HTMLParser):
    """Elements with their attributes, and the text of a page by the element that it is in."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, Mapping[str, str | None]]] = []
        self.text: dict[str, str] = {}
        self._inside = [""]
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "input"):
            self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._inside.pop() == tag

    def handle_data(self, data: str) -> None:
        inside = self._inside[-1]
        self.text[inside] = self.text.get(inside, "") + data

    def all(self, tag: str) -> list[Mapping[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]
