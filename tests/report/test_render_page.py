"""The page: one file that refers to nothing else, in which names stay text."""

from __future__ import annotations

import base64
import gzip
import re
from pathlib import Path

import onnx
import pytest
from hostile_names import NAMES
from onnx import TensorProto
from onnx_models import model, node, random
from report.built import Parsed, described, two_layers
from webnn_compile.quantization.settings import QuantizeOptions, parse_weights
from webnn_compile.report.draw_graph import HEIGHT, WIDTH, Box, draw_graph
from webnn_compile.report.element import element, write
from webnn_compile.report.render_page import render_page

REFERENCES = ("src", "href", "srcset", "action", "formaction", "data", "poster", "xlink:href", "ping", "background")


def hostile() -> onnx.ModelProto:
    """Each node and tensor of a chain has a name of its own."""
    names = [f"{name}{i}" for i, name in enumerate(NAMES)]
    nodes = [node("Sigmoid", [a], [b], b) for a, b in zip(["x", *names], names, strict=False)]
    return model(nodes, {"x": [2, 3]}, [names[-1]])


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    found = described(two_layers(), tmp_path_factory.mktemp("page"), ["webgpu", "webgl", "wasm"])
    return render_page(found)


def test_nothing_outside_is_referred_to(page: str) -> None:
    parsed = Parsed(page)
    ids = [a["id"] for _, a in parsed.elements if a.get("id")]
    assert len(ids) == len(set(ids))
    for tag, attributes in parsed.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form", "audio", "video", "image", "use")
        assert "style" not in attributes, "the policy forbids it"
        for name in REFERENCES:
            if (value := attributes.get(name)) is not None:
                assert value.startswith("#")
                assert value[1:] in ids
        assert not any(name.startswith("on") for name in attributes)
    assert "url(" not in parsed.text["style"]
    assert "@import" not in parsed.text["style"]
    assert not re.search(r"\beval\b|\bFunction\b|\bimport\b|\bfetch\b|https?:", parsed.text["script"])
    (policy,) = [a["content"] for a in parsed.all("meta") if a.get("http-equiv")]
    assert policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy


def test_equal_builds_have_equal_pages(page: str, tmp_path: Path) -> None:
    assert render_page(described(two_layers(), tmp_path, ["webgpu", "webgl", "wasm"])) == page


def test_sections_and_kernels(page: str) -> None:
    parsed = Parsed(page)
    assert {a["id"] for a in parsed.all("section")} == {"summary", "webgpu", "webgl", "wasm", "graph", "files"}
    for attributes in parsed.all("details"):
        if attributes.get("class") == "kernel":
            assert re.fullmatch(r"(webgpu|webgl|wasm)-\d+", attributes["id"] or "")
    sources = [a["data-gzip"] for a in parsed.all("code") if "data-gzip" in a]
    assert any("@compute" in gzip.decompress(base64.b64decode(s or "")).decode() for s in sources)
    assert "first_relu" in parsed.text["td"]


def test_drawings_and_what_scrolls_have_names(page: str) -> None:
    parsed = Parsed(page)
    assert all(a.get("aria-label") for a in parsed.all("svg") if a.get("role") == "img")
    assert all(
        a.get("aria-label") and a.get("tabindex") == "0" for a in parsed.all("div") if a.get("class") == "scrolled"
    )
    assert all(a.get("role") == "img" or a.get("preserveaspectratio") for a in parsed.all("svg"))


def test_names_stay_text(tmp_path: Path) -> None:
    text = render_page(described(hostile(), tmp_path, ["webgpu", "wasm"]))
    plain = Parsed(render_page(described(two_layers(), _made(tmp_path / "plain"), ["webgpu", "wasm"])))
    parsed = Parsed(text)
    assert len(parsed.all("script")) == 1
    assert parsed.text["script"] == plain.text["script"]
    assert parsed.text["style"] == plain.text["style"]
    assert {tag for tag, _ in parsed.elements} <= {tag for tag, _ in plain.elements}
    allowed = {name for _, attributes in plain.elements for name in attributes}
    assert {name for _, attributes in parsed.elements for name in attributes} <= allowed
    for i, name in enumerate(NAMES):
        if name.isprintable():
            assert f"{name}{i}" in parsed.text["td"]
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_a_model_without_kernels(tmp_path: Path) -> None:
    one = model([node("Identity", ["x"], ["y"])], {"x": [2]}, ["y"])
    assert "<h2>wasm</h2>" in render_page(described(one, tmp_path, ["wasm", "webgpu"]))


def test_a_part_on_the_host_is_no_kernel(tmp_path: Path) -> None:
    nodes = [
        node("Cast", ["x"], ["d"], "wide", to=TensorProto.DOUBLE),
        node("Erf", ["d"], ["e"], "erf"),
        node("Cast", ["e"], ["f"], "narrow", to=TensorProto.FLOAT),
        node("Softmax", ["f"], ["y"], "softmax"),
    ]
    found = described(model(nodes, {"x": [64, 512]}, ["y"]), tmp_path, ["webgpu"])
    parsed = Parsed(render_page(found))
    ids = {a.get("id") for a in parsed.all("details")}
    clicked = [a["data-kernel"] for tag, a in parsed.elements if tag in ("g", "circle") and "data-kernel" in a]
    assert clicked
    assert set(clicked) <= ids
    assert "webgpu: host" in parsed.text["td"]


def test_layers_left_in_float32_have_their_reason(tmp_path: Path) -> None:
    quantize = QuantizeOptions(parse_weights("int8"), keep=("second",))
    nodes = [node("MatMul", ["x", "w"], ["a"], "first"), node("MatMul", ["a", "w"], ["y"], "second")]
    proto = model(nodes, {"x": [1, 32]}, ["y"], {"w": random((32, 32))})
    found = described(proto, tmp_path, ["wasm"], quantize=quantize)
    where = {note.where: note.what for note in found.notes}
    assert where["left in float32"] == ("second (MatMul)",)
    assert where["quantised: int8"] == ("first (MatMul)",)
    assert 'id="reasons"' in render_page(found)


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", '" onload="x', "]]>", "&lt;"])
def test_an_element_escapes(name: str) -> None:
    parsed = Parsed(write(element("p", name, element("b", "c"), name, title=name)))
    assert [tag for tag, _ in parsed.elements] == ["p", "b"]
    assert parsed.elements[0][1] == {"title": name}
    assert parsed.text == {"p": name * 2, "b": "c"}


def test_boxes_of_a_drawing_do_not_overlap() -> None:
    """A chain with shortcuts, and branches."""
    before = [[], [0], [0], [0], [1, 2, 3], [4], [5, 0], [6, 4], []]
    boxes = [Box(str(n), "", "", "map") for n in range(len(before))]
    drawing = draw_graph(boxes, before, "label")
    rects = [(float(r.get("x", "")), float(r.get("y", ""))) for r in drawing.iter("rect")]
    assert len(rects) == len(before)
    for i, (x, y) in enumerate(rects):
        assert all(abs(x - u) >= WIDTH or abs(y - v) >= HEIGHT for u, v in rects[:i])
    titles = {t.text: n for n, t in enumerate(drawing.iter("text")) if t.get("class") == "title"}
    places = dict(zip(sorted(titles, key=lambda t: titles[t]), rects, strict=True))
    for n, above in enumerate(before):
        assert all(places[str(a)][1] < places[str(n)][1] for a in above)
