"""Facts of a CUDA device that schedules depend on, by its driver."""

from __future__ import annotations

from dataclasses import replace

from ..errors import InputError
from ..target import GpuTarget, MatrixFacts

WARPS = 16
"""Warps (32 invocations each) that hide the latency of memory on a multiprocessor."""


_HALF = MatrixFacts(16, 16, 16, "float16")
MATRICES = {
    "f32": replace(_HALF, operands="integers"),
    "f16": _HALF,
    "f16-fast": _HALF,
    "tf32": MatrixFacts(16, 16, 8, "tf32"),
}
"""By `--precision`: what tensor cores multiply. Quantised operands less their zero points have nine bits, one more than
the instructions for bytes take. Their sums in float32 are exact up to 2^24: tensor cores align terms to the largest one
and keep at least 24 bits (Fasi, Higham, Mikaitis and Pranesh: Numerical behavior of NVIDIA tensor cores, 2021). Sums of
integers are at most that (`tensor/sum_exactly`). Larger ones, whose results are floats and approximate on each target,
lose up to a unit in the last place by a term, where float32 loses half of one."""
TF32, BYTES = 80, 61
"""The least compute capabilities with TF32, and with products of four bytes (__dp4a)."""


def target_for(multiprocessors: int, capability: int = 75, precision: str = "f32") -> GpuTarget:
    """Limits are those of every compute capability from 5.0 on (CUDA C++ Programming Guide, Technical Specifications);
    grids have up to 65,535 workgroups in two of their dimensions. `capability` is 90 for 9.0. Raises InputError for a
    precision that the device lacks."""
    if precision == "tf32" and capability < TF32:
        has = f"{capability / 10:.1f}"
        raise InputError(
            f"target cuda: precision tf32 needs compute capability 8.0, this GPU has {has}: use f16 or f32"
        )
    return GpuTarget(
        "cuda",
        storage_buffers=64,
        workgroup_bytes=49152,
        binding_bytes=2**31 - 1,
        minimum_occupancy=multiprocessors * WARPS * 32,
        signed_quads=capability >= BYTES,
        matrix=MATRICES.get(precision),
    )
