"""How long each kernel takes, beside what the machine can do: natively, and in a browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from webnn_compile.cpu.compile_for_cpu import compile_for_cpu
from webnn_compile.native.jit import host_target
from webnn_compile.native.measure_peak import BYTES, measure_peak, operations
from webnn_compile.pipeline.lowered import Lowered
from webnn_compile.target import WASM_BYTES, WASM_RELAXED, Target

from .cases import find_case
from .count_operations import count_operations
from .folders import ROOT, WORK
from .measure import open_page
from .native import lower, medians, time_kernels
from .peak import peak_module

RUNS = 20


@dataclass(frozen=True, slots=True)
class KernelTime:
    """One launch: `flops` are the operations that the kernel makes, `bytes` what it has to read and write once."""

    name: str
    nodes: tuple[str, ...]
    ms: float
    flops: int
    bytes: int


def profile_here(case_name: str, shapes: Mapping[str, tuple[int, ...]], browser: str | None) -> dict[str, Any]:
    """The kernels of a case, natively where `browser` is None, and the peaks measured in the same process. Raises
    ValueError where a run decides which kernels run, or on how much."""
    case = find_case(case_name, shapes)
    target = host_target() if browser is None else WASM_RELAXED
    lowered = lower(case, target, fast_math=True)
    if (case.sizes and browser) or not all(isinstance(s, int) for s in lowered.steps):
        raise ValueError("kernels have rows of their own where sizes are fixed, and nothing is repeated")
    if browser is None:
        peak = measure_peak()
        times = time_kernels(case, lowered, RUNS)
        # Clocks rise and fall: the peak is the better of one before and one after.
        after = measure_peak()
        gflops, gbytes = max(peak.gflops, after.gflops), max(peak.gbytes, after.gbytes)
    else:
        linked = peak_module()
        file = WORK / "peak.wasm"
        file.write_bytes(linked.module)
        path = "/" + file.relative_to(ROOT).as_posix()
        folder = "/" + case.folder.relative_to(ROOT).as_posix()
        peak_job = {"url": path, "heap": linked.heap_base, "operations": operations(4), "bytes": BYTES}
        with open_page(browser) as (page, _, _):
            job = {"folder": folder, "bundle": "bundle", "runs": RUNS, "peak": peak_job}
            profile = page.evaluate("job => window.benchmarks.profile(job)", job)
        times, gflops, gbytes = profile["kernels_ms"], profile["gflops"], profile["gbytes"]
        if profile["variant"] in WASM_BYTES:
            target = WASM_BYTES[profile["variant"]]
            lowered = lower(case, target, fast_math=True)
    rows = [asdict(k) for k in describe(lowered, target, medians(times))]
    return {"case": case_name, "browser": browser, "gflops": gflops, "gbytes": gbytes, "kernels": rows}


def describe(lowered: Lowered, target: Target, times: Sequence[float]) -> list[KernelTime]:
    """The launches of a model with the milliseconds of each."""
    program = compile_for_cpu(lowered, target)
    counted = [count_operations(k) for k in program.kernels]
    touched = [sum(b.size * b.dtype.bytes for b in k.params) for k in program.kernels]
    return [
        KernelTime(s.name, s.nodes, ms, counted[s.kernel], touched[s.kernel])
        for s, ms in zip(program.steps, times, strict=True)
    ]
