"""WGSL of each construct, exactly, and the same as the interpreter computes where a driver runs it.

After a change that is meant: pytest --update-golden, then read the difference like code.
"""

from __future__ import annotations

import numpy as np
import pytest
from device_constructs import DEVICE_CONSTRUCTS
from kernel_checks import Array, inputs_for, run_kernel
from run_lowered import results_on
from test_golden import GOLDEN, compare
from webnn_compile.simt.lower import SUBGROUP_PASSES, TREE_PASSES, lower
from webnn_compile.wgsl import render


@pytest.mark.parametrize("construct", DEVICE_CONSTRUCTS)
def test_golden(construct: str, request: pytest.FixtureRequest) -> None:
    text = render(lower(DEVICE_CONSTRUCTS[construct]()))
    compare(GOLDEN / "wgsl" / f"{construct}.wgsl", text, request.config.getoption("update_golden"))


def test_golden_with_subgroups(request: pytest.FixtureRequest) -> None:
    text = render(lower(DEVICE_CONSTRUCTS["workgroup_tree"](), SUBGROUP_PASSES))
    compare(GOLDEN / "wgsl" / "subgroups.wgsl", text, request.config.getoption("update_golden"))


def test_no_golden_file_is_left_over() -> None:
    assert sorted(p.stem for p in (GOLDEN / "wgsl").iterdir()) == sorted([*DEVICE_CONSTRUCTS, "subgroups"])


@pytest.mark.parametrize("construct", DEVICE_CONSTRUCTS)
def test_every_pass_keeps_the_meaning(construct: str) -> None:
    kernel = DEVICE_CONSTRUCTS[construct]()
    inputs = inputs_for(kernel)
    want = run_kernel(kernel, inputs)
    for run in TREE_PASSES:
        kernel = run(kernel)
        assert_near(run_kernel(kernel, inputs), want)


@pytest.mark.parametrize("construct", DEVICE_CONSTRUCTS)
def test_a_device_computes_the_same(construct: str) -> None:
    kernel = DEVICE_CONSTRUCTS[construct]()
    got = results_on("webgpu", kernel)
    assert_near(got, run_kernel(kernel, inputs_for(kernel)))


def assert_near(got: list[Array], want: list[Array]) -> None:
    for a, b in zip(got, want, strict=True):
        near = 1e-6 if b.dtype != np.float16 else 1e-3  # one bit, where sums differ by theirs
        np.testing.assert_allclose(a.reshape(b.shape), b, rtol=near, atol=near)
