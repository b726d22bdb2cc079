"""Runs a model that was compiled before, as a library: nothing is compiled, and only NumPy is needed."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Mapping
from contextlib import ExitStack
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path
from typing import Any

import numpy as np

from ..dtypes import DTYPES
from ..errors import InputError
from ..program.arrays import read_inputs
from ..program.program import TensorSpec

Array = np.ndarray


MOST_THREADS = 1024


class _Tensor(ctypes.Structure):
    """`name_tensor` of library.h."""

    _fields_ = (
        ("name", c_char_p),
        ("type", c_char_p),
        ("rank", c_int),
        ("shape", POINTER(c_int64)),
        ("bytes", c_size_t),
    )


class LoadedModel:
    """A library with its weights, on so many `threads`. Runs of several threads wait for each other; for runs at once
    load a model for each."""

    backend = "library"

    def __init__(self, library: Path, prefix: str, weights: Path, threads: int = 1) -> None:
        self._code, self._prefix = _open(library), prefix
        self.inputs = self._tensors("input")
        self.outputs = self._tensors("output")
        self._lock = threading.Lock()
        model, context = c_void_p(), c_void_p()
        create = self._function("create_from_file", c_int, c_char_p, c_void_p)
        create_context = self._function("context_create", c_int, c_void_p, c_int, c_void_p)
        with ExitStack() as owned:
            self._check(create(os.fsencode(weights), ctypes.byref(model)), weights)
            owned.callback(self._function("destroy", None, c_void_p), model)
            self._check(create_context(model, threads, ctypes.byref(context)), library)
            owned.callback(self._function("context_destroy", None, c_void_p), context)
            weakref.finalize(self, owned.pop_all().close)
        self._context = context
        self._run = self._function("context_run", c_int, c_void_p, POINTER(c_void_p), POINTER(c_void_p))
        self._library = library

    def run(self, inputs: Mapping[str, object]) -> dict[str, Array]:
        """Outputs by name, of arrays of NumPy or others that exchange data by DLPack. Raises InputError for a missing,
        unexpected or misshapen input."""
        given = [np.ascontiguousarray(a) for a in read_inputs(self.inputs, inputs)]
        results = {t.name: np.empty(t.extents, t.dtype.numpy) for t in self.outputs}
        with self._lock:
            status = self._run(self._context, _addresses(given), _addresses(list(results.values())))
        self._check(status, self._library)
        return results

    def _tensors(self, kind: str) -> tuple[TensorSpec, ...]:
        count = self._function(f"{kind}_count", c_int)()
        get = self._function(kind, POINTER(_Tensor), c_int)
        found = [get(i).contents for i in range(count)]
        return tuple(TensorSpec(t.name.decode(), DTYPES[t.type.decode()], tuple(t.shape[: t.rank]), 0) for t in found)

    def _function(self, name: str, result: object, *arguments: object) -> Any:
        function = getattr(self._code, f"{self._prefix}_{name}")
        function.restype, function.argtypes = result, arguments
        return function

    def _check(self, status: int, file: Path) -> None:
        if status:
            message = self._function("message", c_char_p, c_int)(status).decode()
            raise InputError(f"{file}: {message}")


def load(path: str | Path, threads: int = 1) -> LoadedModel:
    """The model in a folder that `webnn-compile --targets native` wrote, or `--targets c` once its source is built:
    libNAME.so and NAME.weights. `path` may also be that of the library. Raises InputError where there is none, or where
    it cannot be used."""
    if not isinstance(threads, int) or not 1 <= threads <= MOST_THREADS:
        raise InputError(f"threads={threads!r}: give a whole number from 1 to {MOST_THREADS}")
    given = Path(path)
    found = [given] if given.is_file() else sorted(given.glob("lib*.so"))
    if not found:
        raise InputError(f"{given}: {_missing(given)}")
    if len(found) > 1:
        names = ", ".join(p.name for p in found)
        raise InputError(f"{given} holds several libraries ({names}): give the path of one")
    library = found[0].resolve()
    prefix = library.stem.removeprefix("lib")
    weights = library.with_name(f"{prefix}.weights")
    if not weights.is_file():
        raise InputError(f"{found[0]}: there is no {weights.name} beside it")
    return LoadedModel(library, prefix, weights, threads)


def _missing(folder: Path) -> str:
    if not folder.exists():
        return "there is no such folder"
    if source := next(folder.glob("*_library.c"), None):
        name = source.name.removesuffix("_library.c")
        command = (
            f"cc -O3 -march=native -ffp-contract=fast -fopenmp -shared -fPIC {name}.c {source.name} -o lib{name}.so -lm"
        )
        return f"the source is not built yet: in that folder, {command}"
    return "there is no lib*.so in it; webnn-compile --targets native writes one"


def _open(library: Path) -> ctypes.CDLL:
    """A copy of the file: under a name that was loaded before, the system would give what it was then. It stays loaded,
    since threads of OpenMP's may still wait in libraries that it has loaded."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            code = ctypes.CDLL(shutil.copy(library, folder))
    except OSError as error:
        raise InputError(f"{library} cannot be loaded: {error}") from None
    prefix = library.stem.removeprefix("lib")
    if not hasattr(code, f"{prefix}_create_from_file"):
        raise InputError(f"{library} is no library of a model: it has no function {prefix}_create_from_file")
    return code


def _addresses(arrays: list[Array]) -> ctypes.Array[c_void_p]:
    return (c_void_p * max(len(arrays), 1))(*(a.ctypes.data for a in arrays))
