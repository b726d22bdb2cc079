"""The command line refuses a damaged model of each format by one message, and writes nothing."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from caffe_models import write_model as write_caffe
from cli.command import network, run
from coreml_models import Network, Program
from mxnet_models import Symbol
from mxnet_models import write_model as write_mxnet
from tensorflow_models import branches, dense
from webnn_compile.frontends.importers import IMPORTERS

Array = np.ndarray
ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)
TFJS = Path(__file__).parents[1] / "tfjs_models" / "several"
Made = tuple[Path, Path]
"""The path that the command line is given, and the file that is damaged."""


def written(path: Path, data: bytes) -> Made:
    path.write_bytes(data)
    return path, path


def onnx_file(folder: Path) -> Made:
    return written(folder / "net.onnx", network().SerializeToString())


def tflite(folder: Path) -> Made:
    from tflite_models import Writer

    writer = Writer()
    x, w = writer.input("x", "float32", (2, 3)), writer.tensor("w", "float32", (4, 3), ROWS)
    y = writer.tensor("y", "float32", (2, 4))
    writer.operator("FULLY_CONNECTED", [x, w, -1], [y], "FullyConnectedOptions")
    writer.output(y)
    return written(folder / "net.tflite", writer.bytes())


def keras_layers() -> str:
    start = {"class_name": "InputLayer", "config": {"batch_shape": [None, 3], "dtype": "float32", "name": "x"}}
    layer = {"class_name": "Dense", "config": {"name": "d", "units": 4, "activation": "relu", "dtype": "float32"}}
    return json.dumps({"class_name": "Sequential", "config": {"name": "net", "layers": [start, layer]}})


def hdf5(folder: Path) -> Made:
    h5py = pytest.importorskip("h5py")
    path = folder / "net.h5"
    with h5py.File(path, "w") as file:
        file.attrs["keras_version"], file.attrs["backend"] = b"2.4.0", b"tensorflow"
        file.attrs["model_config"] = keras_layers().encode()
        group = file.create_group("model_weights")
        group.attrs["layer_names"] = [b"d"]
        group.create_group("d").attrs["weight_names"] = [b"d/kernel"]
        group["d/d/kernel"] = ROWS.T
    return path, path


def keras(folder: Path) -> Made:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as files:
        files.writestr("metadata.json", json.dumps({"keras_version": "3.8.0"}))
        files.writestr("config.json", keras_layers())
        files.writestr("model.weights.h5", b"\x89HDF\r\n\x1a\n and no more")
    return written(folder / "net.keras", data.getvalue())


def tensorflow_js(folder: Path) -> Made:
    for name in ("model.json", "model.weights.bin"):
        (folder / name).write_bytes((TFJS / name).read_bytes())
    return folder / "model.json", folder / "model.weights.bin"


def saved_model(folder: Path) -> Made:
    net = dense(folder / "net")
    return net, net / "variables" / "variables.data-00000-of-00001"


def frozen_graph(folder: Path) -> Made:
    return written(folder / "net.pb", branches())


def package(folder: Path) -> Made:
    program = Program()
    x = program.input("x", "float32", (2, 3))
    weights = program.stored(ROWS.tobytes(), "float32", (4, 3))
    (y,) = program.op("linear", [("float32", (2, 4))], x=x, weight=weights)
    program.output(y)
    path = program.package(folder / "net.mlpackage")
    return path, path / "Data" / "com.apple.CoreML" / "weights" / "weight.bin"


def coreml(folder: Path) -> Made:
    net = Network()
    x = net.input("x", (3,))
    net.layer("innerProduct", [x], ["y"], inputChannels=3, outputChannels=4, weights=ROWS)
    net.output("y", (4,))
    return written(folder / "net.mlmodel", net.bytes())


def caffe(folder: Path) -> Made:
    text = """
      layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 } } }
      layer { name: "y" type: "InnerProduct" bottom: "x" top: "y"
              inner_product_param { num_output: 4 bias_term: false } }
    """
    return write_caffe(folder, text, {"y": [ROWS]}), folder / "net.caffemodel"


def mxnet(folder: Path) -> Made:
    s = Symbol()
    y = s.node("FullyConnected", "y", [s.variable("x"), s.variable("w")], num_hidden=4, no_bias=True)
    return write_mxnet(folder, s.json(y), {"arg:w": ROWS}), folder / "net-0000.params"


def program_of_torch(folder: Path) -> Made:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as files:
        files.writestr("archive_format", "pt2")
        files.writestr("models/model.json", "{}")
    return written(folder / "net.pt2", data.getvalue())


FORMATS: dict[str, tuple[Callable[[Path], Made], str]] = {
    "ONNX": (onnx_file, "--dim batch=1"),
    "TFLite": (tflite, ""),
    "Keras in HDF5": (hdf5, "--dim batch=1"),
    "Keras": (keras, "--dim batch=1"),
    "TensorFlow.js": (tensorflow_js, "--dim batch=1"),
    "TensorFlow, a folder": (saved_model, "--dim x_0=1"),
    "TensorFlow": (frozen_graph, ""),
    "Core ML, a package": (package, ""),
    "Core ML": (coreml, ""),
    "Caffe": (caffe, ""),
    "MXNet": (mxnet, "--shape x=2x3"),
    "PyTorch": (program_of_torch, ""),
}
WHOLE = tuple(name for name in FORMATS if name not in ("Keras", "PyTorch"))
"""Formats whose files are whole before: the others have a part that is damaged from the beginning, or need PyTorch."""


def test_these_are_all() -> None:
    assert {i.name for i in IMPORTERS} <= set(FORMATS)


@pytest.mark.parametrize("name", FORMATS)
def test_a_truncated_file(name: str, tmp_path: Path) -> None:
    make, options = FORMATS[name]
    given, file = make(tmp_path)
    if name in WHOLE:
        assert run(given, "--inspect").exit_code == 0
    data = file.read_bytes()
    file.write_bytes(data[: len(data) * 2 // 3])
    before = {p: p.is_dir() or p.read_bytes() for p in tmp_path.rglob("*")}
    result = run(given, *options.split(), "--targets", "wasm", "--out", tmp_path / "bundle")
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    assert result.output.count("error: ") == 1, result.output
    assert any(p.name in result.output for p in (given, file)) or name == "PyTorch", result.output
    assert {p: p.is_dir() or p.read_bytes() for p in tmp_path.rglob("*")} == before
