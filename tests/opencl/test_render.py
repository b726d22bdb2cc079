"""OpenCL C of each construct, exactly, and the same as the interpreter computes where a driver runs it.

After a change that is meant: pytest --update-golden, then read the difference like code.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from device_constructs import DEVICE_CONSTRUCTS
from drivers import need_driver
from kernel_checks import inputs_for, run_kernel
from nests import sum_of_columns
from run_lowered import results_on
from test_golden import GOLDEN, compare
from webnn_compile.opencl.device import open_device
from webnn_compile.opencl.render import needs_newer, render
from webnn_compile.schedule.schedule_simt import schedule_simt
from webnn_compile.simt.lower import SUBGROUP_PASSES, lower
from webnn_compile.target import GpuTarget

CONSTRUCTS = list(DEVICE_CONSTRUCTS)


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_golden(construct: str, request: pytest.FixtureRequest) -> None:
    text = render(lower(DEVICE_CONSTRUCTS[construct]()))
    compare(GOLDEN / "opencl" / f"{construct}.cl", text, request.config.getoption("update_golden"))


def with_subgroups() -> str:
    return render(lower(DEVICE_CONSTRUCTS["workgroup_tree"](), SUBGROUP_PASSES))


def test_golden_of_subgroups(request: pytest.FixtureRequest) -> None:
    compare(GOLDEN / "opencl" / "subgroups.cl", with_subgroups(), request.config.getoption("update_golden"))


def test_no_golden_file_is_left_over() -> None:
    assert sorted(p.stem for p in (GOLDEN / "opencl").iterdir()) == sorted([*CONSTRUCTS, "subgroups"])


@pytest.mark.parametrize("standard", ["CL2.0", "CL3.0"])
def test_clang_takes_what_no_driver_here_does(standard: str, tmp_path: Path) -> None:
    """Operations of subgroups, of scalars and of vectors."""
    clang = shutil.which("clang")
    if clang is None:
        pytest.skip("clang is not installed")
    vectors = schedule_simt(sum_of_columns(600, 8).kernel, GpuTarget("gpu", minimum_occupancy=10**6))
    sources = [with_subgroups(), render(lower(vectors, SUBGROUP_PASSES))]
    assert "reduce_add_float4(float4 a)" in sources[1]
    sources.append(render(lower(DEVICE_CONSTRUCTS["quads"]())))
    for source in sources:
        assert needs_newer(source)
        (tmp_path / "kernel.cl").write_text(source)
        features = ["-D__opencl_c_integer_dot_product_input_4x8bit_packed"]
        features += [
            "-Xclang",
            "-cl-ext=+cl_khr_subgroups,+__opencl_c_subgroups",
            "-Xclang",
            "-finclude-default-header",
        ]
        command = [clang, "-x", "cl", f"-cl-std={standard}", *features, "-Werror", "-fsyntax-only", "kernel.cl"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_a_device_computes_the_same(construct: str) -> None:
    kernel = DEVICE_CONSTRUCTS[construct]()
    need_driver("opencl")
    if construct == "quads" and "cl_khr_integer_dot_product" not in open_device().extensions:
        pytest.skip("this device lacks cl_khr_integer_dot_product")
    got = results_on("opencl", kernel)
    for a, b in zip(got, run_kernel(kernel, inputs_for(kernel)), strict=True):
        near = 1e-6 if b.dtype != np.float16 else 1e-3  # one bit, where sums differ by theirs
        np.testing.assert_allclose(a.reshape(b.shape), b, rtol=near, atol=near)
