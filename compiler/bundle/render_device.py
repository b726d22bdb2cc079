"""A device program as the runtime's JSON: kernels as source text, the rest as tables of indices.

Tables have their columns as lists, in which equal fields follow each other: compressed, they take less than rows. What
grows from row to row stands as differences, many of which are equal: columns of DIFFERENCES from the row before, a
launch's arguments from the last argument of the launch before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from math import floor, log10, prod
from typing import Any

from ..ir.nodes import Expr, Scalar
from ..ir.size_data import expression_data
from ..ir.sizes import number, scalars_of
from ..program.device_program import (
    UNIT,
    Alternative,
    Canary,
    Constant,
    CopyDimension,
    DeviceKernel,
    DeviceProgram,
    HostCall,
    Launch,
    Padding,
    ReadScalar,
    ScalarLocation,
    Step,
    Steps,
    Storage,
)
from ..program.steps import Branch, Loop
from .artifact import KernelInfo
from .pack_source import pack_source
from .size_data import Numbers, number_scalars

DIFFERENCES = ("offset", "storage", "value")
"""Columns that runtime-js/device/device_program.js adds up."""

SUMS = 1e-4
"""The tolerance of most canaries, which is left out."""


def render_device(program: DeviceProgram) -> bytes:
    """UTF-8. device_program.py documents the fields; tensors are counted in elements, shapes are left out. Steps name
    launches and calls of the host by their numbers."""
    numbers = scalar_numbers(program)
    steps = _Steps(program, numbers)
    canaries = {program.launches[c.launch].kernel: c for c in program.canaries}
    document: dict[str, Any] = {
        "features": sorted({feature for k in program.kernels for feature in k.features}),
        "values": _columns(
            {"storage": v.storage, "dtype": str(v.dtype), "length": prod(v.shape)} for v in program.values
        ),
        "constants": _columns(map(_constant, program.constants)),
        "launches": _columns(_launches(program, numbers)),
        "calls": [_call(s) for s in program.calls],
        "prepare": steps.render(program.prepare),
        "steps": steps.render(program.steps),
        "crossings": program.readbacks,
        "inputs": [port.value for port in program.inputs],
        "outputs": [port.value for port in program.outputs],
    }
    if program.states:
        document["states"] = [port.value for port in program.states]
    if program.host is not None:
        document["host"] = {
            "inputs": [port.spec.offset for port in program.inputs],
            "outputs": [port.spec.offset for port in program.outputs],
        }
        if program.host.scalars:
            document["host"]["scalars"] = [[numbers[s], offset] for s, offset in program.host.scalars.items()]
    document["storages"] = _columns(map(_storage, program.storages))
    # Last, so that the small tables lie together, small numbers beside each other: a compressor sees 32 kB, and sources
    # are 3 times that.
    checked = _columns(_canary(canaries.get(i)) for i in range(len(program.kernels)))
    kernels = checked | _columns(map(_kernel, program.kernels))
    order = {"grid": -1, "source": 1, "subgroups": 1}
    document["kernels"] = dict(sorted(kernels.items(), key=lambda column: order.get(column[0], 0)))
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def render_alternatives(program: DeviceProgram) -> bytes:
    """The alternatives of kernels, by their numbers: fields that are other than the kernel's. UTF-8, and empty where
    there are none. A page fetches them where a canary fails."""
    kernels = {
        number: [_alternative(a, program.kernels[number]) for a in alternatives]
        for number, alternatives in program.alternatives.items()
    }
    return json.dumps(kernels, ensure_ascii=False, separators=(",", ":")).encode() if kernels else b""


def _alternative(alternative: Alternative, kernel: DeviceKernel) -> dict[str, Any]:
    own, other = _kernel(kernel), _kernel(alternative.kernel)
    changed = {f: other.get(f) for f in ("source", "grid", "strips") if other.get(f) != own.get(f)}
    return {"taken": alternative.kind, **changed}


def _columns(rows: Iterable[dict[str, Any]]) -> dict[str, list[Any]]:
    """By the names of fields; None where a row has none, and nothing where none of those behind it has one."""
    listed = list(rows)
    names = dict.fromkeys(name for row in listed for name in row)
    columns = {name: [row.get(name) for row in listed] for name in names}
    for column in columns.values():
        while column[-1] is None:
            column.pop()
    return {name: _differences(fields) if name in DIFFERENCES else fields for name, fields in columns.items()}


def _differences(numbers: Sequence[Any]) -> list[int]:
    return [number - before for before, number in pairwise((0, *numbers))]


def scalar_numbers(program: DeviceProgram) -> dict[Scalar, int]:
    """Numbers all scalars that the runtime computes, first the ones that a bundle's backends share."""
    launched = (s for launch in program.launches for s in launch.scalars)
    of_host = program.host.scalars if program.host is not None else ()
    outputs = [port.spec for port in program.outputs]
    return number_scalars(
        program.dimensions, outputs, program.refusals, (*launched, *of_host, *_scalars_of(program.steps))
    )


