"""A model as a shared library: what is written, its API from C and Python, and from threads at once."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import platform
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import onnx
import pytest
import webnn_compile
from cli.command import EXAMPLE, contents, refused, run
from onnx_models import model, node, random
from webnn_compile.errors import InputError
from webnn_compile.library.render import checksum

NAME = "resnet18_digits"
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
pytestmark = needs_compiler


def expected(x: np.ndarray) -> np.ndarray:
    return webnn_compile.compile(EXAMPLE).run({"image": x})["logits"]


def test_files_and_report(library: Path) -> None:
    names = [f"lib{NAME}.so", f"{NAME}.hpp", f"{NAME}.weights", f"{NAME}_library.h"]
    assert sorted(p.name for p in library.iterdir()) == names
    report = json.loads((library.parent / "report.json").read_text())
    assert report["targets"]["native"]["bytes"]["weights"] == (library / f"{NAME}.weights").stat().st_size
    assert [f["kind"] for f in report["files"]] == ["library", "source", "source", "weights"]


def test_exports_are_the_functions_of_the_header(library: Path) -> None:
    listed = subprocess.run(["nm", "-D", "--defined-only", library / f"lib{NAME}.so"], capture_output=True, text=True)
    exported = {line.split()[2] for line in listed.stdout.splitlines() if " T " in line}
    declared = re.findall(rf"_API [^;(]*?({NAME}_\w+)\(", (library / f"{NAME}_library.h").read_text())
    assert len(declared) == 11
    assert exported == set(declared)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("kind", ["library", "c_build"])
def test_results_are_those_of_the_native_target(
    kind: str, threads: int, request: pytest.FixtureRequest, library: Path
) -> None:
    x = random((1, 1, 32, 32), 5)
    loaded = webnn_compile.load(request.getfixturevalue(kind), threads=threads)
    assert [(t.name, str(t.dtype), t.shape) for t in loaded.inputs] == [("image", "float32", (1, 1, 32, 32))]
    assert [(t.name, str(t.dtype), t.shape) for t in loaded.outputs] == [("logits", "float32", (1, 10))]
    for seed in range(3):
        x = random((1, 1, 32, 32), seed)
        got = loaded.run({"image": x})["logits"]
        if kind == "library":
            np.testing.assert_array_equal(got, expected(x))
        else:
            np.testing.assert_allclose(got, expected(x), rtol=1e-4, atol=1e-4)


def test_several_inputs_and_outputs_of_other_types(tmp_path: Path) -> None:
    """Names that are no plain text, a scalar, and no weights."""
    nodes = [node("Add", ['a"\n', "b"], ["s\u00fcm"]), node("Equal", ['a"\n', "b"], ["same"])]
    path = tmp_path / "2 in.onnx"
    made = model(nodes, {'a"\n': [3, 5], "b": []}, ["s\u00fcm", "same"], dtype=onnx.TensorProto.INT64)
    onnx.save(made, path)
    assert run(path, "--out", tmp_path / "lib", "--targets", "native").exit_code == 0
    loaded = webnn_compile.load(tmp_path / "lib" / "libmodel_2_in.so")
    a, b = np.arange(15, dtype=np.int64).reshape(3, 5) << 40, np.array(2 << 40, np.int64)
    found = loaded.run({'a"\n': a, "b": b})
    np.testing.assert_array_equal(found["s\u00fcm"], a + b)
    np.testing.assert_array_equal(found["same"], a == b)
    assert found["same"].dtype == np.bool_


def test_results_in_given_arrays(library: Path) -> None:
    """Written there by the library, or copied where it cannot."""
    made = webnn_compile.load(library)
    x = random((1, 1, 32, 32))
    right = made.run({"image": x})["logits"]
    whole, larger = np.empty(right.shape, np.float32), np.empty((2, right.shape[1] + 3), np.float32)
    for room in (whole, larger, np.empty(right.shape[::-1], np.float32).T):
        found = made.run({"image": x}, out={"logits": room})["logits"]
        assert np.shares_memory(found, room)
        np.testing.assert_array_equal(found, right)
    with pytest.raises(InputError, match="expected room for float32"):
        made.run({"image": x}, out={"logits": np.empty(3, np.float32)})


@pytest.mark.parametrize("kind", ["library", "c_build"])
def test_a_thousand_runs_by_four_threads_at_once(kind: str, request: pytest.FixtureRequest) -> None:
    """Each with a context of its own, two of them with two threads, over one model."""
    folder: Path = request.getfixturevalue(kind)
    code = ctypes.CDLL(str(folder / f"lib{NAME}.so"))
    made = ctypes.c_void_p()
    weights = str(folder / f"{NAME}.weights").encode()
    assert code.resnet18_digits_create_from_file(weights, ctypes.byref(made)) == 0
    images = [random((1, 1, 32, 32), seed) for seed in range(10)]
    right = [webnn_compile.load(folder).run({"image": x})["logits"] for x in images]
    wrong: list[str] = []

    def work(number: int) -> None:
        context = ctypes.c_void_p()
        status = code.resnet18_digits_context_create(made, 1 + number % 2, ctypes.byref(context))
        for i in range(250):
            logits = np.full((1, 10), np.nan, np.float32)
            which = (i + 3 * number) % len(images)
            inputs = (ctypes.c_void_p * 1)(images[which].ctypes.data)
            outputs = (ctypes.c_void_p * 1)(logits.ctypes.data)
            status = status or code.resnet18_digits_context_run(context, inputs, outputs)
            if status or not np.array_equal(logits, right[which]):
                wrong.append(f"thread {number}, run {i}: status {status}")
        code.resnet18_digits_context_destroy(context)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    code.resnet18_digits_destroy(made)
    assert wrong == []


def test_threads_that_source_was_built_without(tmp_path: Path, c_build: Path) -> None:
    shutil.copytree(c_build, tmp_path / "lib")
    sources = [f"{NAME}.c", f"{NAME}_library.c"]
    command = ["cc", "-O1", "-shared", "-fPIC", *sources, "-o", f"lib{NAME}.so", "-lm"]
    subprocess.run(command, cwd=tmp_path / "lib", check=True)
    with pytest.raises(InputError, match=r"libresnet18_digits.so: so many threads cannot be started"):
        webnn_compile.load(tmp_path / "lib", threads=2)


def test_the_checksum_sees_words_that_change_places() -> None:
    words = np.arange(8, dtype=np.uint64) * 2**61 + 5
    swapped = words.copy()
    swapped[[2, 3]] = swapped[[3, 2]]
    assert len({checksum(w.tobytes()) for w in (words, swapped, words[:7])}) == 3
    assert checksum(b"") == 0


def test_what_cannot_be_loaded(library: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such folder"):
        webnn_compile.load(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"there is no lib\*\.so in it; webnn-compile --targets native writes one"):
        webnn_compile.load(tmp_path)
    (tmp_path / "libthing.so").write_bytes(b"no library")
    with pytest.raises(InputError, match=r"there is no thing\.weights beside it"):
        webnn_compile.load(tmp_path)
    (tmp_path / "thing.weights").write_bytes(b"")
    with pytest.raises(InputError, match=r"libthing\.so cannot be loaded: .*"):
        webnn_compile.load(tmp_path)
    shutil.copy(library / f"lib{NAME}.so", tmp_path / "libthing.so")
    with pytest.raises(InputError, match="is no library of a model: it has no function thing_create_from_file"):
        webnn_compile.load(tmp_path)
    shutil.copy(library / f"lib{NAME}.so", tmp_path / f"lib{NAME}.so")
    with pytest.raises(InputError, match=r"holds several libraries \(libresnet18_digits\.so, libthing\.so\)"):
        webnn_compile.load(tmp_path)
    (tmp_path / f"{NAME}.weights").write_bytes(bytes(64))
    with pytest.raises(InputError, match=r"\.weights: these are not the weights of resnet18_digits: they are the file"):
        webnn_compile.load(tmp_path / f"lib{NAME}.so")
    for threads in (0, 2**32 + 1, 2.0, "2"):
        with pytest.raises(InputError, match=rf"threads={threads!r}: give a whole number from 1 to 1024"):
            webnn_compile.load(library, threads=threads)  # type: ignore[arg-type]
    loaded = webnn_compile.load(library)
    with pytest.raises(InputError, match=r"input 'image': expected float32\[1, 1, 32, 32\], got float64\[2\]"):
        loaded.run({"image": np.zeros(2)})


def test_a_folder_is_replaced_only_when_asked(library: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(library, out)
    before = contents(out)
    refused(run(EXAMPLE, "--out", out, "--targets", "native"), "already holds a library of a model; give --force")
    refused(run(EXAMPLE, "--out", out, "--targets", "c", "--force"), "is not empty and holds no C source of a model")
    (out / "classify.c").write_text("int main(void) { return 0; }\n")
    message = r"holds files that are no part of its library of a model \(classify.c\)"
    refused(run(EXAMPLE, "--out", out, "--targets", "native", "--force"), message)
    (out / "classify.c").unlink()
    assert run(EXAMPLE, "--out", out, "--targets", "native", "--force").exit_code == 0
    assert contents(out) == before


def test_a_library_that_was_built_anew(tmp_path: Path) -> None:
    """In the process that had loaded it before, with the same weights."""
    found = []
    for op in ("Add", "Mul"):
        made = model([node(op, ["x", "w"], ["y"])], {"x": [4]}, ["y"], {"w": np.full(4, 10, np.float32)})
        onnx.save(made, tmp_path / "same.onnx")
        assert run(tmp_path / "same.onnx", "--out", tmp_path / "lib", "--targets", "native", "--force").exit_code == 0
        found.append(webnn_compile.load(tmp_path / "lib").run({"x": np.arange(4, dtype=np.float32)})["y"].tolist())
    assert found == [[10, 11, 12, 13], [0, 10, 20, 30]]


FORK = """
import os, sys, numpy, webnn_compile
model = webnn_compile.load(sys.argv[1], threads=2)
x = numpy.ones((1, 1, 32, 32), numpy.float32)
before = model.run({"image": x})["logits"]
child = os.fork()
if child == 0:
    same = numpy.array_equal(model.run({"image": x})["logits"], before)
    del model
    sys.exit(0 if same else 3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_process_has_no_threads_to_wait_for(library: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORK, str(library)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "0\n"


def test_compilers_that_make_no_library(small: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    arguments = (small / "small.onnx", "--out", tmp_path / "out", "--targets", "native", "--no-cache")
    for command, message in (("false", "it made no library, with exit status 1"), ("true", "it made no library, with")):
        monkeypatch.setenv("CC", command)
        refused(run(*arguments), f"the C compiler does not work: .*/{command} .*{message}")
    monkeypatch.setenv("CC", "cc")
    other = "aarch64" if platform.machine() == "x86_64" else "x86-64-v3"
    refused(
        run(*arguments, "--cpu", other), f"CC=cc compiles for .*, not for {other.split('-')[0]}.*: name one that does"
    )


def test_no_compiler_that_links(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    find = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "ziglang" else find(name))
    message = "no C compiler: install gcc or clang, or name one in the environment variable CC"
    refused(run(EXAMPLE, "--out", tmp_path / "out", "--targets", "native"), message)
    assert not (tmp_path / "out").exists()
    message = "no C compiler that links for aarch64: install aarch64-linux-gnu-gcc .* or the package ziglang"
    refused(run(EXAMPLE, "--out", tmp_path / "out", "--targets", "native", "--cpu", "aarch64"), message)


def test_a_processor_that_lacks_instructions(tmp_path: Path) -> None:
    """The function that asks answers as on another machine."""
    assert run(EXAMPLE, "--out", tmp_path / "lib", "--targets", "native", "--cpu", "generic").exit_code == 0
    assert webnn_compile.load(tmp_path / "lib").backend == "library"
    lib = tmp_path / "lib2"
    asked = run(EXAMPLE, "--out", lib, "--targets", "native", "--cpu", "x86-64-v4")
    assert asked.exit_code == 0, asked.output
    features = Path("/proc/cpuinfo").read_text()
    if "avx512f" in features:
        x = random((1, 1, 32, 32), 5)
        got = webnn_compile.load(lib).run({"image": x})["logits"]
        np.testing.assert_allclose(got, expected(x), rtol=1e-4, atol=1e-4)
    else:
        with pytest.raises(InputError, match="this processor lacks instructions that the library was built for"):
            webnn_compile.load(lib)
