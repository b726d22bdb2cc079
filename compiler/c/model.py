"""A model compiled by this machine's C compiler, called with NumPy arrays."""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..program.arrays import read_inputs
from ..program.program import Program
from ..system.c_compiler import build_library, find_compiler
from ..system.cache import Cache
from .render import ALIGNMENT, render

Array = np.ndarray

FLAGS = ("-std=c99", "-O3", "-march=native", "-ffp-contract=fast")


class CModel:
    """`run` is not reentrant: the arena belongs to the model. Raises InputError where there is no C compiler."""

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
        self.program = program
        self._run = getattr(self._library, f"{source.name}_run")
        self._weights = _aligned(len(program.weights))
        self._weights[:] = np.frombuffer(program.weights, np.uint8)
        self._prepared = _aligned(program.prepared)
        self._arena = _aligned(program.arena)
        self._arena[:] = 0xFF  # whatever is read before it is written shows as NaN
        getattr(self._library, f"{source.name}_prepare")(_address(self._weights), _address(self._prepared))

    def run(self, inputs: Mapping[str, object]) -> dict[str, Array]:
        """Outputs by name. Raises InputError for a missing, unexpected or misshapen input."""
        p = self.program
        given = [np.ascontiguousarray(a) for a in read_inputs(p.inputs, inputs)]
        results = {t.name: np.empty(t.extents, t.dtype.numpy) for t in p.outputs}
        arrays = (self._weights, self._prepared, self._arena, *given, *results.values())
        self._run(*map(_address, arrays))
        return results


def _aligned(size: int) -> Array:
    raw = np.zeros(size + ALIGNMENT, np.uint8)
    start = -int(raw.ctypes.data) % ALIGNMENT
    return raw[start : start + size]


def _address(a: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(a.ctypes.data)