def _scalars_of(steps: Steps) -> Iterator[Scalar]:
    for step in steps:
        match step:
            case Loop(counter=counter, trips=trips, body=body):
                yield counter
                yield from scalars_of(number(trips))
                yield from _scalars_of(body)
            case Branch(condition, then, otherwise):
                yield from scalars_of(condition) if isinstance(condition, Expr) else ()
                yield from _scalars_of((*then, *otherwise))
            case ReadScalar(scalar=scalar):
                yield scalar


class _Steps:
    """The steps of a program as `device_program.js` has them."""

    def __init__(self, program: DeviceProgram, numbers: Numbers) -> None:
        self._numbers = numbers
        self._launches = {id(launch): i for i, launch in enumerate(program.launches)}
        self._calls = {id(call): i for i, call in enumerate(program.calls)}

    def render(self, steps: Steps) -> list[Any]:
        rendered: list[Any] = []
        for launches, run in groupby(steps, lambda s: isinstance(s, Launch)):
            if launches:
                numbers = [self._launches[id(s)] for s in run]
                rendered.append([numbers[0], numbers[-1] + 1])
            else:
                rendered += map(self._step, run)
        return rendered

    def _step(self, step: Step) -> Any:
        match step:
            case HostCall():
                return {"call": self._calls[id(step)]}
            case ReadScalar(scalar, place):
                return {"scalar": self._numbers[scalar], **_place(place)}
            case Loop(counter, trips, condition, body):
                until = {} if condition is None else {"until": _place(condition)}
                trips = expression_data(trips, self._numbers)
                return {"counter": self._numbers[counter], "trips": trips, **until, "body": self.render(body)}
            case Branch(condition, then, otherwise):
                return {"if": self._tested(condition), "then": self.render(then), "else": self.render(otherwise)}

    def _tested(self, condition: ScalarLocation | Expr) -> dict[str, Any]:
        if isinstance(condition, Expr):
            return {"sizes": expression_data(condition, self._numbers)}
        return dict(_place(condition))


def _place(place: ScalarLocation) -> dict[str, int]:
    fields = {"value": place.value, "offset": place.offset, "input": place.input}
    return {name: n for name, n in fields.items() if n >= 0}


def render_steps(kernels: Sequence[KernelInfo]) -> bytes:
    """The launches of a run on the CPU, for its profile."""
    steps = [{"name": k.name, "nodes": list(k.nodes), "ops": list(k.ops)} for k in kernels]
    return json.dumps(steps, ensure_ascii=False, separators=(",", ":")).encode()


def _kernel(kernel: DeviceKernel) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": kernel.name,
        "source": pack_source(kernel.source),
        "access": "".join("w" if p.access == "write" else "r" for p in kernel.params),
        "grid": [expression_data(n, {s: i for i, s in enumerate(kernel.scalars)}) for n in kernel.grid],
        "flops": _rounded(kernel.flops),
        "bytes": _rounded(kernel.bytes),
    }
    if kernel.with_subgroups is not None:
        entry["subgroups"] = pack_source(kernel.with_subgroups)
    if kernel.strips is not None:
        entry["strips"] = [
            expression_data(n, {s: i for i, s in enumerate(kernel.scalars)}) for n in kernel.strips.sizes
        ]
    if kernel.scalars:
        entry["scalars"] = len(kernel.scalars)
    if (d := kernel.declarations) is not None:
        entry["declarations"] = {"samplers": list(d.samplers), "output": d.output}
    return entry


