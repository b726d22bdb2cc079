"""Replaces tensors of a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from .program import TensorProgram
from .tensor import Tensor


def replace_tensors(program: TensorProgram, make: Callable[[Tensor], Sequence[Tensor]]) -> TensorProgram:
    """Each tensor, after its operands are replaced, becomes the tensors that `make` returns for it, in order; the last
    is its replacement, and all have its origin. `make` returns the tensor itself to keep it. The same program where
    nothing changes."""
    done: dict[Tensor, Tensor] = {}
    tensors: list[Tensor] = []
    origins = dict(program.origins)
    for t in program.tensors:
        reads = tuple(done.get(r, r) for r in t.reads)
        replacement = make(t if reads == t.reads else replace(t, reads=reads))
        tensors += replacement
        origins.update(dict.fromkeys(replacement, program.origins[t]))
        if replacement[-1] is not t:
            done[t] = replacement[-1]
            del origins[t]
    if not done:
        return program
    outputs = tuple((name, done.get(t, t)) for name, t in program.outputs)
    stored = frozenset(done.get(t, t) for t in program.stored)
    return replace(program, outputs=outputs, tensors=tuple(tensors), origins=origins, stored=stored)
