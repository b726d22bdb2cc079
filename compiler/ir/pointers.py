"""Pointers: what accesses to global memory go through at the end of a CPU kernel's lowering. A pointer is a flat global
buffer whose element 0 is where the statement that makes it says, as that of a function's parameter is."""

from __future__ import annotations

from dataclasses import dataclass

from .calls import Call, Pointer
from .nodes import Buffer, For, Load, LoopKind, Stmt


@dataclass(frozen=True, slots=True)
class PointTo(Stmt):
    """`pointer` is `address` in `body`. The origin of an `opaque` one is hidden from the compiler behind this one,
    which computes what stands before it before."""

    pointer: Buffer
    address: Pointer
    body: Stmt
    opaque: bool = False


@dataclass(frozen=True, slots=True)
class LoopPointer:
    """A pointer that a loop advances: `start` in the first iteration, and `step` elements further in each other."""

    pointer: Buffer
    start: Pointer
    step: int


@dataclass(frozen=True, slots=True)
class Advancing(Stmt):
    """`body`, the whole body of a loop, which advances `pointers`."""

    pointers: tuple[LoopPointer, ...]
    body: Stmt


@dataclass(frozen=True, slots=True)
class Opaque(Stmt):
    """Elements of local buffers, of which the compiler behind this one loses sight: what stands before is computed
    before."""

    elements: tuple[Load, ...]


def shared_loop(call: Call) -> For | None:
    """The loop of which a function takes a range of iterations, if it does: the function may compute pointers first."""
    body = call.body
    while isinstance(body, PointTo):
        body = body.body
    return body if isinstance(body, For) and body.kind is LoopKind.CORE else None