def _rounded(number: int) -> int:
    """To three digits, which is enough for what is shown of them and for what takes how long."""
    return round(number, 3 - len(str(number)))


def _to_digits(number: float, last: int) -> float:
    """To the digit of 10^last."""
    rounded = round(number, -last)
    return int(rounded) if rounded.is_integer() else rounded


def _storage(storage: Storage) -> dict[str, Any]:
    entry: dict[str, Any] = {"dtype": str(storage.dtype)}
    if (place := storage.placement) is not None:  # of four elements each
        entry["texture"] = [place.width, place.height, place.layers]
    else:
        entry["bytes"] = storage.bytes
    if storage.prepare_only:
        entry["prepareOnly"] = True
    if storage.state:
        entry["state"] = True
    return entry


def _constant(c: Constant) -> dict[str, Any]:
    entry: dict[str, Any] = {"value": c.value, "offset": c.offset, "bytes": c.bytes, "dtype": str(c.dtype)}
    if c.dimensions is not None:
        entry["digits"] = render_dimensions(c.dimensions)
        entry["limits"] = list(c.limits)
    return entry


def render_dimensions(dimensions: Sequence[CopyDimension]) -> list[list[int]]:
    """Dimensions of a strided copy, as `arrange.js` takes them: without an axis where there is none, or its weight
    of 1."""
    lengths = (2 if d.axis < 0 else 3 if d.weight == 1 else 4 for d in dimensions)
    return [[d.extent, d.stride, d.axis, d.weight][:n] for d, n in zip(dimensions, lengths, strict=True)]


def _canary(c: Canary | None) -> dict[str, Any]:
    """Further fields of a kernel."""
    if c is None:
        return {}
    entry: dict[str, Any] = {"checksum": _to_digits(c.checksum, floor(log10(c.tolerance * c.norm / 2)))}
    if c.tolerance != SUMS:
        entry["tolerance"] = c.tolerance
    if c.scalars:
        entry["sizes"] = list(c.scalars)
    if c.floats != UNIT:
        entry["floats"] = c.floats
    if c.integers is not None:
        entry["integers"] = c.integers
    if c.most is not None:
        entry["most"] = c.most
    if c.padding:
        entry["outside"] = {p.argument: [_outside(p), list(p.limits)] for p in c.padding}
    return entry


def _outside(padding: Padding) -> list[list[int]]:
    """Dimensions without strides, which mean nothing there, where they are the last."""
    return [d[:1] if len(d) == 2 else d for d in render_dimensions(padding.dimensions)]


def _launches(program: DeviceProgram, numbers: Numbers) -> Iterator[dict[str, Any]]:
    """The name is left out where it is the kernel's."""
    last = 0
    for launch in program.launches:
        entry: dict[str, Any] = {"kernel": launch.kernel}
        if launch.name != program.kernels[launch.kernel].name:
            entry["name"] = launch.name
        entry["arguments"] = [argument - last for argument in launch.arguments]
        last = launch.arguments[-1]
        entry |= {"nodes": list(launch.nodes), "ops": list(launch.ops)}
        if launch.scalars:
            entry["scalars"] = [numbers[s] for s in launch.scalars]
        yield entry


def _call(step: HostCall) -> dict[str, Any]:
    reads, writes = len(step.reads), len(step.writes)
    places = list(zip((*step.reads, *step.writes), step.offsets, strict=True))
    return {
        "reads": [{"value": value, "offset": offset} for value, offset in places[:reads]],
        "writes": [{"value": value, "offset": offset} for value, offset in places[reads : reads + writes]],
        "name": step.name,
        "nodes": list(step.nodes),
        "ops": list(step.ops),
        "reason": step.reason,
    }
