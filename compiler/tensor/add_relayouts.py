"""Copies between the row-major order of graph inputs and outputs and the channels-last order of convolutions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..dtypes import F32
from ..ir.nodes import Origin
from ..ir.reduction import Reduce
from ..ir.rewrite import loads, replace_buffers
from ..ir.sizes import capacities, capacity
from .program import TensorProgram
from .replace_tensors import replace_tensors
from .spatial_reads import is_along_rows, reads_spatially
from .tensor import Tensor, compute


def add_relayouts(program: TensorProgram, rows: int = 0) -> TensorProgram:
    """A copy after each graph input that a convolution reads, and before each graph output that one produces.

    Graph inputs and outputs are row-major; the copies change the layout and write the halo. Images of fewer channels
    than `rows` stay row-major, and are copied for a halo alone.
    """
    readers: dict[Tensor, list[Tensor]] = {}
    for t in program.tensors:
        for r in t.reads:
            readers.setdefault(r, []).append(t)
    copies = {
        t: _copy(f"{name}_channels_last", t)
        for name, t in program.inputs
        if any(
            _is_spatial_read(u, t) and (_has_halo(u, t) or not _is_along_rows(u, t, rows)) for u in readers.get(t, [])
        )
    }
    swapped = _replace_reads(program.tensors, copies)
    body = tuple(swapped.get(t, t) for t in program.tensors)
    origins = {swapped.get(t, t): o for t, o in program.origins.items()}
    origins.update({c: Origin((t.name,), ("Layout",)) for t, c in copies.items()})
    channels_last = _made_channels_last(body, rows)
    outputs, extra = [], []
    for name, t in program.outputs:
        t = swapped.get(t, t)
        if t in channels_last and capacity(t.shape[1]) > 1 and any(n > 1 for n in capacities(t.shape[2:])):
            extra.append(_copy(name, t))
            origins[extra[-1]] = Origin((name,), ("Layout",))
            t = extra[-1]
        outputs.append((name, t))
    if not copies and not extra:
        return program
    copied = {c.reads[0] for c in extra} & {*program.tensors}
    result = replace(
        program,
        outputs=tuple(outputs),
        tensors=(*copies.values(), *body, *extra),
        origins=origins,
        stored=program.stored | {*copies.values(), *(c.reads[0] for c in extra)},
    )
    # A loop or a branch that reads an output reads the copy; what is copied is another tensor.
    return replace_tensors(result, lambda t: (replace(t),) if t in copied else (t,))


def _copy(name: str, t: Tensor) -> Tensor:
    return compute(name, t.shape, (t,), lambda *i: t.read(i))


def _replace_reads(tensors: tuple[Tensor, ...], copies: Mapping[Tensor, Tensor]) -> dict[Tensor, Tensor]:
    """Tensors rebuilt to read the copies; only those downstream of one change."""
    done: dict[Tensor, Tensor] = {}
    for t in tensors:
        moved = {r: copies.get(r, done.get(r, r)) for r in t.reads}
        if any(a is not b for a, b in moved.items()):
            assert t.body is not None
            body = replace_buffers(t.body, {a.buffer: b.buffer for a, b in moved.items()})
            done[t] = replace(t, body=body, reads=tuple(moved.values()))
    return done


def _made_channels_last(tensors: tuple[Tensor, ...], rows: int) -> set[Tensor]:
    """Results of convolutions and poolings, and element-wise maps over them."""
    channels_last: set[Tensor] = set()
    for t in tensors:
        if t.rank < 3 or t.dtype != F32:
            continue
        if any(
            (_is_spatial_read(t, r) and not _is_along_rows(t, r, rows))
            or (r in channels_last and r.shape == t.shape and not t.is_reduction)
            for r in t.reads
        ):
            channels_last.add(t)
    return channels_last


def _is_spatial_read(user: Tensor, t: Tensor) -> bool:
    """Whether reduction `user` reads `t` as a convolution or pooling does."""
    if not isinstance(user.body, Reduce) or user.dtype != F32:
        return False
    return reads_spatially(user.body, user.axes, user.reads, t)


def _is_along_rows(user: Tensor, t: Tensor, rows: int) -> bool:
    return isinstance(user.body, Reduce) and is_along_rows(user.body, (user, t), rows)


def _has_halo(user: Tensor, t: Tensor) -> bool:
    """Whether `user` may read a halo of zeros around `t`."""
    if not isinstance(user.body, Reduce) or user.body.op != "sum":
        return False
    return any(x.buffer is t.buffer and x.guard is not None for x in loads(user.body.value))
