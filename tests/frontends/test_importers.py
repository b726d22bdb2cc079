"""The table of importers is the only place that lists formats: by suffix and first bytes, with errors that say what to
do."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from onnx_models import model, node, random
from webnn_compile.driver.build import build
from webnn_compile.driver.options import Options
from webnn_compile.errors import InputError
from webnn_compile.frontends.importers import IMPORTERS, Importer, describe_model, find_importer, import_model
from webnn_compile.frontends.model_card import ModelCard
from webnn_compile.frontends.model_inputs import ModelInputs
from webnn_compile.frontends.onnx import import_model as import_onnx

PROTO = model([node("Relu", ["x"], ["y"])], {"x": [2, 3]}, ["y"])
X = random((2, 3))
NAMES = ", ".join(i.name for i in IMPORTERS)


def refused(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        webnn_compile.compile(given)


@pytest.mark.parametrize("name", ["net.onnx", "net.ONNX", "net", "net.pb", "net.pt"])
def test_a_file_is_known_by_its_first_bytes(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(PROTO.SerializeToString())
    for given in (path, str(path), path.read_bytes(), PROTO):
        assert [n.op for n in import_model(given).nodes] == ["Relu"]


@pytest.mark.parametrize("first", [f for f in onnx.ModelProto.DESCRIPTOR.fields if not f.name.startswith("config")])
def test_a_model_may_begin_with_any_field(first: Any) -> None:
    """Protobuf has no order."""
    head = onnx.ModelProto()
    value = getattr(head, first.name)
    if first.is_repeated:
        value.add()
    elif first.message_type is not None:
        value.SetInParent()
    else:
        setattr(head, first.name, "text" if isinstance(value, str) else 1)
    assert find_importer(head.SerializeToString()).name == "ONNX"


@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        (
            "net.pt",
            b"PK\x03\x04 rest",
            r"a zip archive \(perhaps a PyTorch checkpoint\); unpack it .*, or export .* torch\.onnx\.export",
        ),
        ("net.pt", b"some words", r"a zip archive \(perhaps a PyTorch checkpoint\); unpack it .*, or export"),
        ("net.bin", b"\x80\x02}q\0", r"a Python pickle .*; export the model to ONNX, with torch\.onnx\.export"),
        ("net.safetensors", b'\x08\x02\0\0\0\0\0\0{"a":{}}', "weights without a model.*; export"),
        ("net.ort", b"\x1c\0\0\0ORTM rest", r"a model in onnxruntime's own format; give the \.onnx file"),
        ("net.joblib", b"\x80\x05\x95 rest", r"a Python pickle \(perhaps a model of scikit-learn\); .*skl2onnx"),
        (
            "net.txt",
            b"tree\nversion=v4\n",
            "a model of LightGBM; convert it to ONNX, with onnxmltools.convert_lightgbm",
        ),
        ("net.ubj", b"{L\0\0\0\0\0\0\0\x07learner{", "a model of XGBoost; .*onnxmltools.convert_xgboost"),
        ("net.gguf", b"GGUF\x03\0\0\0", r"weights of a language model \(GGUF\); export"),
        ("net.xml", b"<?xml version='1.0'?>\n<net>", r"XML \(perhaps a model of OpenVINO\); give the model"),
        ("cat.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF", r"a picture \(JPEG\); give the file of the model"),
        ("cat.webp", b"RIFF\x24\0\0\0WEBPVP8 ", r"a picture \(WebP\); give the file of the model"),
        ("paper.pdf", b"%PDF-1.7", r"a document \(PDF\); give the file of the model"),
        ("page.html", b"\n <!DOCTYPE html>", "a text file, .*; download the model again"),
        (
            "pointer",
            b"version https://git-lfs.github.com/spec/v1\n",
            "a Git LFS pointer.*; fetch it with `git lfs pull`",
        ),
    ],
)
def test_other_formats_say_what_to_do(name: str, data: bytes, what: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    refused(tmp_path / name, rf"^{name} is not an ONNX, TFLite, .* or \w+ model but {what}")
    if data != b"some words":
        refused(data, rf"^the model is not an ONNX, TFLite, .* or \w+ model but {what}")


def test_json_of_another_format_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "net.json").write_text('{"learner":{"attributes":{}}}')
    message = r"^net\.json is not a TensorFlow\.js model but a model of XGBoost; .*onnxmltools.convert_xgboost"
    refused(tmp_path / "net.json", message)


def test_what_nothing_knows_gets_the_supported_formats(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("just some words")
    message = (
        r"is not an ONNX, TFLite, Keras, .* or PyTorch model; give a file of ONNX \(\.onnx\), TFLite \(\.tflite\), "
        r"Keras \(\.keras, \.h5, \.hdf5\), .*PyTorch \(\.pt2\), or export the model to ONNX, with torch\.onnx\.export"
    )
    refused(tmp_path / "notes.txt", rf"^notes\.txt {message}")
    refused(bytes(100), f"^the model {message}")
    refused(tmp_path, "is a folder without a model; give a folder that holds saved_model")
    refused(tmp_path / "none.tflite", r"none\.tflite: there is no such file")
    refused(7, r"an object of type int is no model; give a path, bytes, or a model of ONNX \(\.onnx\), TFLite")


@pytest.mark.parametrize("suffix", sorted({s for i in IMPORTERS for s in i.suffixes}))
def test_a_pointer_of_git_lfs_has_the_suffix_of_its_file(suffix: str, tmp_path: Path) -> None:
    (tmp_path / f"net{suffix}").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    refused(
        tmp_path / f"net{suffix}", rf"net\{suffix} is not an? .* but a Git LFS pointer.*; fetch it with `git lfs pull`"
    )


def test_weights_that_git_lfs_keeps(tmp_path: Path) -> None:
    (tmp_path / "net.prototxt").write_text('layer { name: "r" type: "ReLU" bottom: "x" top: "y" }')
    (tmp_path / "net.caffemodel").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    refused(tmp_path / "net.prototxt", r"net\.caffemodel is a Git LFS pointer.*; fetch it with `git lfs pull`")


def test_a_packed_folder_is_unpacked_first(tmp_path: Path) -> None:
    for name in ("net.mlpackage", "net.pb"):
        with zipfile.ZipFile(tmp_path / name, "w") as file:
            file.writestr("net/saved_model.pb", b"")
        refused(
            tmp_path / name, rf"{name} is not a .* model but a zip archive .*; unpack it and give the file or folder"
        )


def test_a_part_of_a_package(tmp_path: Path) -> None:
    package = tmp_path / "net.mlpackage"
    package.mkdir()
    (package / "Manifest.json").write_text("{}")
    refused(package / "Manifest.json", r"is a part of a Core ML model; give its folder: .*net\.mlpackage$")
    (package / "Manifest.json").unlink()
    refused(package, r"is a folder without a model; give a folder that holds .* Manifest\.json \(Core ML\)")


def test_an_importer_in_the_table_is_used_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(given: Any, shapes: Any, memory: Any) -> Any:
        """Operators by name, one after the other."""
        words = given["ops"] if isinstance(given, dict) else Path(given).read_text().split()[1:]
        values = ["x", *(f"v{i}" for i in range(1, len(words))), "y"]
        nodes = [node(op, [values[i]], [values[i + 1]]) for i, op in enumerate(words)]
        return import_onnx(model(nodes, {"x": (2, "n")}, ["y"]), shapes, memory)

    def describe(given: Any, _: Any) -> ModelCard:
        words = Path(given).read_text().split()[1:]
        return ModelCard(Path(given).name, "words", 0, dict.fromkeys(words, 1), 0, (), ())

    words = Importer("Words", (".words",), ((0, b"WORDS"),), lambda given: isinstance(given, dict), load, describe)
    monkeypatch.setattr("webnn_compile.frontends.importers.IMPORTERS", [*IMPORTERS, words])
    for name in ("net.words", "net"):
        (tmp_path / name).write_text("WORDS Relu Neg")
    given: Any
    for given in (tmp_path / "net.words", tmp_path / "net", {"ops": ["Relu", "Neg"]}):
        np.testing.assert_array_equal(webnn_compile.compile(given, shapes={"x": (2, 3)}).run({"x": X})["y"], -X.clip(0))
    options = Options(ModelInputs({"x": (2, 3)}), targets=("wasm",))
    assert describe_model(tmp_path / "net").operators == {"Relu": 1, "Neg": 1}
    report = build(tmp_path / "net.words", tmp_path / "bundle", options, lambda _: None, lambda _: None)
    assert report.operators == {"Relu": 1, "Neg": 1}
    refused(
        b"just some words",
        rf"is not an {NAMES} or Words model; give .* PyTorch \(\.pt2\), Words \(\.words\)",
    )
    refused(b"PK\x03\x04", f"is not an {NAMES} or Words model but a zip archive")
