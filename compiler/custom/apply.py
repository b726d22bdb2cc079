"""Operators inside the definition of another one."""

from __future__ import annotations

import numpy as np

from ..ops import OPERATORS, OperatorFn
from ..ops.call import Call
from ..tensor import Tensor, constant
from .operator import CustomOperator, ReadAttributes

OPSETS = {"": 21, "ai.onnx.ml": 3, "com.microsoft": 1}
"""By domain the version whose operators are applied."""

Operand = Tensor | np.ndarray | None
"""An input: a tensor, an array as a constant, None where it is absent."""


def apply(call: Call, op: str | CustomOperator, *inputs: Operand, domain: str = "", **attributes: object) -> Tensor:
    """Like `apply_all`, the first output alone."""
    return apply_all(call, op, *inputs, outputs=1, domain=domain, **attributes)[0]


def apply_all(
    call: Call, op: str | CustomOperator, *inputs: Operand, outputs: int, domain: str = "", **attributes: object
) -> tuple[Tensor, ...]:
    """The tensors of the outputs of an operator, in the definition of the one that `call` is a use of.

    `op` is an operator of `domain` by its name, in opset 21 of ai.onnx (""), or one that the user defines.
    `attributes` are numbers, strings, arrays, and lists of numbers or strings. Raises ValueError where there is no such
    operator, where it has fewer outputs and where it does not read an attribute; TypeError for an input that is none
    of these; UnsupportedError where it does not take these inputs.
    """
    if isinstance(op, CustomOperator):
        define: OperatorFn | None = op
        name, domain, version = op.op_type, op.domain, call.opset if op.domain == call.domain else op.since
    else:
        define, name, version = OPERATORS.get((domain, op)), op, OPSETS.get(domain, 1)
    if define is None:
        raise ValueError(f"there is no operator {name!r} of the domain {domain or 'ai.onnx'!r}")
    stem = f"{call.name}.{name}"
    read = ReadAttributes({key: _attribute(key, value) for key, value in attributes.items()})
    for i, t in enumerate(inputs):
        if t is not None and not isinstance(t, Tensor | np.ndarray):
            raise TypeError(f"input {i} of {name} is a {type(t).__name__}: give a tensor, an array of NumPy, or None")
    operands = tuple(constant(f"{stem}.{i}", t) if isinstance(t, np.ndarray) else t for i, t in enumerate(inputs))
    results = define(Call(name, stem, version, read, operands, outputs, domain, call.refusals))
    tensors = results if isinstance(results, tuple) else (results,)
    if len(tensors) < outputs:
        raise ValueError(f"{name} has {len(tensors)} outputs here, not {outputs}")
    unread = sorted(set(read) - read.names)
    if unread and not isinstance(op, CustomOperator):
        raise ValueError(f"{name} does not read the attribute {unread[0]!r}")
    return tensors


def _attribute(name: str, value: object) -> object:
    """A value as nodes have it."""
    if isinstance(value, bool | np.generic):
        value = int(value) if isinstance(value, bool | np.bool_) else value.item()
    if isinstance(value, list):
        value = tuple(value)
    if not isinstance(value, int | float | str | tuple | np.ndarray):
        raise ValueError(f"attribute {name} is a {type(value).__name__}: give a number, a string, an array or a list")
    return value
