"""Launches that share one call of `parallel_for`: threads are handed the loops of several kernels as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, product

from ..ir.nodes import Scalar
from ..program.program import Launch, Region, Slot
from .llvm_module import LlvmModule
from .whole_loop import PARALLEL_FOR, WholeLoop, structure

Range = tuple[Region, int, int]
"""Memory: its first byte, and the first one behind it."""


def joined(
    launches: Sequence[Launch], loops: Mapping[int, WholeLoop], places: Mapping[Scalar, int]
) -> Iterator[list[Launch]]:
    """The launches, in their order: neighbours together whose loops, which `loops` has by kernel, have one body, and of
    which none writes memory that another one reads or writes. `places` are those of scalars in the arena.

    Iterations of one body take about as long, so threads can divide the sum of the loops as they divide one.
    """
    group: list[Launch] = []
    for launch in launches:
        loop = loops.get(launch.kernel)
        first = loops.get(group[0].kernel) if group else None
        same = loop is not None and first is not None and loop.body == first.body
        if group and not (same and all(_independent(launch, g, loops, places) for g in group)):
            yield group
            group = []
        group.append(launch)
    if group:
        yield group


def _independent(a: Launch, b: Launch, loops: Mapping[int, WholeLoop], places: Mapping[Scalar, int]) -> bool:
    (used, written), (also_used, also_written) = (_memory(x, loops[x.kernel], places) for x in (a, b))
    pairs = (*product(written, also_used), *product(also_written, used))
    return not any(x[0] is y[0] and x[1] < y[2] and y[1] < x[2] for x, y in pairs)


def _memory(launch: Launch, loop: WholeLoop, places: Mapping[Scalar, int]) -> tuple[list[Range], list[Range]]:
    """All that a launch reads or writes, and what it writes."""
    ranges = [_range(slot, size) for slot, size in zip(launch.arguments, loop.sizes, strict=True)]
    scalars = [_range(Slot(Region.ARENA, places[s]), 4) for s in launch.scalars if s in places]
    return [*ranges, *scalars], ranges[len(ranges) - loop.outputs :]


def _range(slot: Slot, size: int) -> Range:
    return slot.region, slot.offset, slot.offset + size


def join_loops(loops: Sequence[WholeLoop], module: LlvmModule) -> str:
    """The name of a function that carries out loops of one body by one call of `parallel_for`. It takes the
    `fields` of the first, those of the second, ..."""
    types, kind = loops[0].types, f"[{len(loops)} x {structure(loops[0].types)}]"
    params, lines = [], [f"  %arguments = alloca {kind}, align 16"]
    for i in range(len(loops)):
        for j, of in enumerate(types):
            params.append(f"{of} %p{i}.{j}")
            lines.append(f"  %at{i}.{j} = getelementptr inbounds {kind}, ptr %arguments, i32 0, i32 {i}, i32 {j}")
            lines.append(f"  store {of} %p{i}.{j}, ptr %at{i}.{j}")
    body, extent = module.add("cores", _body(loops, kind)), sum(loop.extent for loop in loops)
    module.declare("i32 @llvm.smax.i32(i32, i32)")
    module.declare("i32 @llvm.smin.i32(i32, i32)")
    lines.append(f"  call void @{PARALLEL_FOR}(ptr @{body}, ptr %arguments, i32 {extent})")
    head = f"define internal void @@({', '.join(params)}) noinline #0 {{"
    return module.add("kernels", "\n".join([head, "entry:", *lines, "  ret void", "}"]))


def _body(loops: Sequence[WholeLoop], kind: str) -> str:
    """The function of a range of all iterations, those of the first loop first: of each loop its part of the range."""
    lines = ["define internal void @@(ptr %arguments, i32 %begin, i32 %end) noinline #0 {", "entry:"]
    for i, (loop, end) in enumerate(zip(loops, accumulate(loop.extent for loop in loops), strict=True)):
        lines += [
            f"  %from{i} = sub nsw i32 %begin, {end - loop.extent}",
            f"  %to{i} = sub nsw i32 %end, {end - loop.extent}",
            f"  %first{i} = call i32 @llvm.smax.i32(i32 %from{i}, i32 0)",
            f"  %last{i} = call i32 @llvm.smin.i32(i32 %to{i}, i32 {loop.extent})",
            f"  %some{i} = icmp slt i32 %first{i}, %last{i}",
            f"  br i1 %some{i}, label %do{i}, label %done{i}",
            f"do{i}:",
            f"  %at{i} = getelementptr inbounds {kind}, ptr %arguments, i32 0, i32 {i}",
            f"  call void @{loop.body}(ptr %at{i}, i32 %first{i}, i32 %last{i})",
            f"  br label %done{i}",
            f"done{i}:",
        ]
    return "\n".join([*lines, "  ret void", "}"])
