"""`--precision f16-fast`: which kernels compute in float16, by what errors, and what comes of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from click.testing import CliRunner
from device_json import read_program
from drivers import need_driver
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx_models import Array, model, node, onnxruntime_results, random
from random_graphs import random_graph
from webnn_compile.cli.command import main
from webnn_compile.driver.measure_halves import LARGEST_ERROR
from webnn_compile.driver.verify import HALF_TOLERANCE, largest_error
from webnn_compile.errors import InputError
from webnn_compile.execution.device_model import DeviceModel

HALF = re.compile(r"[-+*<] ?(?:vec4h\()?-?[\d.]+h|(\$?\b\w+) ?[-+*] ?\1\b(?=.*h)")
"""Arithmetic with a literal of float16."""


def residual(channels: int, side: int) -> onnx.ModelProto:
    nodes = [
        node("Conv", ["x", "w"], ["a"], "first", pads=[1, 1, 1, 1]),
        node("Relu", ["a"], ["b"]),
        node("Conv", ["b", "v", "c"], ["d"], "second", pads=[1, 1, 1, 1]),
        node("Add", ["d", "b"], ["e"]),
        node("Clip", ["e", "low", "high"], ["f"]),
        node("Conv", ["f", "u"], ["y"], "last"),
    ]
    weights = {
        "w": random((channels, 3, 3, 3), 1) / 5,
        "v": random((channels, channels, 3, 3), 2) / 9,
        "c": random((channels,), 3),
        "u": random((4, channels, 1, 1), 4),
        "low": np.float32(0),
        "high": np.float32(6),
    }
    return model(nodes, {"x": [1, 3, side, side]}, ["y"], weights)


def built(proto: onnx.ModelProto, folder: Path, *options: str) -> tuple[str, Any, list[dict[str, Any]]]:
    """The output of the command line, the report, and the kernels for webgpu."""
    onnx.save(proto, folder / "model.onnx")
    arguments = [str(folder / "model.onnx"), "--out", str(folder / "o"), "--report", str(folder / "r.json"), *options]
    ended = CliRunner().invoke(main, [*arguments, "--precision", "f16-fast", "--targets", "webgpu"])
    assert ended.exit_code == 0, ended.output
    kernels = [read_program(f.read_text())["kernels"] for f in (folder / "o").glob("webgpu-*.txt")]
    return (
        " ".join(ended.output.split()),
        json.loads((folder / "r.json").read_text()),
        [k for of in kernels for k in of],
    )


def test_kernels_and_report(tmp_path: Path) -> None:
    text, report, kernels = built(residual(16, 24), tmp_path)
    assert "arithmetic in float16: 2 of 2 kernels with float16 results, with errors of up to" in text
    layers = report["targets"]["webgpu"]["arithmetic"]
    assert [n for x in layers for n in x["nodes"] if n in ("first", "second", "last")] == ["first", "second"]
    assert all(0 < x["error"] <= LARGEST_ERROR and not x["kept"] for x in layers)
    found = {k["name"]: k["source"] for k in kernels}
    for layer in layers:
        source = found[layer["kernel"]]
        assert HALF.search(source), source
        assert re.search(r"(\$[A-Y]0)(?:\+=|=\1\+)", source)  # sums, by pack_source's names
        assert not re.search(r"var \$[A-Y]=vec4h", source)
        assert "65504" not in source


def test_other_targets_are_those_of_f16(tmp_path: Path) -> None:
    onnx.save(residual(16, 16), tmp_path / "model.onnx")
    contents = []
    for precision in ("f16", "f16-fast"):
        out = tmp_path / precision
        options = ["--precision", precision, "--targets", "webgl,wasm"]
        ended = CliRunner().invoke(main, [str(tmp_path / "model.onnx"), "--out", str(out), *options])
        assert ended.exit_code == 0, ended.output
        assert "arithmetic" not in ended.output
        contents.append({path.name: path.read_bytes() for path in out.iterdir()})
    assert contents[0] == contents[1]


@settings(max_examples=3, deadline=None)
@given(st.integers(5, 40), st.integers(9, 40), st.integers(0, 9))
def test_networks_of_any_size(channels: int, side: int, seed: int) -> None:
    need_driver("webgpu", "shader-f16")
    proto = residual(channels, side)
    made = webnn_compile.compile(proto, target="webgpu", precision="f16-fast")
    feeds = {"x": random((1, 3, side, side), seed)}
    (got,), (want,) = made.run(feeds).values(), onnxruntime_results(proto, feeds).values()
    assert largest_error(got, want) <= HALF_TOLERANCE


def maps(scale: float, *, offset: float = 0.0) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Two products with arithmetic between them, on values of about this scale."""
    nodes = [
        node("MatMul", ["x", "w"], ["a"], "product"),
        node("Add", ["a", "c"], ["b"], "moved"),
        node("Sub", ["b", "c"], ["d"], "back"),
        node("MatMul", ["d", "v"], ["y"]),
    ]
    w = random((64, 128), 1) / 8 * scale
    weights = {"w": w, "c": np.full(128, offset, np.float32), "v": random((128, 32), 2) / max(scale, 1)}
    return model(nodes, {"x": [64, 64]}, ["y"], weights), {"x": random((64, 64), 5)}


