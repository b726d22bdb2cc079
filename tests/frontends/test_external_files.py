"""The files that a model consists of: regular ones within its folder, and nothing else of the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import assert_close, model, node, random
from webnn_compile.errors import InputError
from webnn_compile.frontends.onnx import import_model, read_tensor
from webnn_compile.frontends.open_file import open_file
from webnn_compile.graph.evaluate import evaluate_graph

W = np.asarray([1, 2, 3, 4], np.float32)


def outside(
    name: str = "w",
    location: str = "w.bin",
    dims: tuple[int, ...] = (4,),
    kind: int = TensorProto.FLOAT,
    **entries: str,
) -> onnx.TensorProto:
    """A tensor whose elements are in another file."""
    tensor = onnx.TensorProto(name=name, data_type=kind, dims=dims, data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


def initialiser(tensor: onnx.TensorProto) -> onnx.ModelProto:
    made = model([node("Add", ["x", "w"], ["y"])], {"x": [4]}, ["y"])
    made.graph.initializer.append(tensor)
    return made


def constant(tensor: onnx.TensorProto) -> onnx.ModelProto:
    return model([node("Constant", [], ["w"], value=tensor), node("Add", ["x", "w"], ["y"])], {"x": [4]}, ["y"])


def function(tensor: onnx.TensorProto) -> onnx.ModelProto:
    body = [node("Constant", [], ["w"], value=tensor), node("Add", ["a", "w"], ["b"])]
    made = helper.make_function("my", "Fn", ["a"], ["b"], body, [helper.make_opsetid("", 17)])
    nodes = [node("Fn", ["x"], ["y"], domain="my")]
    return model(nodes, {"x": [4]}, ["y"], functions=[made], imports=[helper.make_opsetid("my", 1)])


def branch(tensor: onnx.TensorProto) -> onnx.ModelProto:
    output = helper.make_tensor_value_info("o", TensorProto.FLOAT, [4])
    graph = helper.make_graph([node("Add", ["x", "w"], ["o"])], "branch", [], [output], [tensor])
    nodes = [node("If", ["c"], ["y"], then_branch=graph, else_branch=graph)]
    return model(nodes, {"x": [4]}, ["y"], {"c": np.asarray(True)})


def sparse(tensor: onnx.TensorProto) -> onnx.ModelProto:
    made = model([node("Add", ["x", "w"], ["y"])], {"x": [4]}, ["y"])
    indices = helper.make_tensor("i", TensorProto.INT64, [4], [0, 1, 2, 3])
    made.graph.sparse_initializer.add(values=tensor, indices=indices, dims=[4])
    return made


PLACES: dict[str, Callable[[onnx.TensorProto], onnx.ModelProto]] = {
    f.__name__: f for f in (initialiser, constant, function, branch, sparse)
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "model"
    made.mkdir()
    W.tofile(made / "w.bin")
    return made


def save(proto: onnx.ModelProto, folder: Path) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


@pytest.mark.parametrize("place", PLACES)
def test_read_wherever_a_tensor_stands(
    place: str, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    x = random((4,))
    assert_close(evaluate_graph(import_model(save(PLACES[place](outside()), folder)), {"x": x}), {"y": x + W})


def safetensors(entries: dict[str, object], data: bytes) -> bytes:
    """A file of this header; its data begins after a multiple of 8 bytes."""
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + data


WEIGHTS = safetensors(
    {
        "__metadata__": {"format": "pt"},
        "other": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
        "w": {"dtype": "F32", "shape": [4], "data_offsets": [8, 24]},
    },
    bytes(8) + W.tobytes(),
)


@pytest.mark.parametrize("has_offset", [False, True])
@pytest.mark.parametrize("place", PLACES)
def test_external_data_in_a_file_of_safetensors(place: str, has_offset: bool, folder: Path) -> None:
    """By offset, as onnx_ir.save_safetensors writes it, or by name."""
    (folder / "w.safetensors").write_bytes(WEIGHTS)
    entries = {"offset": str(len(WEIGHTS) - 16), "length": "16"} if has_offset else {}
    x = random((4,))
    graph = import_model(save(PLACES[place](outside(location="w.safetensors", **entries)), folder))
    assert_close(evaluate_graph(graph, {"x": x}), {"y": x + W})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (safetensors({"v": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}, bytes(16)), "has no such tensor"),
        (safetensors({"w": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}, bytes(16)), r"shape \[2, 2\]"),
        (
            safetensors({"w": {"dtype": "F16", "shape": [4], "data_offsets": [0, 8]}}, bytes(8)),
            "and 8 bytes, not",
        ),
        (
            safetensors({"w": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}, bytes(8)),
            "ends within tensor 'w'",
        ),
        (safetensors({"w": {"dtype": "F32", "shape": [4], "data_offsets": [-8, 8]}}, bytes(8)), "data is from -8 to 8"),
        (safetensors({"w": {"dtype": "F32", "shape": [4]}}, bytes(16)), "its entry is damaged: KeyError"),
        (safetensors({"w": 7}, bytes(16)), "its entry is damaged: TypeError"),
        (WEIGHTS[:40], r"is no file of safetensors \("),
        (b"\xff" * 16, r"is no file of safetensors \(its header has 18446744073709551615 bytes"),
        (b"", r"ends within tensor 'w'|is no file of safetensors"),
    ],
)
def test_a_file_of_safetensors_without_the_tensor(data: bytes, message: str, folder: Path) -> None:
    (folder / "w.safetensors").write_bytes(data)
    with pytest.raises(InputError, match=message):
        import_model(save(initialiser(outside(location="w.safetensors")), folder))


@pytest.mark.parametrize("place", PLACES)
def test_a_link_out_of_the_folder_is_not_followed(place: str, folder: Path, tmp_path: Path) -> None:
    W.tofile(tmp_path / "secret")
    (folder / "link").symlink_to(tmp_path / "secret")
    message = rf"tensor 'w' refers to the file 'link', a link to {tmp_path / 'secret'}, which is not within the model's"
    with pytest.raises(InputError, match=message):
        import_model(save(PLACES[place](outside(location="link")), folder))


def test_a_folder_that_is_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    W.tofile(tmp_path / "secret")
    (folder / "sub").symlink_to(tmp_path)
    with pytest.raises(InputError, match=rf"a link to {tmp_path / 'secret'}, which is not within"):
        import_model(save(initialiser(outside(location="sub/secret")), folder))


def test_a_link_to_itself(folder: Path) -> None:
    (folder / "loop").symlink_to("loop")
    with pytest.raises(InputError, match=r"'loop', which can be no file|loop, with the data of tensor 'w', cannot be"):
        import_model(save(initialiser(outside(location="loop")), folder))


def test_a_model_that_is_a_link_beside_links(folder: Path, tmp_path: Path) -> None:
    """As download caches lay out a model: its files are links to blobs in another folder."""
    path = save(initialiser(outside()), folder)
    blobs, shown = tmp_path / "blobs", tmp_path / "shown"
    blobs.mkdir()
    shown.mkdir()
    for file, blob in ((path, "1a"), (folder / "w.bin", "2b")):
        file.rename(blobs / blob)
        (shown / file.name).symlink_to(blobs / blob)
    assert_close(evaluate_graph(import_model(shown / path.name), {"x": W}), {"y": W + W})


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("w\0x", r"'w\\x00x', which can be no file \(.*null"),
        ("w.bin/x", "cannot be read: .*Not a directory"),
        ("a" * 5000, "File name too long"),
        (".", "cannot be read: it is a folder, a pipe or a device"),
    ],
)
def test_locations_that_are_no_files(location: str, message: str, folder: Path) -> None:
    with pytest.raises(InputError, match=message):
        import_model(save(initialiser(outside(location=location)), folder))


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (outside(offset="99999999999999999999"), r"w\.bin ends within tensor 'w', which needs 16 bytes at 9{20};"),
        (outside(offset="9" * 5000), "refers to None at 9+ in"),
        (outside(length="99999999999999999999"), "needs 16 bytes, and the model refers to 9{20} at 0"),
        (outside(dims=(2**40,)), rf"ends within tensor 'w', which needs {4 * 2**40} bytes at 0"),
        (outside(dims=(2**32, 2**32)), rf"ends within tensor 'w', which needs {4 * 2**64} bytes at 0"),
        (outside(dims=(-2, -2)), r"tensor 'w' of shape \[-2, -2\] is damaged \(extents are 0 or more"),
        (outside(dims=(1,) * 65), "at most 64 of them"),
    ],
)
def test_sizes_beyond_the_file(tensor: onnx.TensorProto, message: str, folder: Path) -> None:
    proto = model([node("Mul", ["w", "x"], ["y"])], {"x": [1]}, ["y"])
    proto.graph.initializer.append(tensor)
    with pytest.raises(InputError, match=message):
        import_model(save(proto, folder))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
@pytest.mark.parametrize("place", PLACES)
def test_a_pipe_does_not_block(place: str, folder: Path) -> None:
    os.mkfifo(folder / "fifo")
    message = imported_elsewhere(save(PLACES[place](outside(location="fifo")), folder))
    assert "fifo, with the data of tensor 'w', cannot be read: it is a folder, a pipe or a device" in message


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
@pytest.mark.parametrize("path", ["fifo", "/dev/zero"])
def test_a_model_that_is_no_file(path: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert "is a pipe or a device; give the path of an ONNX file" in imported_elsewhere(tmp_path / path)


def imported_elsewhere(path: Path) -> str:
    """The InputError of importing `path` in a process of its own, which ends if it hangs."""
    program = """
