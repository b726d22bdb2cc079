"""CUDA C++ of each construct, exactly; NVRTC compiles it for the oldest and a recent GPU, and on one, or emulated, it
computes the same as the interpreter.

After a change that is meant: pytest --update-golden, then read the difference like code.
"""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from device_constructs import DEVICE_CONSTRUCTS
from kernel_checks import inputs_for, run_kernel
from nests import matrix_product, sum_of_rows
from run_lowered import results_on
from test_golden import GOLDEN, compare
from webnn_compile.choices import Replay
from webnn_compile.cuda.facts import target_for
from webnn_compile.cuda.render import render, render_kernel
from webnn_compile.ir.grid import find_grid
from webnn_compile.ir.nodes import Kernel
from webnn_compile.schedule.schedule_simt import schedule_simt
from webnn_compile.simt.lower import SUBGROUP_PASSES, TREE_PASSES, Pass, lower
from webnn_compile.target import GpuTarget

CONSTRUCTS = list(DEVICE_CONSTRUCTS)


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_golden(construct: str, request: pytest.FixtureRequest) -> None:
    text = render_kernel(lower(DEVICE_CONSTRUCTS[construct]()))
    compare(GOLDEN / "cuda" / f"{construct}.cu", text, request.config.getoption("update_golden"))


def test_golden_of_warps(request: pytest.FixtureRequest) -> None:
    text = render_kernel(lower(DEVICE_CONSTRUCTS["workgroup_tree"](), SUBGROUP_PASSES))
    compare(GOLDEN / "cuda" / "warps.cu", text, request.config.getoption("update_golden"))


def test_golden_of_matrices(request: pytest.FixtureRequest) -> None:
    scheduled = schedule_simt(matrix_product(64, 64, 64).kernel, target_for(1, 80, "tf32"))
    compare(GOLDEN / "cuda" / "matrices.cu", render_kernel(lower(scheduled)), request.config.getoption("update_golden"))


def test_no_golden_file_is_left_over() -> None:
    assert sorted(p.stem for p in (GOLDEN / "cuda").iterdir()) == sorted([*CONSTRUCTS, "warps", "matrices"])


@pytest.mark.parametrize("capability", [75, 90])
def test_nvrtc_compiles(capability: int) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    from webnn_compile.cuda.nvrtc import compile_source

    kernels = [lower(make()) for make in DEVICE_CONSTRUCTS.values()]
    for kernel in (*kernels, lower(DEVICE_CONSTRUCTS["workgroup_tree"](), SUBGROUP_PASSES)):
        assert compile_source(render(kernel), capability).startswith(b"\x7fELF"), kernel.name


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_a_device_computes_the_same(construct: str) -> None:
    assert_same(DEVICE_CONSTRUCTS[construct]())


@pytest.mark.parametrize("invocations", [16, 32, 64, 256])
@pytest.mark.parametrize("elements", [600, 601])
def test_warps_compute_the_same(invocations: int, elements: int) -> None:
    """Sums of rows, in vectors and without; workgroups of half a warp, one, and several."""
    kernel = schedule_simt(sum_of_rows(3, elements).kernel, GpuTarget("t"), Replay({"invocations": invocations}))
    assert prod(find_grid(kernel).workgroup_size) == invocations
    assert_same(kernel, SUBGROUP_PASSES, near=3e-5)


def assert_same(kernel: Kernel, passes: tuple[Pass, ...] = TREE_PASSES, near: float = 1e-6) -> None:
    got = results_on("cuda", kernel, passes)
    for a, b in zip(got, run_kernel(kernel, inputs_for(kernel)), strict=True):
        last = near if b.dtype != np.float16 else 1e-3  # sums differ by their last bits
        np.testing.assert_allclose(a.reshape(b.shape), b, rtol=last, atol=last)
