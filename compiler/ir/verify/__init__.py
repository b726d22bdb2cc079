"""Checks what every kernel must hold, and what holds after each lowering pass: errors name the pass that broke it, not
a later one that fails.

`statements` walks a kernel and binds names; `types`, `accesses` and `grid` check what stands at each node, `forms` what
the loops of a naive kernel are, `stages` what is gone after a pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ...errors import InternalError
from ..nodes import Buffer, Kernel, Scope
from ..scalar_ops import DOTS
from .forms import check_forms
from .place import Place
from .stages import LOWERED, LOWERED_BINARY, LOWERED_UNARY, has_flat_indices, leftovers
from .statements import check_statement

__all__ = ["LOWERED", "LOWERED_BINARY", "LOWERED_UNARY", "verify_kernel"]


def verify_kernel(kernel: Kernel, after: str) -> None:
    """Raises InternalError that names the pass `after` and the kernel, unless

    variables and buffers are bound, indices are int32 and as many as dimensions, every access is proved to stay in its
    buffer, operands agree in dtype and lanes, constants fit their dtype, and outputs alone are written. After a pass of
    LOWERED, what that pass and those before it do away with must be gone; of flat indices, which no longer show the
    dimension that a condition is about, only those known to be out of range are rejected.
    """
    problem = next(_problems(kernel, after), None)
    if problem is not None:
        raise InternalError(f"after {after}: kernel {kernel.name}: {problem}; please report this with the model")


def _problems(kernel: Kernel, after: str) -> Iterator[str]:
    yield from _parameters(kernel)
    written = frozenset(p for p in kernel.params[len(kernel.params) - kernel.outputs :] if not p.constant)
    top = Place(frozenset(kernel.params), written, has_flat_indices(kernel, after), frozenset(kernel.scalars))
    yield from check_statement(kernel.body, top)
    yield from leftovers(kernel, after)
    if kernel.forms:
        yield from check_forms(kernel)


def _parameters(kernel: Kernel) -> Iterator[str]:
    if len(set(kernel.params)) < len(kernel.params) or not 0 < kernel.outputs <= len(kernel.params):
        yield f"it has {len(kernel.params)} parameters, {kernel.outputs} of them outputs"
    if len(set(kernel.scalars)) < len(kernel.scalars):
        yield "a scalar is listed twice"
    for p in kernel.params:
        if p.scope is not Scope.GLOBAL:
            yield f"parameter {p!r} is local"
        if p.layout is not None and not _is_of_shape(p, p.layout.physical_shape) and len(p.shape) > 1:
            yield f"parameter {p!r} is not of its layout's shape {list(p.layout.physical_shape)}"


def _is_of_shape(buffer: Buffer, shape: tuple[int, ...]) -> bool:
    """Whether a buffer has the elements of a physical `shape`, or words of neighbours in its last dimension, or in its
    last two."""
    groups = {dot.group for dot in DOTS.values()}
    words = ((*buffer.shape, n) for n in groups)
    *outer, last = buffer.shape or (1,)
    ends = (shape, (*shape[:-2], prod(shape[-2:])))
    return shape in (buffer.shape, *words) or any((*outer, n * last) in ends for n in groups)
