"""A wasm module that runs outside a browser."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from weakref import WeakMethod

import numpy as np

from ..codegen.render_host import CLOCK, CLOCK_LAUNCH, ENTRY, PREPARE, PROFILE, is_structured
from ..codegen.whole_loop import PARALLEL_FOR
from ..program.plan_memory import ALIGNMENT, align
from ..program.program import Program, TensorSpec, check_wasm32
from ..values.arrays import read_outputs, read_scalars, write_inputs
from ..values.ports import copy_out
from ..wasm.build_module import CHUNK, PAGE
from ..wasm.execute import HostFunction, Number, WasmInstance
from ..wasm.linkers import Linked
from .sessions import ProgramModel, Session

Array = np.ndarray


class _Pages:
    """A session's states in the memory of an instance, which grows for them."""

    def __init__(self, instance: WasmInstance, program: Program) -> None:
        self._instance, self._size = instance, program.state_bytes
        self.address = instance.grow(-(-max(self._size, 1) // PAGE))

    def clear(self) -> None:
        self._instance.memory[self.address : self.address + self._size] = 0

    def read(self, state: TensorSpec) -> Array:
        at = self.address + state.offset
        return self._instance.memory[at : at + state.bytes].view(state.dtype.numpy).reshape(state.extents)

    def write(self, state: TensorSpec, whole: Array) -> None:
        self.read(state)[...] = whole


class WasmModel(ProgramModel):
    """A linked program run by wasmtime (extra `verify`), called like a NativeModel: runs of several threads
    wait for each other. `in_bytes` is a module of BYTE_VARIANTS: what those on unsigned bytes compute is exact where
    this processor takes them so, and products fit."""

    def __init__(self, program: Program, linked: Linked, *, relaxed: bool, in_bytes: str | None = None) -> None:
        self.backend = f"wasm-{in_bytes or 'relaxed'}" if relaxed else "wasm"
        self.program = program
        self._lock = threading.RLock()
        weights = len(program.weights) + program.prepared
        check_wasm32(program.name, linked.heap_base + ALIGNMENT, weights, program.arena, program.state_bytes)
        self._weights = linked.heap_base
        self._arena = align(self._weights + weights)
        pages = -(-(self._arena + program.arena) // PAGE)
        functions = {
            PARALLEL_FOR: _weakly(self._one_thread),
            CLOCK: _weakly(self._note_time),
            CLOCK_LAUNCH: _weakly(self._note_launch),
        }
        self._instance = WasmInstance(
            linked.module,
            pages=max(pages, 1),
            relaxed=relaxed,
            deterministic=in_bytes in (None, "signed"),
            imports=functions,
        )
        memory = self._instance.memory
        memory[self._weights : self._weights + len(program.weights)] = np.frombuffer(program.weights, np.uint8)
        # Whatever is read before it is written shows as NaN.
        memory[self._arena :] = 0xFF
        for number in range(len(program.prepare)):
            self._instance.call(PREPARE, self._weights, self._arena, number)

    def new_memory(self) -> _Pages:
        return _Pages(self._instance, self.program)

    def run_in(
        self, session: Session | None, inputs: Mapping[str, object], out: Mapping[str, Array] | None
    ) -> dict[str, Array]:
        with self._lock:
            self._instance.call(ENTRY, self._weights, self._arena, *self._begin(session, inputs))
            arena = self._instance.memory[self._arena :]
            results = read_outputs(arena, self.program)
            if session is not None:
                session.end(read_scalars(arena, self.program))
        return copy_out(self.program.outputs, results, out)

    def profile(self, inputs: Mapping[str, object]) -> list[float]:
        """Milliseconds of each launch, in the order of the program's; of one that is repeated the sum of all times."""
        with self._lock:
            session = self._own() if self.program.states else None
            states = self._begin(session, inputs)
            self._times = [time.perf_counter()]
            self._launches: list[int] = []
            self._instance.call(PROFILE, self._weights, self._arena, *states)
            if session is not None:
                session.end(read_scalars(self._instance.memory[self._arena :], self.program))
            spans, launches = [(b - a) * 1e3 for a, b in pairwise(self._times)], self._launches
        if not is_structured(self.program):
            return spans
        durations = [0.0] * len(self.program.launches)
        for launch, span in zip(launches, spans, strict=True):
            durations[launch] += span
        return durations

    def _begin(self, session: Session | None, inputs: Mapping[str, object]) -> list[int]:
        """Writes what a run is given, and gives the address of its states: the last argument of a program that has
        any."""
        arena = self._instance.memory[self._arena :]
        write_inputs(arena, self.program, inputs, None if session is None else session.lengths)
        if session is None:
            return []
        assert isinstance(session.memory, _Pages)
        if session.begin(read_scalars(arena, self.program)):
            write_inputs(arena, self.program, inputs, session.lengths)
        return [session.memory.address]

    def _note_time(self) -> None:
        self._times.append(time.perf_counter())

    def _note_launch(self, launch: int) -> None:
        self._launches.append(launch)
        self._note_time()

    def _one_thread(self, body: int, arguments: int, extent: int) -> None:
        self._instance.call(CHUNK, body, arguments, 0, extent)


def _weakly(method: Callable[..., None]) -> HostFunction:
    """wasmtime holds what a module imports as long as its store lives, which the method's object holds: unless one of
    the two holds the other weakly, no model is ever freed."""
    held = WeakMethod(method)

    def call(*args: Number) -> None:
        function = held()
        assert function is not None
        function(*args)

    return call
