"""float16 in memory: what is stored is rounded, what is computed is not, and nothing overflows."""

from __future__ import annotations

import numpy as np
from drivers import need_driver
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_checks import inputs_for, run_kernel
from nests import biased_product, pointwise
from run_lowered import run_lowered
from webnn_compile.dtypes import F16, F32
from webnn_compile.ir.nodes import Kernel
from webnn_compile.ir.printer import print_kernel
from webnn_compile.ir.verify import verify_kernel
from webnn_compile.passes.store_narrow import LARGEST, load_wide, saturate_halves, store_narrow
from webnn_compile.schedule.schedule_simt import schedule_simt
from webnn_compile.simt.lower import lower
from webnn_compile.target import WEBGPU


@settings(max_examples=10)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9))
def test_sums_are_of_float32(rows: int, columns: int, depth: int) -> None:
    kernel = biased_product(rows, columns, depth).kernel
    stored = store_narrow(kernel, dict.fromkeys(kernel.params[:2], F16))
    verify_kernel(stored, "store_narrow")
    inputs = inputs_for(stored)
    assert [a.dtype for a in inputs] == [np.float16, np.float16, np.float32]
    (got,) = run_kernel(stored, inputs)
    (want,) = run_kernel(kernel, [a.astype(np.float32) for a in inputs])
    np.testing.assert_array_equal(got, want)


def test_results_are_rounded_once() -> None:
    kernel = pointwise(40).kernel
    stored = store_narrow(kernel, dict.fromkeys(kernel.params, F16))
    inputs = inputs_for(stored)
    (got,) = run_kernel(stored, inputs)
    (want,) = run_kernel(kernel, [a.astype(np.float32) for a in inputs])
    np.testing.assert_array_equal(got, want.astype(np.float16))


def test_wide_again() -> None:
    kernel = biased_product(3, 4, 5).kernel
    a, _, _, c = kernel.params
    wide, narrow = load_wide(store_narrow(kernel, {a: F16, c: F16}))
    assert narrow == {0: F16, 3: F16}
    assert print_kernel(wide) == print_kernel(kernel)
    assert load_wide(kernel) == (kernel, {})
    assert store_narrow(kernel, {}) is kernel


def copy_of_halves() -> Kernel:
    kernel = pointwise(8).kernel
    return store_narrow(kernel, {kernel.params[-1]: F16})


def test_what_float16_lacks_becomes_its_largest() -> None:
    x = np.array([1e30, -7e4, 65519, np.inf, -np.inf, 65504, 1e-9, np.nan], np.float32)
    kernel = copy_of_halves()
    assert [b.dtype for b in kernel.params] == [F32, F16]
    (plain,) = run_kernel(load_wide(kernel)[0], [x])
    (got,) = run_kernel(saturate_halves(kernel), [x])
    want = np.where(np.isinf(plain), plain, np.clip(plain, -LARGEST, LARGEST)).astype(np.float16)
    np.testing.assert_array_equal(got, want)
    assert np.isinf(want).any()


def test_a_device_saturates() -> None:
    need_driver("webgpu", "shader-f16")
    x = np.array([1e30, -1e30, 3e5, np.inf, 1, -1, -np.inf, 0], np.float32)
    kernel = schedule_simt(load_wide(copy_of_halves())[0], WEBGPU)
    lowered = lower(store_narrow(kernel, {kernel.params[-1]: F16}))
    (got,) = run_lowered("webgpu", lowered, [x, np.zeros(8, np.float16)])
    (want,) = run_kernel(saturate_halves(copy_of_halves()), [x])
    np.testing.assert_array_equal(got, want)
    assert np.isfinite(got).tolist() == np.isfinite(x).tolist()
