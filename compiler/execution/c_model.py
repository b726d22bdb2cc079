"""A model compiled by this machine's C compiler, called with NumPy arrays."""

from __future__ import annotations

import ctypes
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..c.render import render
from ..codegen.c_ports import Ports
from ..errors import InputError
from ..ir.nodes import Scalar
from ..program.program import Program
from ..system.c_compiler import build_library, find_compiler
from ..system.cache import Cache
from ..values.arrays import read_inputs, read_scalars
from ..values.bind_sizes import bind_sizes
from ..values.ports import live_part, room_for
from .aligned_bytes import aligned_bytes
from .sessions import ProgramModel, Session
from .state_bytes import StateBytes

Array = np.ndarray

FLAGS = ("-std=c99", "-O3", "-march=native", "-ffp-contract=fast")


class CModel(ProgramModel):
    """The arena belongs to the model, so runs of several threads wait for each other. Raises InputError where there is
    no C compiler."""

    backend = "c"

    def __init__(self, program: Program, threads: int = 1, cache: Cache | None = None) -> None:
        source = render(program)
        files = {f"{source.name}.c": source.code, f"{source.name}.h": source.header}
        flags = (*FLAGS, *((f"-DMODEL_THREADS={threads}", "-fopenmp") if threads > 1 else ()))
        library = build_library(find_compiler(), files, flags, cache or Cache(None))
        with tempfile.TemporaryDirectory() as folder:  # the file may go once it is loaded
            path = Path(folder) / "library.so"
            path.write_bytes(library)
            self._library = ctypes.CDLL(str(path))
        self.program, self._ports = program, Ports.of(program)
        self._lock = threading.RLock()
        self._run = getattr(self._library, f"{source.name}_run")
        self._run.restype = ctypes.c_int if self._ports.returns else None
        self._weights = aligned_bytes(len(program.weights))
        self._weights[:] = np.frombuffer(program.weights, np.uint8)
        self._prepared = aligned_bytes(program.prepared)
        self._arena = aligned_bytes(program.arena)
        self._arena[:] = 0xFF  # whatever is read before it is written shows as NaN
        getattr(self._library, f"{source.name}_prepare")(_address(self._weights), _address(self._prepared))

    def new_memory(self) -> StateBytes:
        states = self._ports.states
        return StateBytes(0 if states is None else states.size)

    def run_in(
        self, session: Session | None, inputs: Mapping[str, object], out: Mapping[str, Array] | None
    ) -> dict[str, Array]:
        p, ports = self.program, self._ports
        arrays = read_inputs(p.inputs, inputs)
        contiguous = [np.ascontiguousarray(a) for a in arrays]
        sizes = np.zeros(ports.count, np.int64)
        results = [room_for(t, (out or {}).get(t.name)) for t in p.outputs]
        with self._lock:
            scalars = bind_sizes(p.dimensions, p.inputs, arrays, None if session is None else session.lengths)
            sizes[: len(ports.given)] = [scalars[d.scalar] * d.multiple for d in ports.given]
            state = [] if session is None else [self._begin(session, scalars)]
            passed = [*state, *([sizes] if ports.vary else []), *contiguous, *results]
            ended = self._run(*map(_address, (self._weights, self._prepared, self._arena, *passed)))
            assert not ended or ended > 0, "the session has checked what the code checks"
            if ended:
                raise InputError(p.refusals[ended - 1].text)
            if session is not None:
                session.end(read_scalars(self._arena, p))
        shapes = [tuple(n if isinstance(n, int) else int(sizes[ports.number(n)]) for n in t.shape) for t in p.outputs]
        rows = zip(p.outputs, results, shapes, strict=True)
        return {t.name: live_part(t, a, shape, out) for t, a, shape in rows}

    def _begin(self, session: Session, scalars: Mapping[Scalar, int]) -> Array:
        """The memory of a session whose run begins: the session has checked what the code checks, too."""
        states = self._ports.states
        assert isinstance(session.memory, StateBytes)
        assert states is not None
        session.begin(scalars)
        kept = session.memory.bytes[states.at :].view(np.int64)
        kept[:] = 0
        for d in states.lengths:
            kept[states.kept_entry(d)] = session.lengths[d.scalar] * d.multiple
        return session.memory.bytes


def _address(a: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(a.ctypes.data)
