"""Runs a model that was compiled before, as a library: nothing is compiled, and only NumPy is needed."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_void_p
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..codegen.c_states import STATUS_OF
from ..dtypes import DTYPES
from ..errors import InputError
from ..ir.nodes import Const, Expr, Scalar
from ..ir.sizes import Size, scalars_of, size
from ..program.dimensions import Dimension
from ..program.plan_memory import ALIGNMENT
from ..program.program import TensorSpec
from ..program.shown_model import Shown, arrays_of
from ..program.states import StateFullError
from ..values.arrays import read_inputs
from ..values.bind_sizes import bind_sizes
from ..values.ports import check_out, live_part, room_for
from .sessions import Session, StatefulModel
from .state_bytes import StateBytes

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


class _VaryingTensor(ctypes.Structure):
    """`name_tensor` of library.h where sizes vary."""

    _fields_ = (*_Tensor._fields_, ("dimensions", POINTER(c_int)))


class _Range(ctypes.Structure):
    """`name_range` of library.h."""

    _fields_ = (
        ("name", c_char_p),
        ("least", c_int64),
        ("most", c_int64),
        ("multiple", c_int64),
        ("input", c_int),
    )


class _Length(ctypes.Structure):
    """`name_length` of library.h."""

    _fields_ = (
        ("name", c_char_p),
        ("most", c_int64),
        ("multiple", c_int64),
        ("dropped", c_int),
        ("growth", c_int),
    )


REFUSED = 100
"""`NAME_REFUSED` of library.h."""


class LoadedModel(StatefulModel):
    """A library with its weights, on so many `threads`. Runs of several threads wait for each other; for runs at once
    load a model for each."""

    backend = "library"

    def shown(self) -> Shown:
        return Shown(self.backend, arrays_of(self.inputs), arrays_of(self.outputs))

    def __init__(self, library: Path, prefix: str, weights: Path, threads: int = 1) -> None:
        self._code, self._prefix, self._library = _open(library), prefix, library
        self._varies = hasattr(self._code, f"{prefix}_dimension_count")
        kinds = ("input", "output", *(("state",) if hasattr(self._code, f"{prefix}_state_count") else ()))
        inputs, outputs, *states = (self._listed(k, _VaryingTensor if self._varies else _Tensor) for k in kinds)
        self._given, self._lengths = self._dimensions(inputs), self._lengths_of_states() if states else ()
        self.dimensions = (*self._given, *self._lengths)
        sizes = {i: size(d.scalar * d.multiple) for i, d in enumerate(self.dimensions)}
        self.inputs, self.outputs = (tuple(_spec(t, sizes) for t in tensors) for tensors in (inputs, outputs))
        self.states = tuple(self._state(i, _spec(t, sizes)) for i, t in enumerate(states[0] if states else ()))
        self._lock = threading.RLock()
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
        tensors = (POINTER(c_void_p), POINTER(c_void_p))
        memory = (c_void_p, *((c_void_p,) if self.states else ()))
        if self._given:
            self._run = self._function("context_run_sized", c_int, *memory, POINTER(c_int64), *tensors)
        else:
            self._run = self._function("context_run", c_int, *memory, *tensors)

    def run(self, inputs: Mapping[str, object], *, out: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Outputs by name, of arrays of NumPy or others that exchange data by DLPack, in the arrays of `out` where it
        has any: such an array, or its corner ([:n, :m]) where it is larger than the output in this run. Raises
        InputError for a missing, unexpected or misshapen input, and for an array that an output does not fit."""
        if out is not None:
            check_out(self.outputs, out)
        return self.run_in(self._own() if self.states else None, inputs, out)

    @property
    def kept(self) -> LoadedModel:
        return self

    @property
    def lock(self) -> threading.RLock:
        return self._lock

    def new_memory(self) -> StateBytes:
        return StateBytes(self._function("state_bytes", c_size_t)())

    def run_in(
        self, session: Session | None, inputs: Mapping[str, object], out: Mapping[str, Array] | None
    ) -> dict[str, Array]:
        arrays = read_inputs(self.inputs, inputs)
        contiguous = [np.ascontiguousarray(a) for a in arrays]
        rooms = [room_for(t, (out or {}).get(t.name)) for t in self.outputs]
        with self._lock:
            state = [] if session is None else [self._begin(session)]
            numbers = self._bind(arrays, state, None if session is None else session.lengths)
            if session is not None:
                session.check(numbers)
            sizes = [self._sizes(numbers)] if self._given else []
            status = self._run(self._context, *state, *sizes, _addresses(contiguous), _addresses(rooms))
            if session is not None:
                session.lengths = self._left(state[0])  # of fewer rows now where a run dropped some and failed then
                if status >= REFUSED:
                    session.lose()
            self._check(status, self._library)
            if session is not None:
                session.take(session.lengths, numbers)
            shapes = [self._output_shape(i) for i in range(len(rooms))]
        results = zip(self.outputs, rooms, shapes, strict=True)
        return {t.name: live_part(t, a, shape, out) for t, a, shape in results}

    def _begin(self, session: Session) -> c_void_p:
        """The memory of a session, with the lengths that it has."""
        assert isinstance(session.memory, StateBytes)
        state = c_void_p(session.memory.bytes.ctypes.data)
        lengths = self._numbers(session.lengths[d.scalar] * d.multiple for d in self._lengths)
        self._check(self._function("set_lengths", c_int, c_void_p, POINTER(c_int64))(state, lengths), self._library)
        return state

    def _left(self, state: c_void_p) -> dict[Scalar, int]:
        """The lengths of states in memory."""
        lengths = self._numbers(0 for _ in self._lengths)
        self._check(self._function("get_lengths", c_int, c_void_p, POINTER(c_int64))(state, lengths), self._library)
        return {d.scalar: n // d.multiple for d, n in zip(self._lengths, lengths, strict=False)}

    @staticmethod
    def _numbers(values: Iterable[int]) -> ctypes.Array[c_int64]:
        numbers = list(values)
        return (c_int64 * max(len(numbers), 1))(*numbers)

    def _sizes(self, numbers: Mapping[Scalar, int]) -> ctypes.Array[c_int64]:
        return self._numbers(numbers[d.scalar] * d.multiple for d in self._given)

    def _bind(
        self, arrays: Sequence[Array], state: Sequence[c_void_p], lengths: Mapping[Scalar, int] | None
    ) -> dict[Scalar, int]:
        """The sizes of a run; those of states are `lengths`. Raises InputError for an array that does not fit."""
        if not self.dimensions:
            return {}
        scalars = {d.scalar for d in self.dimensions}
        # Sizes that follow from others are computed by the library, and compared below.
        specs = [_as_given(t, a, scalars) for t, a in zip(self.inputs, arrays, strict=True)]
        numbers = bind_sizes(self.dimensions, specs, arrays, lengths)
        sizes, integers = ([self._sizes(numbers)], [POINTER(c_int64)]) if self._given else ([], [])
        memory = [c_void_p for _ in state]
        get = self._function("input_shape", c_int, c_int, *integers, *memory, POINTER(c_int64))
        for i, (t, a) in enumerate(zip(self.inputs, arrays, strict=True)):
            shape = self._shape(t, get, i, *sizes, *state)
            if shape != a.shape:
                named = ", ".join(f"{d.name} is {numbers[d.scalar] * d.multiple}" for d in self.dimensions)
                raise InputError(
                    f"input {t.name!r}: expected {t.dtype}{list(shape)}, since {named}, got {a.dtype}{list(a.shape)}"
                )
        return numbers

    def _output_shape(self, number: int) -> tuple[int, ...]:
        """The shape of an output in the last run."""
        t = self.outputs[number]
        if not self._varies:
            return t.extents
        get = self._function("context_output_shape", c_int, c_void_p, c_int, POINTER(c_int64))
        return self._shape(t, get, self._context, number)

    def _shape(self, t: TensorSpec, get: Any, *arguments: object) -> tuple[int, ...]:
        shape = (c_int64 * len(t.shape))()
        self._check(get(*arguments, shape), self._library)
        return tuple(shape)

    def _dimensions(self, inputs: Sequence[Any]) -> tuple[Dimension, ...]:
        ranges = self._listed("dimension", _Range) if self._varies else []
        return tuple(
            Dimension(
                name := d.name.decode(),
                _scalar(name, d.least, d.most, d.multiple),
                d.multiple,
                inputs[d.input].name.decode() if d.input >= 0 else None,
            )
            for d in ranges
        )

    def _lengths_of_states(self) -> tuple[Dimension, ...]:
        """The lengths of states. How many rows a run adds to them is for the library to compute, and has a scalar here,
        one for all that grow as positions do."""
        count = self._function("length_count", c_int)()
        get = self._function("state_length", POINTER(_Length), c_int)
        lengths = [get(i).contents for i in range(count)]
        names = [d.name.decode() for d in lengths]
        scalars = [_scalar(name, 0, d.most, d.multiple) for name, d in zip(names, lengths, strict=True)]
        added = (Const(0), Scalar("rows", 2), Scalar("other rows", 2))
        return tuple(
            Dimension(
                name,
                scalar,
                d.multiple,
                after=size(scalar * d.multiple + added[d.growth]),
                dropped_of=names[d.dropped] if d.dropped >= 0 else None,
            )
            for name, scalar, d in zip(names, scalars, lengths, strict=True)
        )

    def _state(self, number: int, spec: TensorSpec) -> TensorSpec:
        """A state at its place in the memory of a session."""
        place = self._function("state_data", c_void_p, c_void_p, c_int)(c_void_p(ALIGNMENT), number)
        shape = self._function("state", POINTER(_Tensor), c_int)(number).contents.shape[: len(spec.shape)]
        # Where rows can be dropped those of others end with the newest, and what has none stays as it is.
        rewinds, rows = hasattr(self._code, f"{self._prefix}_rewind"), self._has_rows(spec)
        stays, overwritten = rewinds and not rows, not (rewinds and rows)
        return replace(spec, offset=place - ALIGNMENT, room=tuple(shape), stays=stays, overwritten=overwritten)

    def _has_rows(self, spec: TensorSpec) -> bool:
        lengths = {d.scalar for d in self._lengths}
        return not lengths.isdisjoint(scalars_of(*(n for n in spec.shape if isinstance(n, Expr))))

    def _listed(self, kind: str, entry: type[ctypes.Structure]) -> list[Any]:
        """The inputs, outputs or dimensions."""
        get = self._function(kind, POINTER(entry), c_int)
        return [get(i).contents for i in range(self._function(f"{kind}_count", c_int)())]

    def _function(self, name: str, result: object, *arguments: object) -> Any:
        function = getattr(self._code, f"{self._prefix}_{name}")
        function.restype, function.argtypes = result, arguments
        return function

    def _check(self, status: int, file: Path) -> None:
        if status:
            message = self._function("message", c_char_p, c_int)(status).decode()
            error = StateFullError if status == STATUS_OF["FULL"] else InputError
            raise error(f"{file}: {message}")


def load_library(path: str | Path, threads: int = 1) -> LoadedModel:
    """The model in a folder, or of a library, as `load` has it."""
    if not isinstance(threads, int) or not 1 <= threads <= MOST_THREADS:
        raise InputError(f"threads={threads!r}: give a whole number from 1 to {MOST_THREADS}")
    folder = Path(path)
    libraries = [folder] if folder.is_file() else sorted(folder.glob("lib*.so"))
    if not libraries:
        raise InputError(f"{folder}: {_missing(folder)}")
    if len(libraries) > 1:
        names = ", ".join(p.name for p in libraries)
        raise InputError(f"{folder} holds several libraries ({names}): give the path of one")
    library = libraries[0].resolve()
    prefix = library.stem.removeprefix("lib")
    weights = library.with_name(f"{prefix}.weights")
    if not weights.is_file():
        raise InputError(f"{libraries[0]}: there is no {weights.name} beside it")
    return LoadedModel(library, prefix, weights, threads)


def _scalar(name: str, least: int, most: int, multiple: int) -> Scalar:
    """The scalar of a dimension from `least` to `most` in steps of `multiple`."""
    return Scalar(name if multiple == 1 else f"{name}/{multiple}", most // multiple + 1, low=least // multiple)


def _spec(t: Any, sizes: dict[int, Size]) -> TensorSpec:
    """The spec of a `name_tensor`. `sizes` are those of dimensions by number, to which others are added."""
    shape: list[Size] = t.shape[: t.rank]
    for axis, number in enumerate(t.dimensions[: t.rank] if isinstance(t, _VaryingTensor) else ()):
        if number >= 0:
            shape[axis] = sizes.setdefault(number, Scalar("?", t.shape[axis] + 1))
    return TensorSpec(t.name.decode(), DTYPES[t.type.decode()], tuple(shape), 0)


def _as_given(t: TensorSpec, a: Array, scalars: Collection[Scalar]) -> TensorSpec:
    """The input with the array's extents in place of scalars that are not known."""
    sizes = zip(t.shape, a.shape, strict=True)
    return replace(t, shape=tuple(e if isinstance(n, Scalar) and n not in scalars else n for n, e in sizes))


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
    """A copy of the file: under a name that was loaded before, the system would return the earlier library. It stays
    loaded, since threads of OpenMP's may still wait in libraries that it has loaded."""
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
