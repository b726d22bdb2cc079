"""Nodes that replace outlined regions and loops for LLVM: functions with their arguments, iterations with what passes
from one to the next, bodies with constants in registers. They stand in a kernel at the end of its lowering, when
indices are flat and vectors are made."""

from __future__ import annotations

from dataclasses import dataclass

from .lanes import Splat
from .nodes import Buffer, Expr, Load, Stmt, Var


@dataclass(frozen=True, slots=True)
class Pointer:
    """The address of element `offset` of a global buffer. May precede the buffer where each access is guarded."""

    buffer: Buffer
    offset: Expr


@dataclass(frozen=True, slots=True)
class Call(Stmt):
    """Calls a function whose body is `body`: element 0 of each of `params` is where its pointer points, and `numbers`
    are variables of loops around the call. The body has no other buffer and no other variable from outside.

    Where `body` is a CORE loop, the function takes a range of its iterations, and is called by `parallel_for`.
    """

    body: Stmt
    params: tuple[Buffer, ...]
    pointers: tuple[Pointer, ...]
    numbers: tuple[Var, ...]


@dataclass(frozen=True, slots=True)
class Advance:
    """A pointer that moves by `step` elements, which are more than none, from one iteration to the next."""

    pointer: Pointer
    step: int


@dataclass(frozen=True, slots=True)
class UnrolledInOrder(Stmt):
    """The iterations of a loop, sequentially and without overlap: between two of them the compiler behind this one
    loses sight of `sums`, elements of local buffers, and of the pointers in `advances`.

    Single elements at an advancing pointer plus a constant are read through it; their indices need no mark.
    """

    iterations: tuple[Stmt, ...]
    sums: tuple[Load, ...]
    advances: tuple[Advance, ...]


@dataclass(frozen=True, slots=True)
class HoistedConstants(Stmt):
    """`body`, the whole body of a loop but for the pointers that this advances, with `constants` that the loop finds in
    registers."""

    constants: tuple[Splat, ...]
    body: Stmt
