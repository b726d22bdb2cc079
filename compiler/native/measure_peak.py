"""Peak performance of this machine's processor: multiplications and additions in vectors, and bytes read in order, on
one thread."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .emit import header, host
from .jit import JitModule, host_target

ACCUMULATORS = 12
"""Enough to hide the latency of an addition, and with two operands few enough for sixteen registers."""
ITERATIONS = 200_000
BYTES = 64 * 2**20
"""Beyond any cache of a core."""


@dataclass(frozen=True, slots=True)
class Peak:
    """Billions of operations (a multiplication and an addition are two) and of bytes in a second."""

    gflops: float
    gbytes: float


def measure_peak(lanes: int | None = None) -> Peak:
    """The peak of this machine's processor in vectors of so many floats, by default those that kernels use."""
    lanes = lanes or host_target().lanes
    code = JitModule(peak_text(header(host(), jit=True), lanes))
    data = np.ones(BYTES // 4, np.float32)  # written, so that its pages are there
    address = int(data.ctypes.data_as(ctypes.c_void_p).value or 0)
    multiplying = _fastest(lambda: code.call("multiply", address, address), 60)
    reading = _fastest(lambda: code.call("read", address, address), 20)
    return Peak(operations(lanes) / multiplying / 1e9, BYTES / reading / 1e9)


def operations(lanes: int) -> int:
    """The operations of one call of `multiply`."""
    return ITERATIONS * ACCUMULATORS * lanes * 2


def _fastest(call: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def peak_text(head: str, lanes: int, read_bytes: int = BYTES) -> str:
    """A module of LLVM IR with `multiply` and `read`, of so many bytes, both called with two addresses."""
    vector = f"<{lanes} x float>"
    numbers = range(ACCUMULATORS)
    # One operation to LLVM, which could else multiply once for all iterations.
    fused = f"@llvm.fmuladd.v{lanes}f32"
    multiply = [f"%next{n} = call {vector} {fused}({vector} %a, {vector} %b, {vector} %sum{n})" for n in numbers]
    size = 4 * lanes
    step = size * ACCUMULATORS
    read = ["%at = mul i32 %i, " + str(step)]
    for n in numbers:
        read.append(f"%place{n} = add i32 %at, {n * size}")
        read.append(f"%pointer{n} = getelementptr inbounds i8, ptr %from, i32 %place{n}")
        read.append(f"%loaded{n} = load {vector}, ptr %pointer{n}, align 4")
        read.append(f"%next{n} = fadd {vector} %sum{n}, %loaded{n}")
    functions = [_loop("multiply", vector, multiply, ITERATIONS), _loop("read", vector, read, read_bytes // step)]
    return "\n".join([head, f"declare {vector} {fused}({vector}, {vector}, {vector})", *functions])


def _loop(name: str, vector: str, body: list[str], iterations: int) -> str:
    """A function that keeps sums in registers, of each of which `body` makes the next, and stores them at the end."""
    numbers = range(ACCUMULATORS)
    size = int(vector[1:].split()[0]) * 4
    lines = [f"define void @{name}(ptr %from, ptr %to) {{", "entry:"]
    for n, value in enumerate(["a", "b", *(f"start{n}" for n in numbers)]):
        lines.append(f"%from{n} = getelementptr inbounds i8, ptr %from, i32 {n * size}")
        lines.append(f"%{value} = load {vector}, ptr %from{n}, align 4")
    lines += ["br label %loop", "loop:", "%i = phi i32 [ 0, %entry ], [ %following, %loop ]"]
    lines += [f"%sum{n} = phi {vector} [ %start{n}, %entry ], [ %next{n}, %loop ]" for n in numbers]
    lines += [*body, "%following = add i32 %i, 1", f"%end = icmp eq i32 %following, {iterations}"]
    lines += ["br i1 %end, label %done, label %loop", "done:"]
    for n in numbers:
        lines.append(f"%result{n} = getelementptr inbounds i8, ptr %to, i32 {n * size}")
        lines.append(f"store {vector} %next{n}, ptr %result{n}, align 4")
    return "\n".join([*lines, "ret void", "}", ""])
