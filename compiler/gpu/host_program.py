"""The host's part of a model that runs on a device: kernels for the CPU, and their arena."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from ..cpu.compile_for_cpu import compile_for_cpu
from ..pipeline.lowered import Lowered
from ..program.dimensions import Dimension
from ..program.live_ranges import Access, LiveRange, live_ranges, owner_of
from ..program.plan_memory import Request, plan_memory
from ..program.program import Program
from ..system.run_passes import Observer, ignore
from ..target import Target
from ..tensor import Tensor
from ..tensor.place_tensors import Stored
from ..tensor.steps import is_straight
from .partition_host import HostPartition, Segment


def host_program(model: Lowered, partition: HostPartition, cpu: Target, observe: Observer = ignore) -> Program | None:
    """The steps of all segments, compiled for `cpu`; None where nothing runs on the host."""
    if not partition.segments:
        return None
    program = compile_for_cpu(host_model(model, partition), cpu, observe)
    return replace(program, segments=tuple((s.first, s.last) for s in partition.segments))


def host_offsets(model: Lowered, partition: HostPartition) -> Mapping[Tensor, int]:
    """The offset in the host's arena, in bytes, of each tensor that the host ever holds."""
    return _place(model, partition).offset


def host_model(model: Lowered, partition: HostPartition) -> Lowered:
    """The model of the host's groups alone, in the order of the segments' steps, for `compile_for_cpu`.

    Its inputs and outputs are those of the whole model that the host holds. Their offsets, and those of values that are
    read back or uploaded, are in `stored`. Halos rely on zero-initialised memory: a tensor with one shares its memory
    with no other, and the arena must be zero at the start. Whoever calls a segment writes all scalars, as if they were
    dimensions, and tests refusals.
    """
    order = [i for s in partition.segments for i in s.groups]
    states = dict(model.tensors.state_tensors)
    inputs = tuple((name, t) for name, t in model.tensors.inputs if t in partition.on_host and t not in states)
    outputs = tuple((name, t) for name, t in model.tensors.outputs if owner_of(t, model.aliases) in partition.results)
    scalars = dict.fromkeys(s for i in order for s in model.kernels[i].scalars)
    dimensions = tuple(Dimension(s.name, s) for s in scalars)
    return replace(
        model,
        tensors=replace(model.tensors, inputs=inputs, outputs=outputs, dimensions=dimensions, refusals=(), states=()),
        groups=tuple(model.groups[i] for i in order),
        kernels=tuple(model.kernels[i] for i in order),
        stored=_place(model, partition),
        steps=tuple(range(len(order))),
    )


def _place(model: Lowered, partition: HostPartition) -> Stored:
    """Every tensor that the host holds, by its live range in the host's steps."""
    # In the order of the model: that of a set of tensors is another in each build.
    ordered = (*(t for _, t in model.tensors.inputs), *(g.output for g in model.groups))
    owners = dict.fromkeys(owner_of(t, model.aliases) for t in ordered)
    owner = {t: owner_of(t, model.aliases) for t in (*owners, *model.aliases)}
    owner = {t: root for t, root in owner.items() if root in partition.on_host}
    steps = [a for s in partition.segments for a in _accesses(model, s)]
    inputs = tuple(t for _, t in model.tensors.inputs if t in owner)
    outputs = tuple(t for _, t in model.tensors.outputs if t in owner)
    # What loops repeat keeps its memory: a value may be of use in the next iteration.
    repeated = not is_straight(partition.steps)
    ranges = {} if repeated else live_ranges(steps, model.aliases, inputs, outputs)
    size: dict[Tensor, int] = {}
    with_halo: set[Tensor] = set()
    for t, root in owner.items():
        layout = model.layouts[t]
        size[root] = max(size.get(root, 0), prod(layout.physical_shape) * t.dtype.bytes)
        if any(lo or hi for lo, hi in layout.pad):
            with_halo.add(root)
    whole = LiveRange(0, len(steps))
    live = [whole if repeated or t in with_halo else ranges[t] for t in size]
    plan = plan_memory([Request(n, max(r.first, 0), max(r.last, 0)) for n, r in zip(size.values(), live, strict=True)])
    offset = dict(zip(size, plan.offsets, strict=True))
    return Stored(owner, {t: offset[root] for t, root in owner.items()}, plan.peak)


def _accesses(model: Lowered, s: Segment) -> list[Access[Tensor]]:
    """The accesses of a segment's steps. Its operands are read back before its first step; they, its results and the
    scalars that are measured behind it are live until its last."""
    groups = [model.groups[i] for i in s.groups]
    sources = {*model.measured.values()}
    measured = tuple(g.output for g in groups if g.output in sources)
    accesses = [Access(tuple(t for t in g.reads if not t.is_constant), (g.output,)) for g in groups]
    accesses[0] = replace(accesses[0], writes=(*s.reads, *accesses[0].writes))
    accesses[-1] = replace(accesses[-1], reads=(*accesses[-1].reads, *s.reads, *s.writes, *measured))
    return accesses
