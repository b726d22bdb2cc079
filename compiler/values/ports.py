"""The inputs, sizes and outputs of a program as arrays in its arena, made once: a small model runs in 10 us."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeGuard

import numpy as np

from ..errors import InputError
from ..ir.nodes import Scalar
from ..ir.sizes import shown, value_of
from ..program.program import Program, TensorSpec
from ..program.refusals import check_refusals
from .arrays import check_names, read_input
from .bind_sizes import bind_sizes

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Port:
    """A tensor and its memory, laid out for its largest shape."""

    spec: TensorSpec
    memory: Array
    varies: bool

    def accepted(self, value: object) -> Array:
        """The array given for it. Raises InputError as `read_inputs` does."""
        if isinstance(value, np.ndarray) and not self.varies:
            memory = self.memory
            if value.dtype == memory.dtype and value.shape == memory.shape:
                return value
        return read_input(self.spec, value)


class Ports:
    """The ports of `program` in `arena` (uint8)."""

    def __init__(self, program: Program, arena: Array) -> None:
        self._program = program
        self._inputs, self._outputs = _ports(program.inputs, arena), _ports(program.outputs, arena)
        self._names = frozenset(s.name for s in program.inputs)
        self._scalars = {s: arena[at:][:4].view(np.int32) for s, at in program.scalars.items()}

    def write(self, inputs: Mapping[str, object], lengths: Mapping[Scalar, int] | None = None) -> None:
        """Copies inputs, and the sizes that they have; `lengths` are those of states. Raises InputError as do
        `read_inputs` and `bind_sizes`."""
        if type(inputs) is not dict or inputs.keys() != self._names:
            check_names(self._program.inputs, inputs)
        arrays = [p.accepted(inputs[p.spec.name]) for p in self._inputs]
        if self._program.dimensions:
            for scalar, n in bind_sizes(self._program.dimensions, self._program.inputs, arrays, lengths).items():
                self._scalars[scalar][0] = n
        for p, a in zip(self._inputs, arrays, strict=True):
            (p.memory[_corner(a.shape)] if p.varies else p.memory)[...] = a

    def scalars(self) -> dict[Scalar, int]:
        """The sizes of a run, those that it computed among them."""
        return {s: int(a[0]) for s, a in self._scalars.items()}

    def read(self, out: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """The outputs of a run, in new arrays or in those of `out`. Raises InputError as `place` does, and for a run
        that took a branch that does not fit."""
        scalars = self.scalars()
        check_refusals(self._program.refusals, scalars.__getitem__)
        results = {}
        for p in self._outputs:
            here = p.memory[_corner(tuple(value_of(n, scalars) for n in p.spec.shape))] if p.varies else p.memory
            results[p.spec.name] = place(p.spec, here, out) if out else here.copy()
        return results


def _ports(specs: Sequence[TensorSpec], arena: Array) -> tuple[Port, ...]:
    return tuple(
        Port(s, arena[s.offset : s.offset + s.bytes].view(s.dtype.numpy).reshape(s.extents), s.is_dynamic)
        for s in specs
    )


def check_out(specs: Sequence[TensorSpec], out: Mapping[str, Array]) -> None:
    """InputError unless `out` names outputs only."""
    names = [s.name for s in specs]
    if not isinstance(out, Mapping) or any(n not in names for n in out):
        described = sorted(out, key=str) if isinstance(out, Mapping) else type(out).__name__
        raise InputError(f"out={described}: expected a mapping of names of outputs to arrays; outputs: {names}")


def place(spec: TensorSpec, result: Array, out: Mapping[str, Array] | None) -> Array:
    """The result in the array of `out` that is given for it: all of that, or its corner ([:n, :m]) where it is larger;
    in a new array where none is given. Raises InputError for one of another type or dtype, of another rank, that is
    smaller, or that cannot be written."""
    room = (out or {}).get(spec.name)
    if room is None:
        return result.copy()
    if is_room(room, result.dtype, result.shape):
        room[...] = result
        return room
    if (
        not isinstance(room, np.ndarray)
        or room.dtype != result.dtype
        or room.ndim != result.ndim
        or any(n < m for n, m in zip(room.shape, result.shape, strict=True))
    ):
        passed = f"{room.dtype}{list(room.shape)}" if isinstance(room, np.ndarray) else type(room).__name__
        here = f", here {list(result.shape)}" if spec.is_dynamic else ""
        raise InputError(f"out[{spec.name!r}]: expected room for {spec.dtype}{shown(spec.shape)}{here}, got {passed}")
    if not room.flags.writeable:
        raise InputError(f"out[{spec.name!r}]: the array is read-only; give one that can be written")
    view = room[_corner(result.shape)]
    view[...] = result
    return view


def is_room(room: object, dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> TypeGuard[Array]:
    """Whether an array has just these elements, and can be written."""
    return isinstance(room, np.ndarray) and room.dtype == dtype and room.shape == shape and room.flags.writeable


def copy_out(
    specs: Sequence[TensorSpec], results: dict[str, Array], out: Mapping[str, Array] | None
) -> dict[str, Array]:
    """The results, which nothing else holds, those for which `out` has an array copied there. Raises InputError
    as `place` does."""
    rooms = {s.name: s for s in specs if (out or {}).get(s.name) is not None}
    return {name: place(rooms[name], a, out) if name in rooms else a for name, a in results.items()}


def room_for(spec: TensorSpec, room: object) -> Array:
    """Memory without gaps for an output: the array given for it, where it is just that, or a new one for the largest
    shape, from which `live_part` takes the elements of a run."""
    if not spec.is_dynamic and is_room(room, spec.dtype.numpy, spec.extents) and room.flags.c_contiguous:
        return room
    return np.empty(spec.length, spec.dtype.numpy)


def live_part(spec: TensorSpec, room: Array, shape: tuple[int, ...], out: Mapping[str, Array] | None) -> Array:
    """The elements of a run, without the room for others. Raises InputError as `place` does."""
    if out and spec.name in out:
        return room if room is out[spec.name] else place(spec, room[: prod(shape)].reshape(shape), out)
    n = prod(shape)
    return (room if n == room.size else room[:n].copy()).reshape(shape)


def _corner(shape: Sequence[int]) -> tuple[slice, ...]:
    return tuple(map(slice, shape))