@pytest.mark.parametrize(
    ("scale", "offset", "why"),
    [
        (1.0, 0.5, ""),
        (8000.0, 1.0, "values of 3.*: float16 ends at 65504, and 8 times as much has to fit"),
        (1.0, 300.0, f"its error of .* is above {LARGEST_ERROR:.0e}"),
        (1e-6, 0.001, f"its error of .* is above {LARGEST_ERROR:.0e}"),
    ],
    ids=["usual", "large", "cancelled", "subnormal"],
)
def test_what_float16_cannot_compute_stays(tmp_path: Path, scale: float, offset: float, why: str) -> None:
    proto, feeds = maps(scale, offset=offset)
    text, report, kernels = built(proto, tmp_path)
    (layer,) = report["targets"]["webgpu"]["arithmetic"]
    assert re.match(why, layer["kept"]) if why else not layer["kept"]
    (source,) = (k["source"] for k in kernels if k["name"] == layer["kernel"])
    assert ("65504" in source) == bool(why)
    if why:
        assert f"in float32: product+moved+back: {layer['kept']}" in text
    need_driver("webgpu", "shader-f16")
    made = webnn_compile.compile(proto, target="webgpu", precision="f16-fast")
    assert isinstance(made, DeviceModel)
    (got,), (want,) = made.run(feeds).values(), onnxruntime_results(proto, feeds).values()
    if offset < 300:
        assert largest_error(got, want) <= HALF_TOLERANCE


def test_sizes_that_vary(tmp_path: Path) -> None:
    """Kernels compute in float16 where the largest and the smallest sizes allow it."""
    proto = residual(16, 24)
    for d, name in ((0, "batch"), (2, "height")):
        proto.graph.input[0].type.tensor_type.shape.dim[d].dim_param = name
    text, report, kernels = built(proto, tmp_path, "--dim", "batch=1..3", "--dim", "height=5..24")
    assert "arithmetic in float16: 2 of 2 kernels with float16 results" in text
    found = {k["name"]: k["source"] for k in kernels}
    for layer in report["targets"]["webgpu"]["arithmetic"]:
        assert 0 < layer["error"] <= LARGEST_ERROR
        assert HALF.search(found[layer["kernel"]])
    need_driver("webgpu", "shader-f16")
    made = webnn_compile.compile(
        proto, target="webgpu", precision="f16-fast", dims={"batch": (1, 3), "height": (5, 24)}
    )
    for batch, height in ((1, 5), (2, 17), (3, 24)):
        feeds = {"x": random((batch, 3, height, 24), height)}
        (got,), (want,) = made.run(feeds).values(), onnxruntime_results(proto, feeds).values()
        assert largest_error(got, want) <= HALF_TOLERANCE


@pytest.mark.parametrize(("least", "kept"), [(1, True), (16, False)])
def test_the_smallest_size_counts(tmp_path: Path, least: int, kept: bool) -> None:
    """Differences of sums that are beyond what float16 holds only where few elements are left."""
    nodes = [
        node("MatMul", ["x", "w"], ["a"], "product"),
        node("Shape", ["x"], ["s"], start=0, end=1),
        node("Cast", ["s"], ["n"], to=onnx.TensorProto.FLOAT),
        node("Div", ["c", "n"], ["d"]),
        node("Add", ["a", "d"], ["b"]),
        node("Sub", ["b", "d"], ["e"]),
        node("MatMul", ["e", "v"], ["y"], "last"),
    ]
    weights = {"w": random((64, 256), 1) / 8, "c": np.float32([60.0]), "v": random((256, 32), 2)}
    proto = model(nodes, {"x": ("n", 64)}, ["y"], weights, opset=15)
    _, report, _ = built(proto, tmp_path, "--dim", f"n={least}..256")
    (layer,) = (x for x in report["targets"]["webgpu"]["arithmetic"] if "product" in x["nodes"])
    assert bool(layer["kept"]) is kept


