"""The sizes of one run, from the arrays that it is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import InputError
from ..ir.affine import affine
from ..ir.nodes import Expr, Scalar
from ..ir.sizes import Size, scalars_of, shown, value_of
from ..program.dimensions import Dimension
from ..program.program import TensorSpec
from ..program.states import check_room

Array = np.ndarray


def bind_sizes(
    dimensions: Sequence[Dimension],
    specs: Sequence[TensorSpec],
    inputs: Sequence[Array],
    lengths: Mapping[Scalar, int] | None = None,
) -> dict[Scalar, int]:
    """The scalars of `dimensions`, by the shapes of `inputs`, which are those of `specs`, and their elements; those of
    states are `lengths`.

    Raises InputError where an array does not fit the input's shape, where two of them bind a size to different values,
    and where a size is out of its range; StateFullError where the states have no room: inputs whose shapes follow
    their lengths would have none, either. How long states may be that are no input of a run is for the caller to check.
    """
    numbers: dict[Scalar, int] = dict(lengths or {})
    by: dict[Scalar, str] = dict.fromkeys(numbers, "what runs before have left")
    values = {d.value_of: d for d in dimensions if d.value_of is not None}
    for spec, array in zip(specs, inputs, strict=True):
        if spec.name in values:
            d = values[spec.name]
            _set(numbers, by, d, int(array.reshape(-1)[0]), f"the element of input {spec.name!r}")
    named = {d.scalar: d for d in dimensions}
    for spec, array in zip(specs, inputs, strict=True):
        for size, extent in zip(spec.shape, array.shape, strict=True):
            scalar, factor = _alone(size)
            if scalar is not None and scalar in named:
                d = named[scalar]
                what = f"input {spec.name!r} of shape {list(array.shape)}"
                n, rest = divmod(extent * d.multiple, factor)
                if rest:
                    raise InputError(f"{what} makes {d.name} {n + rest / factor}, which is no whole number")
                _set(numbers, by, d, n, what)
    for d in dimensions:
        if d.scalar not in numbers:
            raise InputError(f"nothing says how long {d.name} is in this run; give it one value when compiling")
    for spec, array in zip(specs, inputs, strict=True):
        expected = tuple(value_of(n, numbers) for n in spec.shape)
        if expected != array.shape:
            raise InputError(
                f"input {spec.name!r}: expected {spec.dtype}{shown(spec.shape)}, here {list(expected)} "
                f"({_told(spec.shape, named, numbers, by)}), got {array.dtype}{list(array.shape)}"
            )
    if lengths is not None:
        check_room(dimensions, numbers)
    return numbers


def _alone(size: Size) -> tuple[Scalar | None, int]:
    """The only scalar of a size that is a multiple of it, and how many of it."""
    form = affine(size) if isinstance(size, Expr) else None
    if form is None or len(form.terms) != 1 or form.constant:
        return None, 0
    ((atom, factor),) = form.terms
    return (atom, factor) if isinstance(atom, Scalar) else (None, 0)


def _set(numbers: dict[Scalar, int], by: dict[Scalar, str], d: Dimension, n: int, what: str) -> None:
    # A run may leave more rows of a state than it may find: `check_room` has the limit of what it finds.
    if n < d.least or (d.after is None and n > d.most):
        sizes = f"{d.least} to {d.most}" if d.least < d.most else f"{d.most} only"
        raise InputError(f"{what} makes {d.name} {n}, and the model was compiled for {sizes}")
    if n % d.multiple:
        raise InputError(f"{what} makes {d.name} {n}, and the model was compiled for multiples of {d.multiple}")
    number = numbers.setdefault(d.scalar, n // d.multiple)
    if number * d.multiple != n:
        raise InputError(f"{what} makes {d.name} {n}, but {by[d.scalar]} makes it {number * d.multiple}")
    by.setdefault(d.scalar, what)


def _told(
    shape: Sequence[Size], named: Mapping[Scalar, Dimension], numbers: Mapping[Scalar, int], by: Mapping[Scalar, str]
) -> str:
    dimensions = [named[s] for s in scalars_of(*(n for n in shape if isinstance(n, Expr)))]
    return "; ".join(f"{d.name} is {numbers[d.scalar] * d.multiple} by {by[d.scalar]}" for d in dimensions)
