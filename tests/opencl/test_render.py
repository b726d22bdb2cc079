"""OpenCL C of each construct, exactly, and the same as the interpreter computes where a driver runs it.

After a change that is meant: pytest --update-golden, then read the difference like code.
"""

from __future__ import annotations

import numpy as np
import pytest
from device_constructs import DEVICE_CONSTRUCTS
from kernel_checks import inputs_for, run_kernel
from run_lowered import results_on
from test_golden import GOLDEN, compare
from webnn_compile.compute.lower import lower
from webnn_compile.opencl.render import render

CONSTRUCTS = list(DEVICE_CONSTRUCTS)


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_golden(construct: str, request: pytest.FixtureRequest) -> None:
    text = render(lower(DEVICE_CONSTRUCTS[construct]()))
    compare(GOLDEN / "opencl" / f"{construct}.cl", text, request.config.getoption("update_golden"))


def test_no_golden_file_is_left_over() -> None:
    assert sorted(p.stem for p in (GOLDEN / "opencl").iterdir()) == sorted(CONSTRUCTS)


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_a_device_computes_the_same(construct: str) -> None:
    kernel = DEVICE_CONSTRUCTS[construct]()
    got = results_on("opencl", kernel)
    for a, b in zip(got, run_kernel(kernel, inputs_for(kernel)), strict=True):
        near = 1e-6 if b.dtype != np.float16 else 1e-3  # one bit, where sums differ by theirs
        np.testing.assert_allclose(a.reshape(b.shape), b, rtol=near, atol=near)
