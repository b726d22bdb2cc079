"""A program as a wasm module, and a model that runs it outside a browser."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..codegen.llvm_module import LlvmModule
from ..codegen.render_host import ENTRY, render_host
from ..native.model import check_inputs, read_tensor
from ..program import Program
from .emit import HEADER, emit_object
from .execute import WasmInstance
from .linkers import Linked, link

Array = np.ndarray

PAGE = 65536
ALIGN = 64


def build_module(program: Program, *, relaxed: bool, linker: str = "builtin") -> Linked:
    """The wasm module of a program: exports `run(weights, arena)`, imports `env.memory`."""
    module = LlvmModule()
    render_host(program, module)
    return link(emit_object(module.text(HEADER), relaxed=relaxed), [ENTRY], linker=linker)


class WasmModel:
    """Like NativeModel, through wasmtime."""

    def __init__(self, program: Program, *, relaxed: bool, linker: str = "builtin") -> None:
        self.backend = "wasm-relaxed" if relaxed else "wasm"
        self.program = program
        linked = build_module(program, relaxed=relaxed, linker=linker)
        self._weights = -(-linked.heap_base // ALIGN) * ALIGN
        self._arena = -(-(self._weights + len(program.weights)) // ALIGN) * ALIGN
        pages = -(-(self._arena + program.arena) // PAGE)
        self._instance = WasmInstance(linked.module, pages=max(pages, 1), relaxed=relaxed)
        memory = self._instance.memory
        memory[self._weights : self._weights + len(program.weights)] = np.frombuffer(program.weights, np.uint8)
        memory[self._arena :] = 0xFF

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs by name. Raises InputError for a missing, unexpected or misshapen input."""
        check_inputs(self.program.inputs, inputs)
        memory = self._instance.memory[self._arena :]
        for spec in self.program.inputs:
            data = np.ascontiguousarray(inputs[spec.name], spec.dtype.numpy)
            memory[spec.offset : spec.offset + spec.bytes] = data.reshape(-1).view(np.uint8)
        self._instance.call(ENTRY, self._weights, self._arena)
        return {s.name: read_tensor(memory, s) for s in self.program.outputs}
