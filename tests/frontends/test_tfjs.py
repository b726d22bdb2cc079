"""TensorFlow.js's layers models: those that it wrote itself, the forms of its converter, refusals and damage."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webnn_compile
from click.testing import CliRunner
from effort import DAMAGED_FILES, effort_of
from webnn_compile.cli import main
from webnn_compile.errors import InputError, UnsupportedError
from webnn_compile.frontends.importers import describe_model, find_importer, import_model
from webnn_compile.frontends.model_inputs import model_inputs

MODELS = Path(__file__).parent.parent / "tfjs_models"
"""Written by `make_models.mjs` there, with the results of TensorFlow.js 4.22."""

RNG = np.random.default_rng(6)
KERNEL, BIAS = (RNG.uniform(-1, 1, shape).astype(np.float32) for shape in ((3, 4), (4,)))


def agrees(folder: Path, target: str = "native") -> None:
    """The results of the model in the folder are those that TensorFlow.js had."""
    path, recorded = folder / "model.json", json.loads((folder / "run.json").read_text())
    ports = describe_model(path).inputs
    feeds = {
        port.name: np.asarray(given["data"], port.dtype).reshape(given["shape"])
        for port, given in zip(ports, recorded["inputs"], strict=True)
    }
    dims = {"batch": recorded["inputs"][0]["shape"][0]}
    results = webnn_compile.compile(path, target=target, dims=dims).run(feeds).values()
    for got, want in zip(results, recorded["outputs"], strict=True):
        assert got.shape == tuple(want["shape"])
        expected = np.asarray(want["data"], np.float32).reshape(got.shape)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * max(1.0, float(np.abs(expected).max())))


@pytest.mark.parametrize("name", ["frames", "masked", "mobile", "several", "words"])
def test_as_tensorflow_js(name: str) -> None:
    agrees(MODELS / name)


def test_on_wasm() -> None:
    agrees(MODELS / "words", "wasm")


def test_every_layer_as_tensorflow_js(tmp_path: Path) -> None:
    made = subprocess.run(["node", MODELS / "make_models.mjs", tmp_path, "layers"], capture_output=True, text=True)
    if "Cannot find package '@tensorflow/tfjs'" in made.stderr:
        pytest.skip("no @tensorflow/tfjs: run `npm install --no-save @tensorflow/tfjs` in the repository")
    assert made.returncode == 0, made.stderr
    folders = sorted(tmp_path.iterdir())
    assert len(folders) > 50
    for folder in folders:
        agrees(folder)


def dense(units: int = 4, **more: Any) -> dict[str, Any]:
    config = {"name": "scores", "units": units, "activation": "relu", "trainable": True, "dtype": "float32", **more}
    return {"class_name": "Dense", "config": {"batch_input_shape": [None, 3], **config}}


def written(folder: Path, topology: Any, weights: dict[str, Any], **more: Any) -> Path:
    """A model as the converter writes it: each weight is an array, or quantised values with their entry."""
    specs: list[dict[str, Any]] = []
    data = b""
    for name, given in weights.items():
        array, options = given if isinstance(given, tuple) else (given, {})
        specs.append({"name": name, "shape": list(array.shape), "dtype": "float32", **options})
        data += array.tobytes()
    half = len(data) // 2 + 1
    (folder / "group1-shard1of2.bin").write_bytes(data[:half])
    (folder / "group1-shard2of2.bin").write_bytes(data[half:])
    paths = ["group1-shard1of2.bin", "group1-shard2of2.bin"]
    content = {"format": "layers-model", "modelTopology": topology, **more}
    path = folder / "model.json"
    path.write_text(json.dumps({**content, "weightsManifest": [{"paths": paths, "weights": specs}]}))
    return path


def converted(**more: Any) -> dict[str, Any]:
    """The topology of a converted model."""
    config = {"class_name": "Sequential", "config": {"name": "net", "layers": [dense(**more)]}}
    return {"keras_version": "2.15.0", "backend": "tensorflow", "model_config": config}


WEIGHTS = {"scores/kernel": KERNEL, "scores/bias": BIAS}


def test_a_converted_model(tmp_path: Path) -> None:
    path = written(tmp_path, converted(), WEIGHTS, generatedBy="keras v2.15.0", convertedBy="TensorFlow.js Converter")
    x = RNG.uniform(-1, 1, (2, 3)).astype(np.float32)
    model = webnn_compile.compile(path, dims={"batch": (1, 4)})
    np.testing.assert_allclose(model.run({"scores_input": x})["scores"], (x @ KERNEL + BIAS).clip(0), atol=1e-6)
    result = CliRunner().invoke(main, [str(path), "--inspect"], catch_exceptions=False)
    found = [" ".join(line.split()) for line in result.output.splitlines()]
    assert found[0].startswith("model.json: TensorFlow.js, ")
    for line in ("Written by keras v2.15.0", "Parameters 16", "Input scores_input: float32[batch, 3]", "Dense 1 all"):
        assert line in found


@pytest.mark.parametrize("stored", ["uint8", "uint16", "float16"])
def test_quantised_weights(stored: str, tmp_path: Path) -> None:
    if stored == "float16":
        data, kernel = KERNEL.astype(np.float16), KERNEL.astype(np.float16).astype(np.float32)
        quantization = {"dtype": stored, "original_dtype": "float32"}
    else:
        data = RNG.integers(0, np.iinfo(stored).max + 1, KERNEL.shape).astype(stored)
        scale = 2 / np.iinfo(stored).max
        kernel = (data * scale - 1).astype(np.float32)
        quantization = {"dtype": stored, "min": -1, "scale": scale, "original_dtype": "float32"}
    weights = {"scores/kernel": (data, {"quantization": quantization}), "scores/bias": BIAS}
    path, x = written(tmp_path, converted(), weights), RNG.uniform(-1, 1, (2, 3)).astype(np.float32)
    got = webnn_compile.compile(path, dims={"batch": 2}).run({"scores_input": x})["scores"]
    np.testing.assert_allclose(got, (x @ kernel + BIAS).clip(0), atol=1e-6)


def test_a_file_is_known_by_its_first_byte(tmp_path: Path) -> None:
    path = written(tmp_path, converted(), WEIGHTS)
    assert find_importer(path).name == find_importer(path.read_bytes()).name == "TensorFlow.js"
    with pytest.raises(InputError, match=r"keeps the data of its weightsManifest in .*; give the path of the model"):
        import_model(path.read_bytes())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {"labels": ["a", "b"]},
            r"is not a model of TensorFlow\.js: its JSON has no modelTopology; give the model\.json",
        ),
        ({"modelTopology": [1]}, "its JSON has no modelTopology"),
        ({"format": "graph-model", "modelTopology": {"node": []}}, "computes nothing: it has no outputs"),
        ({"modelTopology": {"node": [1], "library": {}}}, "is damaged: its modelTopology is not a graph of TensorFlow"),
        ({"modelTopology": {"class_name": "Mine", "config": {}}}, "is a model of the class Mine, whose code is not in"),
        ({"modelTopology": {"class_name": "Sequential", "config": {"layers": []}}}, "is damaged: .* has no layers"),
        ({"modelTopology": {"model_config": {"config": {"layers": []}}}}, "is damaged: its modelTopology"),
        ({"modelTopology": converted(), "weightsManifest": []}, "has 0 weights in the file, and needs 1 or more"),
        ({"modelTopology": converted(), "weightsManifest": {"a": 1}}, "is damaged: its weightsManifest is not one of"),
    ],
)
def test_what_is_no_layers_model(content: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps(content))
    with pytest.raises((InputError, UnsupportedError), match=rf"(?s)^(model\.json|Dense)\b.*{message}"):
        import_model(path, model_inputs(dims={"batch": 1}))
    result = CliRunner().invoke(main, [str(path), "--out", str(tmp_path / "bundle")], catch_exceptions=False)
    assert result.exit_code == 2
    assert not (tmp_path / "bundle").exists()


def changed(text: bytes, count: int) -> Iterator[bytes]:
    """Files that end early or have other bytes, and JSON of which a part is another one."""
    rng = np.random.default_rng(len(text))
    for i in range(count):
        if i % 3 == 0:
            yield text[: rng.integers(1, len(text))]
        elif i % 3 == 1:
            data = bytearray(text)
            for at in rng.integers(1, len(text), rng.integers(1, 6)):
                data[at] = rng.integers(32, 127)
            yield bytes(data)
        else:
            yield json.dumps(replaced(json.loads(text), rng)).encode()


OTHERS: tuple[Any, ...] = (None, 0, -1, 2**40, 1e300, "", "x", [], [[]], {}, True, ["scores", 0, 0])


def replaced(value: Any, rng: np.random.Generator) -> Any:
    """With one of the values inside in place of which there is another."""
    inside = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    if not inside or rng.integers(8) == 0:
        return OTHERS[rng.integers(len(OTHERS))]
    key, old = inside[rng.integers(len(inside))]
    copy = value.copy()
    copy[key] = replaced(old, rng)
    return copy


@pytest.mark.parametrize("name", ["mobile", "several", "words"])
def test_damaged_files_are_refused(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Or are models that are other ones, as where a name is."""
    path, refused = tmp_path / "model.json", 0
    (tmp_path / "model.weights.bin").write_bytes((MODELS / name / "model.weights.bin").read_bytes())
    count = DAMAGED_FILES[effort_of(request.config)]
    for data in changed((MODELS / name / "model.json").read_bytes(), count):
        path.write_bytes(data)
        try:
            import_model(path, model_inputs(dims={"batch": 1}))
        except (InputError, UnsupportedError):
            refused += 1
    assert refused >= count // 3
