"""The host's part of a model that runs on a device: kernels for the CPU, and an arena for what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from ..pipeline.compile_for import compile_for
from ..pipeline.lower_model import Lowered
from ..program.live_ranges import Access, LiveRange, live_ranges, owner_of
from ..program.plan_memory import Request, plan_memory
from ..program.program import Program
from ..system.run_passes import Observer, ignore
from ..target import Target
from ..tensor import Tensor
from ..tensor.place_tensors import Stored
from ..tensor.program import TensorProgram
from .place_on_host import Division, Segment


def host_program(model: Lowered, division: Division, cpu: Target, observe: Observer = ignore) -> Program | None:
    """The steps of all segments, compiled for `cpu`; None where nothing runs on the host."""
    if not division.segments:
        return None
    made = compile_for(host_model(model, division), cpu, observe)
    return replace(made, segments=tuple((s.first, s.last) for s in division.segments))


def host_offsets(model: Lowered, division: Division) -> Mapping[Tensor, int]:
    """Where in the host's arena each tensor lies that the host ever holds, in bytes."""
    return _place(model, division).offset


def host_model(model: Lowered, division: Division) -> Lowered:
    """The model of the host's groups alone, in the order of the segments' steps, for `compile_for`.

    Its inputs and outputs are those of the whole model that the host holds. Their offsets, and those of what crosses
    the border, are in `stored`. A tensor with a border of zeros shares its memory with no other, since nothing may
    ever write to the border: the arena must be zero at the start.
    """
    order = [i for s in division.segments for i in s.groups]
    inputs = tuple((name, t) for name, t in model.tensors.inputs if t in division.on_host)
    outputs = tuple((name, t) for name, t in model.tensors.outputs if owner_of(t, model.aliases) in division.results)
    return replace(
        model,
        tensors=TensorProgram(inputs, outputs, model.tensors.tensors, model.tensors.origins),
        groups=tuple(model.groups[i] for i in order),
        kernels=tuple(model.kernels[i] for i in order),
        stored=_place(model, division),
    )


def _place(model: Lowered, division: Division) -> Stored:
    """Every tensor that the host holds, for as long as it does, counted in its steps."""
    owner = {t: owner_of(t, model.aliases) for t in (*division.on_host, *model.aliases)}
    owner = {t: root for t, root in owner.items() if root in division.on_host}
    steps = [a for s in division.segments for a in _accesses(model, s)]
    inputs = tuple(t for _, t in model.tensors.inputs if t in owner)
    outputs = tuple(t for _, t in model.tensors.outputs if t in owner)
    ranges = live_ranges(steps, model.aliases, inputs, outputs)
    size: dict[Tensor, int] = {}
    bordered: set[Tensor] = set()
    for t, root in owner.items():
        layout = model.layouts[t]
        size[root] = max(size.get(root, 0), prod(layout.physical_shape) * t.dtype.bytes)
        if any(lo or hi for lo, hi in layout.pad):
            bordered.add(root)
    whole = LiveRange(0, len(steps))
    live = [whole if t in bordered else ranges[t] for t in size]
    plan = plan_memory([Request(n, max(r.first, 0), max(r.last, 0)) for n, r in zip(size.values(), live, strict=True)])
    where = dict(zip(size, plan.offsets, strict=True))
    return Stored(owner, {t: where[root] for t, root in owner.items()}, plan.peak)


def _accesses(model: Lowered, s: Segment) -> list[Access[Tensor]]:
    """Those of a segment's steps. All that it reads comes from the device before its first step, and is there, like
    all that it writes, until its last."""
    groups = [model.groups[i] for i in s.groups]
    found = [Access(tuple(t for t in g.reads if not t.is_constant), (g.output,)) for g in groups]
    found[0] = replace(found[0], writes=(*s.reads, *found[0].writes))
    found[-1] = replace(found[-1], reads=(*found[-1].reads, *s.reads, *s.writes))
    return found
