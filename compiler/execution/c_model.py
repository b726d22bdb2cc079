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
from ..program.program import Program
from ..system.c_compiler import build_library, find_compiler
from ..system.cache import Cache
from ..values.arrays import read_inputs
from ..values.bind_sizes import bind_sizes
from ..values.ports import check_out, live_part, room_for
from .aligned_bytes import aligned_bytes

Array = np.ndarray

FLAGS = ("-std=c99", "-O3", "-march=native", "-ffp-contract=fast")


class CModel:
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
        self._lock = threading.Lock()
        self._run = getattr(self._library, f"{source.name}_run")
        self._weights = aligned_bytes(len(program.weights))
        self._weights[:] = np.frombuffer(program.weights, np.uint8)
        self._prepared = aligned_bytes(program.prepared)
        self._arena = aligned_bytes(program.arena)
        self._arena[:] = 0xFF  # whatever is read before it is written shows as NaN
        getattr(self._library, f"{source.name}_prepare")(_address(self._weights), _address(self._prepared))

    def run(self, inputs: Mapping[str, object], *, out: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Outputs by name; `out` and errors are those of NativeModel."""
        if out is not None:
            check_out(self.program.outputs, out)
        p, ports = self.program, self._ports
        arrays = read_inputs(p.inputs, inputs)
        scalars = bind_sizes(p.dimensions, p.inputs, arrays)
        contiguous = [np.ascontiguousarray(a) for a in arrays]
        sizes = np.zeros(ports.count, np.int64)
        sizes[: len(p.dimensions)] = [scalars[d.scalar] * d.multiple for d in p.dimensions]
        results = [room_for(t, (out or {}).get(t.name)) for t in p.outputs]
        passed = [sizes] if ports.vary else []
        memory = (self._weights, self._prepared, self._arena, *passed, *contiguous, *results)
        with self._lock:
            refused = self._run(*map(_address, memory))
        if p.refusals and refused:
            raise InputError(p.refusals[refused - 1].text)
        shapes = [tuple(n if isinstance(n, int) else int(sizes[ports.number(n)]) for n in t.shape) for t in p.outputs]
        rows = zip(p.outputs, results, shapes, strict=True)
        return {t.name: live_part(t, a, shape, out) for t, a, shape in rows}


def _address(a: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(a.ctypes.data)
