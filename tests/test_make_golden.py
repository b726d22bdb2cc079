"""Results by which a bundle's page tests backends: what is stored, for which models, and how large it is."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from cli.command import EXAMPLE, run
from onnx import TensorProto
from onnx_models import model, node, onnxruntime_results, random
from webnn_compile.driver import make_golden as module
from webnn_compile.dtypes import F32
from webnn_compile.values.seeded import seeded_values


def golden_of(proto: onnx.ModelProto | Path, folder: Path, *options: str) -> Any:
    """The stored file; None without one."""
    path = proto if isinstance(proto, Path) else folder / "m.onnx"
    if not isinstance(proto, Path):
        onnx.save(proto, path)
    ended = run(path, "--out", folder / "out", "--targets", "wasm", "--golden", "on", "--force", *options)
    assert ended.exit_code == 0, ended.output
    found = list((folder / "out").glob("golden-*.txt"))
    page = (folder / "out" / "index.html").read_text()
    assert f'data-golden="{f"./{found[0].name}" if found else ""}"' in page
    return json.loads(found[0].read_text()) if found else None


def floats(output: Any) -> np.ndarray:
    three = np.frombuffer(b64decode(output["floats"]), np.uint8).reshape(-1, 3)
    return np.pad(three, ((0, 0), (1, 0))).copy().view(np.float32)[:, 0]


def test_results_are_those_of_onnxruntime(tmp_path: Path) -> None:
    """By inputs that anyone can make again. Of many elements some are kept, and the mean of the squares of all."""
    proto = model([node("MatMul", ["x", "w"], ["y"], "product")], {"x": [64, 32]}, ["y"], {"w": random((32, 48))})
    found = golden_of(proto, tmp_path)
    y = onnxruntime_results(proto, {"x": seeded_values(F32, (64, 32), found["seed"])})["y"]
    output = found["outputs"]["y"]
    assert (output["count"], output["tolerance"]) == (64 * 48, 1e-4)
    kept = y.ravel()[(2 * np.arange(1000) + 1) * y.size // 2000]
    np.testing.assert_allclose(floats(output), kept, rtol=2**-15)
    np.testing.assert_allclose(output["rms"], np.sqrt(np.mean(y.astype(np.float64) ** 2)), rtol=1e-5)


def test_products_of_words_by_instructions_of_wasm(tmp_path: Path) -> None:
    """The model is lowered for wasm, and its reference computed by this processor, whose instructions are others; of
    columns whose number varies some are left over by the widest vectors."""
    quanta = [node("DynamicQuantizeLinear", [x], [f"{x}q", f"{x}s", f"{x}z"]) for x in ("a", "b")]
    product = node("MatMulInteger", ["aq", "bq", "az", "bz"], ["y"])
    proto = model([*quanta, product], {"a": [2, 40, 32], "b": [2, 32, "columns"]}, ["y"])
    (output,) = golden_of(proto, tmp_path, "--dim", "columns=1..64")["outputs"].values()
    shapes = {"a": (2, 40, 32), "b": (2, 32, module.SIZE)}
    y = onnxruntime_results(
        proto, {n: seeded_values(F32, s, module.SEED + i) for i, (n, s) in enumerate(shapes.items())}
    )
    kept = y["y"].ravel()[(2 * np.arange(1000) + 1) * y["y"].size // 2000]
    assert output == {"count": y["y"].size, "integers": " ".join(map(str, kept))}


def test_integers_are_exact_and_indices_fit_their_table(tmp_path: Path) -> None:
    table = random((9, 4))
    nodes = [node("Gather", ["table", "i"], ["rows"]), node("ArgMax", ["rows"], ["best"], axis=1, keepdims=0)]
    proto = model(nodes, {"i": [6]}, ["best"], {"table": table}, dtype=TensorProto.INT64)
    found = golden_of(proto, tmp_path)
    assert found["ranges"] == {"i": [0, 9]}
    assert set(found["outputs"]["best"]) == {"count", "integers"}
    assert len(found["outputs"]["best"]["integers"].split()) == 6


def test_tolerances_follow_precision(tmp_path: Path) -> None:
    found = golden_of(EXAMPLE, tmp_path, "--precision", "f16")
    assert found["outputs"]["logits"]["tolerance"] == 0.02
    assert golden_of(EXAMPLE, tmp_path)["outputs"]["logits"]["tolerance"] == 1e-3  # by Winograd's algorithm


def test_pictures_and_answers(tmp_path: Path) -> None:
    """Words of a small picture, and scores: which of two nearly equal classes comes first is open."""
    (tmp_path / "grey.json").write_text('{"colours": "grey"}')
    found = golden_of(EXAMPLE, tmp_path, "--picture", f"image={tmp_path / 'grey.json'}", "--answer", "classify,top=3")
    assert found["ranges"] == {}
    assert set(found["sizes"].values()) == {24}
    scores = floats(found["outputs"]["logits"])
    assert len(scores) == 3
    assert 0 < scores.sum() <= 1.001


@pytest.mark.parametrize("options", [["--single-file"], ["--golden", "off"]])
def test_bundles_without(tmp_path: Path, options: list[str]) -> None:
    proto = model([node("Relu", ["x"], ["y"])], {"x": [4]}, ["y"])
    assert golden_of(proto, tmp_path, *options) is None


def test_a_mask_alone_has_none(tmp_path: Path) -> None:
    """Nothing of it is compared: a test would pass whatever a backend computes."""
    (tmp_path / "plain.json").write_text("{}")
    proto = model([node("Relu", ["x"], ["y"])], {"x": [1, 3, 8, 8]}, ["y"])
    assert golden_of(proto, tmp_path, "--picture", f"x={tmp_path / 'plain.json'}", "--answer", "mask") is None


def test_a_detector_that_sees_nothing_has_none(tmp_path: Path) -> None:
    """In noise, which inputs are: a test would compare no number."""
    (tmp_path / "plain.json").write_text("{}")
    nodes = [node("Reshape", ["x", "shape"], ["a"]), node("Mul", ["a", "zero"], ["y"])]
    held = {"shape": np.array([1, 64, 3]), "zero": np.zeros(1, np.float32)}
    proto = model(nodes, {"x": [1, 3, 8, 8]}, ["y"], held)
    assert golden_of(proto, tmp_path, "--picture", f"x={tmp_path / 'plain.json'}", "--answer", "detect=yolov8") is None


def test_models_of_much_work_have_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proto = model([node("MatMul", ["x", "w"], ["y"], "product")], {"x": [8, 8]}, ["y"], {"w": random((8, 8))})
    monkeypatch.setattr(module, "MOST_WORK", 100)
    assert golden_of(proto, tmp_path) is None
