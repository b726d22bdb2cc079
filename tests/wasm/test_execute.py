"""Running a module: memory, calls, and what is missing."""

from __future__ import annotations

import gc
import sys
import weakref

import numpy as np
import pytest
import webnn_compile
from onnx_models import model, node
from wasm.linking import object_of
from webnn_compile.errors import InputError, InternalError
from webnn_compile.wasm.execute import WasmInstance
from webnn_compile.wasm.linkers import link


def test_memory_is_writable_and_outlives_its_instance() -> None:
    linked = link(object_of("bulk_memory"), ["fill"])
    instance = WasmInstance(linked.module, pages=2, relaxed=False)
    memory = instance.memory
    assert memory.shape == (2 * 65536,)
    assert memory.dtype == np.uint8
    assert not memory.any()
    instance.call("fill", linked.heap_base, 3, 5)
    del instance
    memory[linked.heap_base] = 9
    assert memory[linked.heap_base : linked.heap_base + 6].tolist() == [9, 3, 3, 3, 3, 0]


def test_missing_wasmtime_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wasmtime", None)
    with pytest.raises(InputError, match=r"pip install 'webnn-compile\[verify\]'"):
        WasmInstance(b"", pages=1, relaxed=False)


def test_module_that_is_refused() -> None:
    with pytest.raises(InternalError, match="wasmtime refuses the WebAssembly module"):
        WasmInstance(b"\0asm\1\0\0\0\xff", pages=1, relaxed=False)
    relaxed = link(object_of("simd", relaxed=True), ["axpy"]).module
    with pytest.raises(InternalError, match="relaxed SIMD"):
        WasmInstance(relaxed, pages=2, relaxed=False)
    big = link(object_of("calls"), ["on_stack"], stack_bytes=5 * 65536).module
    with pytest.raises(InternalError, match="wasmtime refuses"):
        WasmInstance(big, pages=1, relaxed=False)


def test_missing_import_is_named() -> None:
    module = link(object_of("imports"), ["talk"]).module
    with pytest.raises(InternalError, match=r"imports env\.(ask|tell|triple), which is not provided"):
        WasmInstance(module, pages=2, relaxed=False)


def test_call_of_what_is_no_function() -> None:
    instance = WasmInstance(link(object_of("calls"), ["on_stack"]).module, pages=2, relaxed=False)
    with pytest.raises(InternalError, match="does not export the function 'nobody'"):
        instance.call("nobody")


@pytest.mark.parametrize("target", ["wasm", "wasm-relaxed"])
def test_a_model_is_freed(target: str) -> None:
    """With its memory: wasmtime holds the functions that a module imports."""
    compiled = webnn_compile.compile(model([node("Relu", ["x"], ["y"])], {"x": [3]}, ["y"]), target=target)
    assert compiled.run({"x": np.array([-1, 0, 2], np.float32)})["y"].tolist() == [0, 0, 2]
    held = weakref.ref(compiled)
    del compiled
    gc.collect()
    assert held() is None
