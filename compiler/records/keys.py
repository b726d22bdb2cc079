"""Keys of records: what a decision is about, whatever the model and the version of the compiler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

from ..choices import VERSION
from ..ir.layout import Layout
from ..ir.nodes import Kernel, Load, Origin
from ..ir.reduction import Reduce
from ..pipeline.lazy_kernels import describe
from ..schedule.expand_entries import expand_entries
from ..tensor import Tensor
from ..tensor.build_kernel import build_kernel
from ..tensor.fuse import Group

_DIGITS = 24


def key_of_kernel(naive: Kernel, placements: Sequence[object] = ()) -> str:
    """The key of a kernel's schedule: a hash of the naive kernel as the first records had it, where matrices were
    selections and there were no forms, and of its parameters' textures."""
    written = replace(naive, body=expand_entries(naive.body), forms=())
    return _hash("kernel", describe(written), tuple(placements))


def key_of_layer(t: Tensor) -> str:
    """The key of the decisions about a tensor: a hash of the naive kernel that computes it alone, row-major."""
    reduction = isinstance(t.body, Reduce)
    assert t.body is not None
    group = Group(
        output=t,
        axes=t.axes,
        body=Load(t.buffer, t.axes) if reduction else t.body,
        anchor=t.buffer if reduction else None,
        reduce=t.body if isinstance(t.body, Reduce) else None,
        reads=t.reads,
        origin=Origin(),
    )
    layouts = {x: Layout.row_major(x.extents) for x in (t, *t.reads)}
    return _hash("layer", describe(replace(build_kernel("layer", group, layouts), forms=())))


def _hash(*parts: object) -> str:
    kind, *_ = parts
    return f"{kind}-{sha256(chr(0).join(map(str, (VERSION, *parts))).encode()).hexdigest()[:_DIGITS]}"
