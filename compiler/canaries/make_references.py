"""The naive kernels of a device program, in one program for WebAssembly: a page compares launches on a user's own
inputs with them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ..gpu.find_arrangement import find_arrangement
from ..gpu.plan_for_device import DevicePlan
from ..ir.layout import Layout
from ..ir.nodes import Kernel, Load
from ..ir.rewrite import walk
from ..passes.compute_in_halves import compute_in_floats
from ..passes.store_narrow import load_wide
from ..program.device_program import CopyDimension, DeviceProgram, Launch
from ..program.program import Program, TensorSpec
from ..program.references import ReferenceArgument, ReferenceKernel
from ..system.cache import Cache
from ..target import WASM_PLAIN
from .kernel_program import kernel_program
from .place_elements import Place, place_operand, place_result
from .tolerances import EXACT, base_tolerance

MOST_BYTES = 2**30
"""Memory of a kernel's arguments above which it has no reference: a page fills it."""


def make_references(
    plan: DevicePlan, program: DeviceProgram, cache: Cache
) -> tuple[Program, tuple[ReferenceKernel, ...]] | None:
    """References of the kernels of a program that was compiled by `plan`, in order, and the program that computes them,
    a segment each. Kernels have none whose arguments are too large, or in no strided order in the device's memory; None
    where no kernel has one."""
    first: dict[int, Launch] = {}
    for launch in program.launches:
        first.setdefault(launch.kernel, launch)
    found = [r for r in (_reference(plan, program, first[number]) for number in sorted(first)) if r is not None]
    if not found:
        return None
    built = kernel_program([r.kernel for r in found], WASM_PLAIN, 0, cache)
    return built.program, tuple(
        ReferenceKernel(
            r.launch.kernel,
            tuple(map(_argument, specs, r.places, r.packings)),
            scalars,
            r.tolerance,
            r.accumulates,
        )
        for r, specs, scalars in zip(found, built.params, built.scalars, strict=True)
    )


_Dimensions = tuple[CopyDimension, ...]


@dataclass(frozen=True, slots=True)
class _Reference:
    """`kernel` is naive, in types of 32 bits. `packings`: the orders in which it has arrays that are not row-major."""

    launch: Launch
    kernel: Kernel
    places: tuple[Place, ...]
    packings: tuple[_Dimensions | None, ...]
    tolerance: float
    accumulates: bool


def _reference(plan: DevicePlan, program: DeviceProgram, launch: Launch) -> _Reference | None:
    backend, (naive, compiled) = plan.compiler.backend, plan.compiler.source_of(program.kernels[launch.kernel])
    kernel = load_wide(compute_in_floats(naive))[0]
    if sum(b.size * b.dtype.bytes for b in kernel.params) > MOST_BYTES:
        return None
    values = [program.values[a] for a in launch.arguments]
    places = [place_operand(backend, naive, compiled, i, v) for i, v in enumerate(values[:-1])]
    places.append(place_result(backend, naive, compiled, naive.params[-1].shape, values[-1]))
    found = tuple(p for p in places if p is not None)
    if len(found) < len(places):
        return None
    plain = [p.packed.is_row_major for p in found]
    packings = tuple(None if is_plain else _packing(p.packed) for p, is_plain in zip(found, plain, strict=True))
    if not all(is_plain or packing is not None for packing, is_plain in zip(packings, plain, strict=True)):
        return None
    tolerance = base_tolerance(naive)
    out = kernel.params[-1]
    accumulates = any(isinstance(n, Load) and n.buffer is out for n in walk(kernel.body))
    return _Reference(launch, kernel, found, packings, 0 if tolerance <= EXACT else tolerance, accumulates)


def _packing(packed: Layout) -> _Dimensions | None:
    return find_arrangement(Layout.row_major(packed.shape), packed)


def _argument(spec: TensorSpec, place: Place, packing: _Dimensions | None) -> ReferenceArgument:
    return ReferenceArgument(
        spec.offset,
        spec.dtype,
        prod(spec.extents),
        None if place.is_linear else place.dimensions,
        place.limits if place.is_padded else (),
        packing,
        () if packing is None else place.packed.shape,
    )
