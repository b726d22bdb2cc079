"""The example is what its folder says: a small ResNet18, as accurate as recorded, and a page that sees as it learnt."""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
from collections import Counter
from math import cos, pi, sin
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from click.testing import CliRunner
from webnn_compile.cli.command import main

ROOT = Path(__file__).resolve().parent.parent
DIGITS = ROOT / "examples" / "digits"
MODEL = DIGITS / "resnet18_digits.onnx"
Stroke = list[tuple[float, float]]


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    return runpy.run_path(str(DIGITS / "digits.py"))


@pytest.fixture(scope="module")
def graph() -> onnx.GraphProto:
    model = onnx.load(MODEL)
    onnx.checker.check_model(model, full_check=True)
    return model.graph


def classify(images: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(str(MODEL), providers=["CPUExecutionProvider"])
    return np.concatenate([session.run(["logits"], {"image": image[None]})[0] for image in images]).argmax(1)


def test_file_is_under_3_megabytes() -> None:
    assert MODEL.stat().st_size < 3_000_000


def test_topology_is_that_of_resnet18(graph: onnx.GraphProto) -> None:
    shapes = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    convolutions = [node for node in graph.node if node.op_type == "Conv"]
    strides = [next(tuple(a.ints) for a in node.attribute if a.name == "strides") for node in convolutions]
    kernels = [shapes[node.input[1]] for node in convolutions]
    kinds = Counter((kernel[2:], stride) for kernel, stride in zip(kernels, strides, strict=True))
    assert kinds == {((3, 3), (1, 1)): 14, ((3, 3), (2, 2)): 3, ((1, 1), (2, 2)): 3}
    assert sorted({kernel[0] for kernel in kernels}) == [12, 24, 48, 96]
    counts = Counter(node.op_type for node in graph.node if node.op_type != "Identity")
    assert counts == {
        "Conv": 20, "BatchNormalization": 20, "Relu": 17, "Add": 8, "GlobalAveragePool": 1, "Flatten": 1, "Gemm": 1,
    }  # fmt: skip


def test_every_convolution_is_followed_by_its_batch_normalisation(graph: onnx.GraphProto) -> None:
    normalised = {node.input[0] for node in graph.node if node.op_type == "BatchNormalization"}
    assert normalised == {node.output[0] for node in graph.node if node.op_type == "Conv"}


def test_recorded_accuracy_is_measured_again(data: dict[str, Any]) -> None:
    record = json.loads((DIGITS / "accuracy.json").read_text())
    train_x, _, test_x, test_y = data["load_split"]()
    assert record["split"] == data["SPLIT"]
    assert (record["train_images"], record["test_images"]) == (len(train_x), len(test_x))
    accuracy = np.mean(classify(data["preprocess"](test_x)) == test_y)
    assert round(float(accuracy), 4) == record["test_accuracy"] >= 0.97


def test_samples_are_held_out_images_that_the_model_reads(data: dict[str, Any]) -> None:
    samples = json.loads((DIGITS / "samples.json").read_text())["samples"]
    assert [sample["label"] for sample in samples] == [*range(10), *range(10)]
    _, _, test_x, test_y = data["load_split"]()
    held_out = np.round(data["preprocess"](test_x) * 255).astype(int).reshape(len(test_x), -1)
    for sample in samples:
        (same,) = np.nonzero((held_out == sample["pixels"]).all(1))
        assert test_y[same].tolist() == [sample["label"]]
    images = np.array([sample["pixels"] for sample in samples], np.float32).reshape(-1, 1, 32, 32) / np.float32(255)
    assert classify(images).tolist() == [*range(10), *range(10)]


def arc(x: float, y: float, rx: float, ry: float, start: float, end: float) -> Stroke:
    turns = [(start + (end - start) * i / 24) * pi / 180 for i in range(25)]
    return [(x + rx * cos(t), y + ry * sin(t)) for t in turns]


DRAWINGS: list[list[Stroke]] = [
    [arc(100, 100, 60, 80, -90, 270)],
    [[(70, 60), (100, 20), (100, 180)]],
    [[*arc(100, 60, 45, 40, 190, 390), (50, 180), (150, 180)]],
    [[*arc(90, 60, 45, 40, 200, 450), *arc(90, 140, 55, 40, -90, 150)]],
    [[(110, 20), (40, 120), (160, 120)], [(120, 70), (120, 180)]],
    [[(140, 20), (70, 20), (65, 90), *arc(95, 130, 50, 50, -110, 140)]],
    [[(130, 20), (80, 60), (55, 120), *arc(100, 135, 45, 45, 180, 540)]],
    [[(40, 20), (160, 20), (90, 180)]],
    [arc(100, 60, 40, 40, -90, -450), arc(100, 140, 50, 40, -90, 270)],
    [[*arc(95, 65, 45, 45, 0, -360), (140, 65), (140, 180)]],
]

INK = """
import { countInk, enlarge } from %s;
const toPoints = (stroke) => stroke.map(([x, y]) => ({ x, y }));
const drawings = JSON.parse(process.argv[1]).map((drawing) => drawing.map(toPoints));
const cells = drawings.map(countInk);
console.log(JSON.stringify({ cells, images: cells.map((c) => [...enlarge(c)]) }));
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    """Images by demo-site/ink.js of the ten drawings, the first at a quarter of its size, a dot and two lines."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed: it runs demo-site/ink.js")
    small = [[(x / 4 + 900, y / 4) for x, y in stroke] for stroke in DRAWINGS[0]]
    drawings = [*DRAWINGS, small, [[(5, 5)]], [[(0, 0), (0, 9)]], [[(0, 0), (9, 0)]]]
    script = INK % json.dumps((ROOT / "demo-site" / "ink.js").as_uri())
    command = [node, "--input-type=module", "--eval", script, "--", json.dumps(drawings)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path_factory.mktemp("node"))
    result = json.loads(done.stdout)
    return {name: np.array(result[name], np.float32) for name in ("cells", "images")}


