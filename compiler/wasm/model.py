"""A program as a wasm module, and a model that runs it outside a browser."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..codegen.llvm_module import LlvmModule
from ..codegen.render_host import ENTRY, PREPARE, entries, render_host
from ..program import Program, check_inputs, check_wasm32, read_tensor, write_tensor
from .emit import HEADER, emit_object
from .execute import WasmInstance
from .linkers import Linked, link

Array = np.ndarray

PAGE = 65536
ALIGN = 64


def render_module(program: Program) -> str:
    """The LLVM IR of a program for wasm32."""
    module = LlvmModule()
    render_host(program, module)
    return module.text(HEADER)


def build_module(program: Program, *, relaxed: bool, linker: str = "builtin") -> Linked:
    """The wasm module of a program: exports `run(weights, arena)` and perhaps `prepare`, imports `env.memory`."""
    return link(emit_object(render_module(program), relaxed=relaxed), entries(program), linker=linker)


class WasmModel:
    """A linked program run by wasmtime (extra `verify`), called like a NativeModel."""

    def __init__(self, program: Program, linked: Linked, *, relaxed: bool) -> None:
        self.backend = "wasm-relaxed" if relaxed else "wasm"
        self.program = program
        weights = len(program.weights) + program.prepared
        check_wasm32(program.name, linked.heap_base + ALIGN, weights, program.arena)
        self._weights = linked.heap_base
        self._arena = -(-(self._weights + weights) // ALIGN) * ALIGN
        pages = -(-(self._arena + program.arena) // PAGE)
        self._instance = WasmInstance(linked.module, pages=max(pages, 1), relaxed=relaxed)
        memory = self._instance.memory
        memory[self._weights : self._weights + len(program.weights)] = np.frombuffer(program.weights, np.uint8)
        # Whatever is read before it is written shows as NaN.
        memory[self._arena :] = 0xFF
        if program.prepare:
            self._instance.call(PREPARE, self._weights, self._arena)

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs by name. Raises InputError for a missing, unexpected or misshapen input."""
        check_inputs(self.program.inputs, inputs)
        arena = self._instance.memory[self._arena :]
        for spec in self.program.inputs:
            write_tensor(arena, spec, inputs[spec.name])
        self._instance.call(ENTRY, self._weights, self._arena)
        return {s.name: read_tensor(arena, s) for s in self.program.outputs}
