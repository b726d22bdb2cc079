"""A model compiled for this machine, called with NumPy arrays."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping

import numpy as np

from ..codegen.llvm_module import LlvmModule
from ..codegen.render_host import ENTRY, PREPARE, render_host
from ..codegen.whole_loop import PARALLEL_FOR
from ..errors import InputError
from ..native.emit import header, host
from ..native.jit import JitModule
from ..native.threads import define_parallel_for
from ..program.program import Program
from ..system.cache import Cache
from ..system.limits import format_size, machine_memory
from ..values.ports import Ports
from .aligned_bytes import aligned_bytes
from .sessions import ProgramModel, Session
from .state_bytes import StateBytes

Array = np.ndarray


class NativeModel(ProgramModel):
    """The arena belongs to the model, so runs of several threads wait for each other. Results do not depend on the
    number of `threads`.

    Raises InputError for a program that needs more memory than the machine has.
    """

    backend = "native"

    def __init__(self, program: Program, threads: int = 1, cache: Cache | None = None) -> None:
        _check_memory(program)
        module = LlvmModule()
        render_host(program, module, cache)
        if module.calls(PARALLEL_FOR):
            define_parallel_for(module, threads)
        self.program = program
        # Reentrant, for an input that is computed when it is read may be another run's output.
        self._lock = threading.RLock()
        self._code = JitModule(module.text(header(host(), jit=True)), cache)
        weights, arena = aligned_bytes(len(program.weights) + program.prepared), aligned_bytes(program.arena)
        weights[: len(program.weights)] = np.frombuffer(program.weights, np.uint8)
        # Whatever is read before it is written shows as NaN; what a device's host is given has halos of zeros.
        arena[:] = 0 if program.segments else 0xFF
        self.use_memory(weights, arena)

    def use_memory(self, weights: Array, arena: Array) -> None:
        """Runs take place in these bytes from now on, each at an aligned address: `weights` are the program's with
        room for what is prepared, which is computed now."""
        self._weights, self.arena = weights, arena
        self.ports = Ports(self.program, arena)
        self._memory = _address(weights), _address(arena)
        if self.program.prepare:
            self.call(PREPARE)

    def new_memory(self) -> StateBytes:
        return StateBytes(self.program.state_bytes)

    def run_in(
        self, session: Session | None, inputs: Mapping[str, object], out: Mapping[str, Array] | None
    ) -> dict[str, Array]:
        with self._lock:
            if session is None:
                self.ports.write(inputs)
                self.call(ENTRY)
                return self.ports.read(out)
            assert isinstance(session.memory, StateBytes)
            self.ports.write(inputs, session.lengths)
            if session.begin(self.ports.scalars()):
                self.ports.write(inputs, session.lengths)
            self._code.call(ENTRY, *self._memory, _address(session.memory.bytes))
            results = self.ports.read(out)
            session.end(self.ports.scalars())
            return results

    def call(self, entry: str) -> None:
        """One of the program's functions, on the contents of the arena."""
        self._code.call(entry, *self._memory)


def _check_memory(program: Program) -> None:
    """InputError for a program that this machine has no memory for: the system would end the process instead."""
    weights, has = len(program.weights) + program.prepared, machine_memory()
    needs = weights + program.arena + program.state_bytes
    if needs > has:
        states = f", states {format_size(program.state_bytes)}" if program.states else ""
        raise InputError(
            f"model {program.name!r} needs {format_size(needs)} of memory (weights {format_size(weights)}, inputs, "
            f"outputs and intermediate results {format_size(program.arena)}{states}), but this machine has "
            f"{format_size(has)}: use a smaller input shape (--shape), fewer rows of a state (--dim), or a smaller "
            "model"
        )


def _address(a: Array) -> int:
    return int(a.ctypes.data_as(ctypes.c_void_p).value or 0)
