"""Checks the outputs of a device, which is not trusted, against the model's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..ir.nodes import Expr, Scalar
from ..ir.sizes import Size, capacity, scalars_of, shown, value_of
from ..program.program import TensorSpec

Array = np.ndarray


def check_outputs(specs: Sequence[TensorSpec], sizes: Mapping[Scalar, int], outputs: Mapping[str, Array]) -> None:
    """Raises ValueError unless `outputs` are those of `specs`, of their dtypes and shapes in a run with these `sizes`.
    Of a length that the data decides only the bound is known."""
    names = [s.name for s in specs]
    if sorted(names) != sorted(outputs):
        raise ValueError(f"outputs {sorted(outputs)}, where the model has {sorted(names)}")
    for spec in specs:
        array = outputs[spec.name]
        fits = len(array.shape) == len(spec.shape) and all(
            _fits(n, sizes, extent) for n, extent in zip(spec.shape, array.shape, strict=True)
        )
        if not fits or array.dtype.name != spec.dtype.name:
            here = [value_of(n, sizes) if _is_known(n, sizes) else n for n in spec.shape]
            actual = f"{array.dtype}{list(array.shape)}"
            raise ValueError(f"output {spec.name!r} as {actual}, where the model has {spec.dtype}{shown(here)}")


def _fits(n: Size, sizes: Mapping[Scalar, int], extent: int) -> bool:
    return extent == value_of(n, sizes) if _is_known(n, sizes) else extent <= capacity(n)


def _is_known(n: Size, sizes: Mapping[Scalar, int]) -> bool:
    return not isinstance(n, Expr) or all(s in sizes for s in scalars_of(n))
