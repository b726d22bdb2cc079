"""Products through shared memory on a device, against NumPy: real sizes are too much for the interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_checks import inputs_for, laid_out, taken_out
from nests import biased_product
from run_wgsl import run_on_device
from tint import assert_valid
from webnn_compile.schedule.schedule_simt import schedule_simt
from webnn_compile.target import GpuTarget
from webnn_compile.wgsl import render
from webnn_compile.wgsl.lower import lower

STAGED = GpuTarget("staged", shared_tiles=True)


@pytest.mark.parametrize(("rows", "columns", "depth"), [(64, 64, 16), (70, 128, 20), (128, 64, 100)])
def test_product(rows: int, columns: int, depth: int) -> None:
    naive = biased_product(rows, columns, depth).kernel
    kernel = schedule_simt(naive, STAGED)
    lowered = lower(kernel)
    text = render(lowered)
    assert "var<workgroup> a_0: array<vec4f, 256>;" in text
    assert_valid([text])
    a, b, bias = inputs_for(naive)
    arrays = [laid_out(p, x) for p, x in zip(kernel.params, (a, b, bias), strict=False)]
    out = np.full(kernel.params[-1].shape, np.nan, np.float32)
    (result,) = run_on_device(lowered, [*arrays, out])
    want = np.maximum(a.astype(np.float64) @ b + bias, 0)
    np.testing.assert_allclose(taken_out(kernel.params[-1], result), want, atol=1e-5 * np.abs(want).max())
