"""Kernels that are one loop for several threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

PARALLEL_FOR = "parallel_for"
"""`void parallel_for(ptr body, ptr arguments, i32 extent)` of the target calls `body(arguments, begin, end)` for chunks
that make up 0 .. extent, on any threads in any order, and returns when all are done."""


@dataclass(frozen=True, slots=True)
class WholeLoop:
    """A kernel that is one loop of `extent` iterations: the function `body` takes the address of its arguments and a
    range of them. `types` and `fields` are those of the arguments, LLVM's types and the numbers of the kernel's
    parameters and, behind these, its scalars. `sizes` are the bytes of the parameters, of which the last `outputs` are
    written."""

    body: str
    types: Sequence[str]
    fields: Sequence[int]
    extent: int
    sizes: Sequence[int]
    outputs: int


def structure(types: Sequence[str]) -> str:
    """LLVM's type of the arguments in memory."""
    return f"{{ {', '.join(types)} }}"
