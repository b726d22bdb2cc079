"""A model compiled for this machine, called with NumPy arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

import numpy as np

from ..codegen.llvm_module import LlvmModule
from ..codegen.render_host import ENTRY, render_host
from ..errors import InputError
from ..program import Program, TensorSpec
from .jit import JitModule, header

Array = np.ndarray


class NativeModel:
    """`run` is not reentrant: the arena belongs to the model."""

    backend = "native"

    def __init__(self, program: Program) -> None:
        module = LlvmModule()
        render_host(program, module)
        self.program = program
        self._code = JitModule(module.text(header()), ENTRY)
        self._weights = _aligned(len(program.weights))
        self._weights[: len(program.weights)] = np.frombuffer(program.weights, np.uint8)
        self._arena = _aligned(program.arena)
        # Whatever is read before it is written shows as NaN.
        self._arena[:] = 0xFF

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs by name. Raises InputError for a missing, unexpected or misshapen input."""
        check_inputs(self.program.inputs, inputs)
        for spec in self.program.inputs:
            data = np.ascontiguousarray(inputs[spec.name], spec.dtype.numpy)
            self._arena[spec.offset : spec.offset + spec.bytes] = data.reshape(-1).view(np.uint8)
        self._code.run(_address(self._weights), _address(self._arena))
        return {s.name: read_tensor(self._arena, s) for s in self.program.outputs}


def read_tensor(memory: Array, spec: TensorSpec) -> Array:
    """A copy of the tensor that lies in `memory` (uint8) at its offset."""
    data = memory[spec.offset : spec.offset + spec.bytes].tobytes()
    return np.frombuffer(data, spec.dtype.numpy).reshape(spec.shape).copy()


def check_inputs(specs: tuple[TensorSpec, ...], inputs: Mapping[str, Array]) -> None:
    """InputError unless `inputs` has exactly the arrays that `specs` ask for."""
    expected = {s.name for s in specs}
    wrong = sorted(set(inputs) ^ expected)
    if wrong:
        raise InputError(f"inputs {wrong}: expected exactly {sorted(expected)}, got {sorted(inputs)}")
    for s in specs:
        a = np.asarray(inputs[s.name])
        if a.shape != s.shape or a.dtype != s.dtype.numpy:
            raise InputError(f"input {s.name!r}: expected {s.dtype}{list(s.shape)}, got {a.dtype}{list(a.shape)}")


def _aligned(size: int) -> Array:
    """Zeroed bytes that start at a multiple of 64."""
    raw = np.zeros(size + 64, np.uint8)
    start = -_address(raw) % 64
    return raw[start : start + size]


def _address(a: Array) -> int:
    return int(a.ctypes.data_as(ctypes.c_void_p).value or 0)
