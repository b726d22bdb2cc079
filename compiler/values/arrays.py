"""Inputs and outputs of a model: arrays of NumPy, or of any library that exchanges data by DLPack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import InputError
from ..ir.nodes import Scalar
from ..ir.sizes import shown
from ..program.program import Program, TensorSpec, read_tensor, write_tensor
from ..program.refusals import check_refusals
from .bind_sizes import bind_sizes
from .dlpack import CPU, FAULTS, Exchanged

Array = np.ndarray


def read_inputs(specs: Sequence[TensorSpec], inputs: Mapping[str, object]) -> list[Array]:
    """The arrays of `specs`, in their order. InputError unless `inputs` has exactly these, of their types and shapes,
    in the memory of the processor."""
    check_names(specs, inputs)
    return [read_input(s, inputs[s.name]) for s in specs]


def check_names(specs: Sequence[TensorSpec], inputs: Mapping[str, object]) -> None:
    """InputError unless `inputs` are those of `specs`, by name."""
    if not isinstance(inputs, Mapping):
        raise InputError(f"inputs are a mapping of names to arrays, not {type(inputs).__name__}")
    expected = {s.name for s in specs}
    if unknown := sorted(inputs.keys() - expected, key=str):
        raise InputError(f"no {_named(unknown)}; the model has {', '.join(map(repr, sorted(expected))) or 'none'}")
    if missing := sorted(expected - inputs.keys()):
        raise InputError(f"{_named(missing)} {'is' if len(missing) == 1 else 'are'} missing")


def _named(names: Sequence[object]) -> str:
    return f"{'input' if len(names) == 1 else 'inputs'} {', '.join(map(repr, names))}"


def check_type(spec: TensorSpec, dtype: object, shape: tuple[int, ...]) -> None:
    """InputError unless these are the input's, but for sizes that a run decides."""
    fits = len(shape) == len(spec.shape) and all(
        n == extent for n, extent in zip(spec.shape, shape, strict=True) if isinstance(n, int)
    )
    if not fits or str(dtype) != spec.dtype.name:
        raise InputError(f"input {spec.name!r}: expected {spec.dtype}{shown(spec.shape)}, got {dtype}{list(shape)}")


def write_inputs(
    arena: Array, program: Program, inputs: Mapping[str, object], lengths: Mapping[Scalar, int] | None = None
) -> None:
    """Copies them, and the sizes that they have, to their offsets in `arena` (uint8); `lengths` are those of states.
    Raises InputError as do `read_inputs` and `bind_sizes`."""
    arrays = read_inputs(program.inputs, inputs)
    sizes = bind_sizes(program.dimensions, program.inputs, arrays, lengths)
    for scalar, n in sizes.items():
        arena[program.scalars[scalar] :][:4].view(np.int32)[0] = n
    for spec, a in zip(program.inputs, arrays, strict=True):
        write_tensor(arena, spec, a)


def read_scalars(arena: Array, program: Program) -> dict[Scalar, int]:
    """The sizes of a run, those that it computed among them."""
    return {s: int(arena[at:][:4].view(np.int32)[0]) for s, at in program.scalars.items()}


def read_outputs(arena: Array, program: Program) -> dict[str, Array]:
    """The outputs of a run, copied from `arena` (uint8). InputError for a run that took a branch that does not fit."""
    scalars = read_scalars(arena, program)
    check_refusals(program.refusals, scalars.__getitem__)
    return {s.name: read_tensor(arena, s, scalars) for s in program.outputs}


def read_input(spec: TensorSpec, value: object) -> Array:
    """One of them. Raises InputError as `read_inputs` does."""
    a = _array(spec.name, value)
    check_type(spec, a.dtype, a.shape)
    return a


def _array(name: str, value: object) -> Array:
    if isinstance(value, np.ndarray) or not isinstance(value, Exchanged):
        try:
            return np.asarray(value)
        except (ValueError, TypeError) as error:
            raise InputError(f"input {name!r}: {type(value).__name__} is no array: {error}") from None
    try:
        kind, _ = value.__dlpack_device__()
        if kind != CPU:
            raise InputError(f"input {name!r} is in the memory of another device (DLPack's type {kind}): copy it first")
        return np.from_dlpack(value)
    except FAULTS as error:
        raise InputError(f"input {name!r}: {type(value).__name__} exports no data by DLPack: {error}") from None
