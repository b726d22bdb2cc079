"""Kernels as text: names are unique, and equal text means that one kernel can do for both."""

from __future__ import annotations

from nests import matrix_product, pointwise
from webnn_compile.dtypes import F32
from webnn_compile.ir.layout import Layout
from webnn_compile.ir.nodes import Buffer, For, Kernel, Load, Origin, Store, Var
from webnn_compile.ir.printer import print_kernel


def copy_kernel(constant: Buffer, name: str = "copy") -> Kernel:
    i, y = Var("i", 8), Buffer("y", (8,), F32)
    return Kernel(name, (constant, y), For(i, Store(y, (i,), Load(constant, (i,)))), Origin((name,), ("Copy",)))


def test_text() -> None:
    assert print_kernel(matrix_product(2, 3, 4).kernel) == (
        "matrix_product(a: float32[2, 4], b: float32[4, 3] const, c: float32[2, 3]) -> 1 "
        "by contraction of float32 and float32 in float32\n"
        "  for i < 2:\n"
        "    for j < 3:\n"
        "      local acc: float32[]\n"
        "      acc[] = 0.0:float32\n"
        "      for k < 4 reduce:\n"
        "        acc[] = (acc[] + (a[i, k] * b[k, j]))\n"
        "      c[i, j] = acc[]\n"
    )


def test_variables_of_one_name_are_told_apart() -> None:
    first, second = Var("i", 2), Var("i", 3)
    y = Buffer("y", (2, 3), F32)
    text = print_kernel(Kernel("k", (y,), For(first, For(second, Store(y, (first, second), Load(y, (first, second)))))))
    assert "y[i, i.2] = y[i, i.2]" in text


def test_equal_kernels_print_equally_without_names() -> None:
    one, other = (copy_kernel(Buffer(n, (8,), F32, constant=True), n) for n in ("a", "b"))
    assert print_kernel(one) != print_kernel(other)
    assert print_kernel(one, named=False) == print_kernel(other, named=False)
    assert print_kernel(pointwise(3).kernel, named=False) != print_kernel(pointwise(4).kernel, named=False)


def test_constants_of_different_lengths_make_different_kernels() -> None:
    """Five and six elements both lie as eight, but are not packed alike."""
    texts = set()
    for n in (5, 6):
        layout = Layout((n,), (0,), ((0, 0),), (8,))
        texts.add(print_kernel(copy_kernel(layout.buffer("w", F32, constant=True)), named=False))
    assert len(texts) == 2
