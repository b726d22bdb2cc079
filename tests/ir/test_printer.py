"""Kernels as text: names are unique, and equal text means that one kernel can do for both."""

from __future__ import annotations

from nests import matrix_product, pointwise
from webnn_compile.dtypes import F32
from webnn_compile.ir.layout import Layout
from webnn_compile.ir.nodes import Binary, Buffer, Const, Expr, For, Kernel, Load, Origin, Scalar, Seq, Store, Var
from webnn_compile.ir.printer import LONGEST, print_kernel, print_node
from webnn_compile.ir.sizes import text_of


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


def squared(e: Expr, times: int, *, shared: bool = True) -> Expr:
    """`e` to the power of two to the `times`, as a graph of so many nodes, or as a tree."""
    for _ in range(times):
        e = Binary("*", e, e if shared else copied(e))
    return e


def copied(e: Expr) -> Expr:
    match e:
        case Binary(op, a, b):
            return Binary(op, copied(a), copied(b))
        case Load(buffer, indices):
            return Load(buffer, indices)
    return e


def stored(*values: Expr) -> Kernel:
    """A kernel that stores each to its own element of a vector."""
    y = Buffer("y", (len(values),), F32)
    return Kernel("k", (X, y), Seq(tuple(Store(y, (Const(i),), value) for i, value in enumerate(values))))


X = Buffer("x", (8,), F32)
FIRST = Load(X, (Const(0),))


def test_what_is_shared_is_printed_once() -> None:
    """As a tree this has 2 ** 200 nodes."""
    lines = print_kernel(stored(squared(FIRST, 200))).splitlines()
    assert len(lines) < 100
    assert max(map(len, lines)) < 3 * LONGEST
    assert lines[-1].startswith("  y[0] = ((")
    assert lines[1] == f"  let $1 = {print_node(squared(FIRST, 5))}"


def test_each_statement_names_its_own_parts() -> None:
    """Memory may change between them."""
    value = squared(FIRST, 6)
    text = print_kernel(stored(value, value))
    assert "  y[0] = ($1 * $1)\n  let $2 = " in text
    assert text.endswith("  y[1] = ($2 * $2)\n")


def test_equal_kernels_print_equally_whatever_nodes_they_share() -> None:
    kernels = [stored(squared(FIRST, 8, shared=shared)) for shared in (True, False)]
    assert len({print_kernel(k) for k in kernels}) == 1


def test_parts_of_an_expression_stand_behind_it() -> None:
    assert print_node(squared(FIRST, 6)) == f"($1 * $1) where $1 = {print_node(squared(FIRST, 5))}"
    assert print_node(squared(FIRST, 2)) == "((x[0] * x[0]) * (x[0] * x[0]))"


def test_a_long_size_has_its_parts_behind_it() -> None:
    rows = squared(Scalar("rows", 8), 6)
    assert text_of(rows) == f"$1 * $1 where $1 = {print_node(squared(Scalar('rows', 8), 5))}"