def test_page_enlarges_as_the_training_data_was(seen: dict[str, np.ndarray], data: dict[str, Any]) -> None:
    expected = data["preprocess"](seen["cells"].reshape(-1, 8, 8))
    assert np.array_equal(seen["images"].reshape(expected.shape), expected)


def test_page_sets_drawings_as_the_data_is_set(seen: dict[str, np.ndarray]) -> None:
    cells = seen["cells"].reshape(-1, 8, 8)
    assert cells.min() >= 0
    assert cells.max() == 16
    assert np.array_equal(cells[10], cells[0]), "size and place of a drawing do not matter"
    dot, upright, level = cells[11:]
    assert np.count_nonzero(dot) == 4
    assert upright.sum(0).nonzero()[0].tolist() == [3, 4]
    assert (upright.sum(1) > 0).all()
    assert level.sum(1).nonzero()[0].tolist() == [3, 4]


def test_model_reads_ten_drawings(seen: dict[str, np.ndarray]) -> None:
    assert classify(seen["images"][:10].reshape(-1, 1, 32, 32)).tolist() == list(range(10))


def test_the_records_of_the_example_apply(tmp_path: Path) -> None:
    """Records of processors apply, as in the page's bundle. Where this fails after a change of the compiler: tune
    again, by `webnn-tune examples/digits/resnet18_digits.onnx --target wasm --records FILE`, in both browsers."""
    command = ["--out", str(tmp_path / "out"), "--targets", "wasm", "--report", str(tmp_path / "r.json")]
    records = ["--records", str(DIGITS / "records.jsonl"), "--for-device", "on Linux"]
    result = CliRunner().invoke(main, [str(MODEL), *command, *records], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    used = json.loads((tmp_path / "r.json").read_text())["records"]["wasm"]
    assert used["kernels"][0] + used["layers"][0] >= 3
    assert [name.partition(" ")[0] for name in used["devices"]] == ["Chrome", "Firefox"]
    assert used["gain"] < 1
    assert not [note for note in used["notes"] if "tune again" in note]
