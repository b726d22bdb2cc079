"""Finding a C compiler, and what the user reads where there is none."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import webnn_compile
from onnx_models import model, node
from webnn_compile.errors import InputError, InternalError
from webnn_compile.system import c_compiler as compiler
from webnn_compile.system.cache import Cache

RELU = model([node("Relu", ["x"], ["y"])], {"x": [2, 3]}, ["y"])


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(compiler.VARIABLE, raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    found = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "ziglang" else found(name))
    with pytest.raises(InputError, match=r"no C compiler: install gcc or clang, or name one in .* CC"):
        webnn_compile.compile(RELU, "c", cache=False)


def test_a_compiler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(compiler.VARIABLE, "mycc -m64")
    with pytest.raises(InputError, match="CC=mycc -m64: there is no program mycc"):
        webnn_compile.compile(RELU, "c", cache=False)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_compiler_that_does_not_work(threads: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Given by a relative path."""
    script = tmp_path / "mycc"
    script.write_text("#!/bin/sh\necho 'ld: cannot find -lthing' >&2\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(compiler.VARIABLE, "./mycc -m64")
    hint = r"; OpenMP may be missing .*" if threads > 1 else ""
    with pytest.raises(
        InputError, match=rf"the C compiler does not work: .*mycc -m64 .*: ld: cannot find -lthing{hint}$"
    ):
        webnn_compile.compile(RELU, "c", threads=threads, cache=False)


def test_quotes_that_do_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(compiler.VARIABLE, 'gcc "x')
    with pytest.raises(InputError, match='CC=gcc "x: No closing quotation'):
        webnn_compile.compile(RELU, "c", cache=False)


def test_several_threads_for_a_model_that_has_no_use_for_them() -> None:
    x = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
    np.testing.assert_array_equal(webnn_compile.compile(RELU, "c", threads=2).run({"x": x})["y"], np.maximum(x, 0))


def test_what_a_compiler_says_is_reported() -> None:
    with pytest.raises(InternalError, match=r"refuses the generated code: a.c.*f"):
        compiler.build_library(compiler.find_compiler(), {"a.c": "int f(void) { return nothing; }"}, (), Cache(None))
