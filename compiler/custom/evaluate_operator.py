"""Computes one use of an operator on arrays, as a reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from ..ops.call import Call
from ..tensor import constant
from ..tensor.computed_sizes import definition
from ..tensor.evaluate import evaluate
from .operator import CustomOperator, line_of

Array = np.ndarray[Any, np.dtype[Any]]

TOLERANCE = 1e-3
"""Largest difference of a reference and a definition, relative to max(1, largest magnitude): what --verify allows a
model with fast mathematics."""


def describe_reference(op: CustomOperator) -> str:
    """Describes how --verify computes the operator."""
    if op.reference is None:
        return "by its definition, in the interpreter: generated code is compared, not the definition with another"
    return f"by {getattr(op.reference, '__name__', 'its reference')} of {op.place.partition(':')[0]}"


def evaluate_operator(
    op: CustomOperator,
    name: str,
    opset: int,
    inputs: Sequence[Array | None],
    attributes: Mapping[str, object],
    outputs: int,
) -> list[Array]:
    """Arrays of the outputs of the node `name`: by the operator's reference, or else by its definition, in NumPy.

    Raises InputError for a fault of either, and where they differ: in types or shapes, or by more than TOLERANCE of the
    largest magnitude.
    """
    operands = tuple(None if a is None else constant(f"{name}.{i}", a) for i, a in enumerate(inputs))
    with definition(name) as defined:
        tensors = op(Call(op.op_type, name, opset, attributes, operands, outputs, op.domain))[:outputs]
    by_definition = [evaluate(t, sizes=defined.sizes) for t in tensors]
    if op.reference is None:
        return by_definition
    where = f"the reference of {op.name} (node {name!r})"
    try:
        returned = op.reference(*inputs, **attributes)
    except Exception as error:
        line = line_of(error, op.file) or op.line
        raise InputError(f"{op.file}:{line}: {where} failed with {type(error).__name__}: {error}") from error
    arrays = [np.asarray(a) for a in (returned if isinstance(returned, tuple | list) else (returned,))]
    if len(arrays) < outputs:
        raise InputError(f"{op.file}:{op.line}: {where} returned {len(arrays)} of {outputs} outputs")
    for i, (a, b) in enumerate(zip(arrays, by_definition, strict=False)):
        fault = _difference(a, b)
        if fault is not None:
            raise InputError(f"{op.file}:{op.line}: output {i} by {where} {fault}; mend one of them")
    return [a.astype(b.dtype) for a, b in zip(arrays, by_definition, strict=False)]


def _difference(a: Array, b: Array) -> str | None:
    """How a reference's array `a` differs from the definition's `b`; None where it does not."""
    if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
        return f"is {a.dtype}{list(a.shape)}, and by the definition {b.dtype}{list(b.shape)}"
    x, y = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(x)
    if not np.array_equal(np.isfinite(y), finite) or not np.array_equal(x[~finite], y[~finite], equal_nan=True):
        return "has NaN or infinity elsewhere than by the definition"
    error = np.abs(x - y)[finite].max(initial=0.0)
    largest = max(1.0, float(np.abs(x[finite]).max(initial=0.0)))
    return None if error <= TOLERANCE * largest else f"differs from that by the definition by {error:.3g}"
