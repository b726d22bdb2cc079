"""Finding a C compiler, and what the user reads where there is none."""

from __future__ import annotations

import pytest
import webnn_compile
from onnx_models import model, node
from webnn_compile.c import compiler
from webnn_compile.errors import InputError, InternalError
from webnn_compile.system.cache import Cache

RELU = model([node("Relu", ["x"], ["y"])], {"x": [2, 3]}, ["y"])


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(compiler.VARIABLE, raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InputError, match=r"no C compiler: install gcc or clang, or name one in .* CC"):
        webnn_compile.compile(RELU, "c", cache=False)


def test_a_compiler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(compiler.VARIABLE, "mycc -m64")
    with pytest.raises(InputError, match="CC=mycc -m64: there is no program mycc"):
        webnn_compile.compile(RELU, "c", cache=False)


def test_what_a_compiler_says_is_reported() -> None:
    with pytest.raises(InternalError, match=r"refuses the generated code: a.c.*f"):
        compiler.build_library("a", {"a.c": "int f(void) { return nothing; }"}, (), Cache(None))
