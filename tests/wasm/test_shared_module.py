"""A module with loops for several cores: one byte makes it a module for threads."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx_models import model, node, random
from wasm.linking import memory_and_exports
from webnn_compile.cpu.compile_for_cpu import compile_for_cpu
from webnn_compile.errors import InternalError
from webnn_compile.execution.wasm_model import WasmModel
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.target import WASM_PLAIN
from webnn_compile.wasm.binary import SHARED_LIMITS, UNSHARED_LIMITS, limits_at
from webnn_compile.wasm.build_module import build_module
from webnn_compile.wasm.finalise import Linked


def built(width: int, linker: str = "builtin") -> tuple[onnx.ModelProto, Linked, WasmModel]:
    proto = model([node("Exp", ["x"], ["y"])], {"x": [64, width]}, ["y"])
    program = compile_for_cpu(lower_model(run_graph_passes(import_model(proto))), WASM_PLAIN)
    linked = build_module(program, relaxed=False, linker=linker)
    return proto, linked, WasmModel(program, linked, relaxed=False)


@pytest.mark.parametrize("linker", ["builtin", "wasm-ld"])
def test_large_loops_make_a_module_that_can_share_its_memory(linker: str) -> None:
    if linker == "wasm-ld":
        pytest.importorskip("ziglang")
    _, linked, made = built(1000, linker)
    assert linked.shared_at == limits_at(linked.module)
    assert linked.module[linked.shared_at] == UNSHARED_LIMITS
    limits, exports = memory_and_exports(linked.module)
    assert limits[0] == UNSHARED_LIMITS
    assert {"__stack_pointer", "chunk", "run"} <= set(exports)
    threaded = bytearray(linked.module)
    threaded[linked.shared_at] = SHARED_LIMITS
    assert memory_and_exports(bytes(threaded)) == (bytes([SHARED_LIMITS]) + limits[1:], exports)
    x = random((64, 1000))
    assert np.allclose(made.run({"x": x})["y"], np.exp(x), rtol=1e-5)


def test_small_loops_need_no_such_module() -> None:
    _, linked, _ = built(4)
    assert linked.shared_at is None
    assert not {"__stack_pointer", "chunk"} & set(memory_and_exports(linked.module)[1])


def test_a_module_without_imported_memory_has_no_such_byte() -> None:
    empty = b"\0asm\1\0\0\0\2\1\0"
    with pytest.raises(InternalError, match="no imported memory"):
        limits_at(empty)