import sys
from webnn_compile.errors import InputError
from webnn_compile.frontends.onnx import import_model
try:
    import_model(sys.argv[1])
except InputError as error:
    print(error)
"""
    command = [sys.executable, "-c", program, str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_a_path_that_can_be_none() -> None:
    with pytest.raises(InputError, match=r"'a\\x00b' can be no path"):
        import_model("a\0b")


def test_a_file_larger_than_a_message(tmp_path: Path) -> None:
    path = tmp_path / "large.onnx"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(InputError, match="has 1099511627776 bytes, and an ONNX file has fewer than 2147483648"):
        import_model(path)


@pytest.mark.parametrize("swapped", ["the file", "its folder"])
def test_a_link_that_comes_in_between_is_not_followed(
    swapped: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the path was resolved and found to be within the folder, it becomes one of a secret."""
    secret = tmp_path / "elsewhere"
    secret.mkdir()
    (W * 7).tofile(secret / "w.bin")
    (folder / "sub").mkdir()
    W.tofile(folder / "sub" / "w.bin")

    def late(path: Path) -> tuple[BinaryIO, int]:
        place = path if swapped == "the file" else path.parent
        place.rename(tmp_path / "before")
        place.symlink_to(secret / "w.bin" if swapped == "the file" else secret)
        return open_file(path)

    monkeypatch.setattr(read_tensor, "open_file", late)
    with pytest.raises(InputError, match=r"w\.bin, with the data of tensor 'w', changed meanwhile; try again"):
        import_model(save(initialiser(outside(location="sub/w.bin")), folder))


def test_a_file_that_becomes_shorter_meanwhile(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def shorter(path: Path) -> tuple[BinaryIO, int]:
        file, size = open_file(path)
        os.truncate(path, 8)
        return file, size

    monkeypatch.setattr(read_tensor, "open_file", shorter)
    with pytest.raises(InputError, match=r"changed meanwhile; try again"):
        import_model(save(initialiser(outside()), folder))
