"""Grids that are too long are folded; what exceeds a device is refused, with the node and the limit."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_checks import assert_same, scheduled
from nests import pointwise
from webnn_compile.dtypes import F32
from webnn_compile.errors import CannotExpress
from webnn_compile.ir.grid import find_grid
from webnn_compile.ir.nodes import Alloc, Buffer, For, Kernel, Load, LoopKind, Origin, Scope, Store, Var
from webnn_compile.schedule.schedule_simt import schedule_simt
from webnn_compile.simt.check_limits import check_limits
from webnn_compile.simt.fit_grid import fit_grid
from webnn_compile.target import WEBGPU, GpuTarget
from webnn_compile.wgsl import WebGpu


@settings(max_examples=20)
@given(st.integers(1, 40), st.integers(6, 20))
def test_long_grids_are_folded(blocks: int, most: int) -> None:
    nest = pointwise(blocks, 2)
    body = For(nest["i"], For(nest["j"], nest.body.body.body, LoopKind.THREAD), LoopKind.BLOCK)
    kernel = scheduled(nest.kernel, body)
    folded = fit_grid(kernel, most)
    assert max(find_grid(folded).workgroups) <= most
    assert_same(kernel, folded, "fit_grid")


def test_a_grid_that_fits_stays() -> None:
    kernel = schedule_simt(pointwise(70).kernel, WEBGPU)
    assert fit_grid(kernel, WEBGPU.workgroups) is kernel


def test_millions_of_elements_fit() -> None:
    made = WebGpu().compile_kernel(pointwise(3, 10_000_019).kernel, (None, None)).kernel
    assert max(made.grid) <= WEBGPU.workgroups
    assert made.grid[0] * made.grid[1] * 64 >= 3 * 10_000_019


def shared(size: int) -> Kernel:
    block, thread = Var("b", 2), Var("t", 4)
    x, tile = Buffer("x", (8,), F32), Buffer("tile", (size,), F32, Scope.SHARED)
    body = For(thread, Store(x, (block * 4 + thread,), Load(tile, (thread,))), LoopKind.THREAD)
    return Kernel("shared", (x,), For(block, Alloc(tile, body), LoopKind.BLOCK), Origin(("conv1",), ("Conv",)))


SMALL = GpuTarget("small", storage_buffers=1, invocations=16, binding_bytes=64)


@pytest.mark.parametrize(
    ("kernel", "target", "message"),
    [
        (shared(5000), WEBGPU, "node conv1 needs 20000 bytes of workgroup memory, webgpu has 16384"),
        (schedule_simt(pointwise(4).kernel, WEBGPU), SMALL, "node pointwise needs 2 storage buffers, small has 1"),
        (
            schedule_simt(pointwise(40).kernel, WEBGPU),
            replace(SMALL, storage_buffers=8),
            r"node pointwise needs 160 bytes in one buffer \(x\), small has 64",
        ),
        (
            schedule_simt(pointwise(400).kernel, WEBGPU),
            replace(SMALL, storage_buffers=8, binding_bytes=2000),
            "node pointwise needs 64 invocations in a workgroup, small has 16",
        ),
    ],
)
def test_what_exceeds_a_limit_is_refused(kernel: Kernel, target: GpuTarget, message: str) -> None:
    with pytest.raises(CannotExpress, match=message):
        check_limits(kernel, target)
