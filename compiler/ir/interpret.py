"""Runs a kernel with NumPy: the meaning that every schedule step and lowering pass must keep. Slow and exact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InternalError
from .lanes import lanes_of
from .nodes import (
    Alloc,
    Binary,
    Bitcast,
    Buffer,
    Cast,
    Const,
    Expr,
    For,
    Kernel,
    Load,
    Outline,
    Ramp,
    Select,
    Seq,
    Splat,
    Stmt,
    Store,
    Unary,
    Var,
)
from .scalar_ops import apply_binary, apply_cast, apply_unary

Array = np.ndarray[Any, np.dtype[Any]]


def interpret(kernel: Kernel, arrays: Sequence[Array]) -> None:
    """Executes `kernel` on `arrays`, one per parameter, each of its buffer's physical shape and dtype; writes outputs.

    Raises InternalError for an access outside a buffer.
    """
    memory = dict(zip(kernel.params, arrays, strict=True))
    for buffer, array in memory.items():
        if array.shape != buffer.shape or array.dtype != buffer.dtype.numpy:
            raise ValueError(f"{buffer!r} given as {array.dtype}{list(array.shape)}")
    _run(kernel.body, memory, {}, kernel.name)


def _run(s: Stmt, memory: dict[Buffer, Array], env: dict[Var, int], kernel: str) -> None:
    match s:
        case Seq(stmts):
            for x in stmts:
                _run(x, memory, env, kernel)
        case For(var, body, _, _):
            for i in range(var.extent):
                env[var] = i
                _run(body, memory, env, kernel)
        case Alloc(buffer, body):
            fill = np.nan if buffer.dtype.is_float else 0
            memory[buffer] = np.full(buffer.shape, fill, buffer.dtype.numpy)
            _run(body, memory, env, kernel)
        case Outline(body):
            _run(body, memory, env, kernel)
        case Store(buffer, indices, value):
            at = tuple(_value(i, memory, env, kernel) for i in indices)
            _check(buffer, at, kernel)
            memory[buffer][at] = _value(value, memory, env, kernel)
        case _:
            raise AssertionError(f"not a statement: {s!r}")


def _value(e: Expr, memory: dict[Buffer, Array], env: dict[Var, int], kernel: str) -> Array:
    def go(x: Expr) -> Array:
        return _value(x, memory, env, kernel)

    match e:
        case Const(value, dtype):
            return np.asarray(value, dtype.numpy)
        case Var():
            return np.asarray(env[e], np.int32)
        case Unary(op, a):
            return apply_unary(op, go(a))
        case Binary(op, a, b):
            return apply_binary(op, go(a), go(b))
        case Select(c, a, b):
            return np.where(go(c), go(a), go(b))
        case Cast(dtype, a):
            return apply_cast(dtype, go(a))
        case Bitcast(dtype, a):
            return np.asarray(go(a), order="C").view(dtype.numpy)
        case Ramp(base, lanes):
            return np.asarray(go(base) + np.arange(lanes, dtype=np.int32))
        case Splat(a, lanes):
            return np.full(lanes, go(a))
        case Load(buffer, indices, guard):
            if guard is not None and not go(guard).all():
                lanes = max((lanes_of(i) for i in indices), default=1)
                return np.zeros(lanes if lanes > 1 else (), buffer.dtype.numpy)
            at = tuple(go(i) for i in indices)
            _check(buffer, at, kernel)
            return np.asarray(memory[buffer][at])
    raise AssertionError(f"not a scalar expression: {e!r}")


def _check(buffer: Buffer, at: tuple[Array, ...], kernel: str) -> None:
    for i, extent in zip(at, buffer.shape, strict=True):
        if np.any(i < 0) or np.any(i >= extent):
            where = ", ".join(str(np.asarray(x)) for x in at)
            raise InternalError(f"kernel {kernel}: access to {buffer!r} at [{where}] is out of range")
