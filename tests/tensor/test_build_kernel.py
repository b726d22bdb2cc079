"""From groups to naive kernels: which loops may run over what a layout rounds up."""

from __future__ import annotations

from webnn_compile.dtypes import F32
from webnn_compile.ir.layout import Layout
from webnn_compile.ir.nodes import For, Kernel, Origin
from webnn_compile.ir.verify import verify_kernel
from webnn_compile.tensor import Tensor, compute, placeholder
from webnn_compile.tensor.build_kernel import build_kernel
from webnn_compile.tensor.fuse import fuse
from webnn_compile.tensor.program import TensorProgram

ROWS, CHANNELS, ROUNDED = 8, 5, 8


def built(read: Tensor, made: Tensor) -> Kernel:
    """The kernel of `made`, whose channels, the last axis, are rounded up."""
    program = TensorProgram((("x", read),), (("y", made),), (made,), {made: Origin(("n",), ("Op",))})
    (group,) = fuse(program)
    aligned = Layout((ROWS, CHANNELS), (0, 1), ((0, 0), (0, 0)), (1, 4))
    kernel = build_kernel("k", group, {read: Layout.row_major(read.shape), made: aligned})
    verify_kernel(kernel, "build_kernel")
    return kernel


def extents(kernel: Kernel) -> list[int]:
    found, s = [], kernel.body
    while isinstance(s, For):
        found.append(s.var.extent)
        s = s.body
    return found


def test_a_loop_runs_over_what_is_rounded_up_where_reads_stay_inside() -> None:
    x = placeholder("x", (ROWS,), F32)
    made = compute("y", (ROWS, CHANNELS), (x,), lambda i, c: -x[i])
    assert extents(built(x, made)) == [ROWS, ROUNDED]


def test_a_guard_about_rows_keeps_them_inside_for_every_channel() -> None:
    x = placeholder("x", (CHANNELS,), F32)
    made = compute("y", (ROWS, CHANNELS), (x,), lambda i, c: x.read([i], i < CHANNELS))
    assert extents(built(x, made)) == [ROWS, ROUNDED]


def test_no_loop_runs_over_what_is_rounded_up_where_it_would_read_beyond() -> None:
    x = placeholder("x", (CHANNELS,), F32)
    made = compute("y", (ROWS, CHANNELS), (x,), lambda i, c: -x[c])
    assert extents(built(x, made)) == [ROWS, CHANNELS]