def test_sizes_that_a_run_computes(tmp_path: Path) -> None:
    """As many rows as an input says: their number is read from the run that is measured."""
    nodes = [
        node("ReduceSum", ["x"], ["s"], keepdims=1),
        node("Cast", ["s"], ["n"], to=onnx.TensorProto.INT64),
        node("Abs", ["n"], ["m"]),
        node("Slice", ["u", "zero", "m", "zero"], ["g"]),
        node("MatMul", ["g", "w"], ["a"], "product"),
        node("Mul", ["a", "half"], ["b"]),
        node("Relu", ["b"], ["c"]),
        node("MatMul", ["c", "v"], ["y"]),
    ]
    weights = {
        "u": random((128, 64), 3),
        "w": random((64, 64), 1) / 8,
        "v": random((64, 8), 2),
        "half": np.float32(0.5),
        "zero": np.int64([0]),
    }
    text, report, _ = built(model(nodes, {"x": [128]}, ["y"], weights), tmp_path)
    assert "arithmetic in float16: 1 of 1 kernels" in text
    assert all(not x["kept"] for x in report["targets"]["webgpu"]["arithmetic"])


def test_loops_and_branches_are_not_measured(tmp_path: Path) -> None:
    inside = onnx.helper.make_graph(
        [node("Relu", ["m"], ["r"])], "then", [], [onnx.helper.make_empty_tensor_value_info("r")]
    )
    other = onnx.helper.make_graph(
        [node("Neg", ["m"], ["q"])], "else", [], [onnx.helper.make_empty_tensor_value_info("q")]
    )
    nodes = [
        node("ReduceMax", ["x"], ["big"], keepdims=0),
        node("Greater", ["big", "one"], ["c"]),
        node("MatMul", ["x", "w"], ["m"]),
        onnx.helper.make_node("If", ["c"], ["y"], then_branch=inside, else_branch=other),
    ]
    proto = model(nodes, {"x": [64, 64]}, ["y"], {"one": np.float32(1), "w": random((64, 128))})
    text, _, _ = built(proto, tmp_path)
    assert "all arithmetic is float32: loops and branches vary between runs, so nothing was measured" in text


def test_masks_with_infinities_stay_float32() -> None:
    need_driver("webgpu", "shader-f16")
    mask = np.where(np.random.default_rng(0).random((96, 96)) < 0.3, np.float32(-np.inf), np.float32(0))
    mask[:, 0] = 0
    nodes = [node("Add", ["x", "m"], ["a"]), node("Softmax", ["a"], ["y"], axis=-1)]
    proto = model(nodes, {"x": [96, 96]}, ["y"], {"m": mask})
    feeds = {"x": random((96, 96), 1)}
    made = webnn_compile.compile(proto, target="webgpu", precision="f16-fast")
    (got,), (want,) = made.run(feeds).values(), onnxruntime_results(proto, feeds).values()
    assert largest_error(got, want) <= HALF_TOLERANCE


def test_a_search_is_told_to_take_f16(tmp_path: Path) -> None:
    from webnn_compile.driver.options import Options
    from webnn_compile.tune.problem import Problem

    onnx.save(residual(8, 8), tmp_path / "model.onnx")
    with pytest.raises(InputError, match="search with --precision f16"):
        Problem(tmp_path / "model.onnx", "webgpu", Options(targets=("webgpu",), precision="f16-fast"))


@pytest.mark.parametrize("seed", [3, 12, 86])
def test_random_graphs_with_small_values_too(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads that only a guard around them keeps in bounds, as in seed 86, are measured, too."""
    need_driver("webgpu", "shader-f16")
    monkeypatch.setattr("webnn_compile.gpu.choose_halves.FEW", 0)
    graph = random_graph(seed)
    proto = graph.model()
    got = webnn_compile.compile(proto, target="webgpu", precision="f16-fast").run(graph.inputs)
    want = onnxruntime_results(proto, graph.inputs)
    assert max(largest_error(got[name], value) for name, value in want.items()) <= HALF_TOLERANCE
