"""Small nests that schedule steps are tried on."""

from __future__ import annotations

from dataclasses import dataclass, replace

from webnn_compile.dtypes import F32, DType
from webnn_compile.ir.forms import form_of_nest
from webnn_compile.ir.layout import Layout
from webnn_compile.ir.nest import match_nest
from webnn_compile.ir.nodes import Alloc, Binary, Buffer, Const, For, Kernel, Load, Scope, Seq, Stmt, Store, Unary, Var
from webnn_compile.ir.reduction import COMBINE
from webnn_compile.ir.rewrite import rewrite

ZERO = Const(0.0, F32)


@dataclass(frozen=True)
class Nest:
    """A kernel and the variables of its loops by name."""

    kernel: Kernel
    loops: dict[str, Var]

    @property
    def body(self) -> Stmt:
        return self.kernel.body

    def __getitem__(self, name: str) -> Var:
        return self.loops[name]


def naive(name: str, params: tuple[Buffer, ...], body: Stmt) -> Kernel:
    """The kernel of one result, with the form of its loops."""
    found = match_nest(body)
    assert found is not None
    return Kernel(name, params, body, forms=(form_of_nest(found),))


def pointwise(*extents: int) -> Nest:
    """for i: for j: ...: y[i, j, ...] = x[i, j, ...] * 2 + 1"""
    loops = tuple(Var(name, extent) for name, extent in zip("ijkl", extents, strict=False))
    x, y = Buffer("x", extents, F32), Buffer("y", extents, F32)
    body: Stmt = Store(y, loops, Load(x, loops) * 2.0 + 1.0)
    for v in reversed(loops):
        body = For(v, body)
    return Nest(naive("pointwise", (x, y), body), {v.name: v for v in loops})


def matrix_product(rows: int, columns: int, depth: int) -> Nest:
    """for i: for j: local acc; acc = 0; for k reduce: acc = acc + a[i, k] * b[k, j]; c[i, j] = acc; b is constant"""
    i, j, k = Var("i", rows), Var("j", columns), Var("k", depth)
    a = Buffer("a", (rows, depth), F32)
    b = Layout.row_major((depth, columns)).buffer("b", F32, constant=True)
    c = Buffer("c", (rows, columns), F32)
    acc = Buffer("acc", (), F32, Scope.LOCAL)
    update = Store(acc, (), Load(acc, ()) + Load(a, (i, k)) * Load(b, (k, j)))
    inner = Seq((Store(acc, (), ZERO), For(k, update, parallel=False), Store(c, (i, j), Load(acc, ()))))
    body = For(i, For(j, Alloc(acc, inner)))
    return Nest(naive("matrix_product", (a, b, c), body), {"i": i, "j": j, "k": k})


def product_of_rows(rows: int, columns: int, depth: int) -> Nest:
    """for i: for j: local acc; acc = 0; for k reduce: acc = acc + a[i, k] * b[j, k]; c[i, j] = acc"""
    i, j, k = Var("i", rows), Var("j", columns), Var("k", depth)
    a, b, c = Buffer("a", (rows, depth), F32), Buffer("b", (columns, depth), F32), Buffer("c", (rows, columns), F32)
    acc = Buffer("acc", (), F32, Scope.LOCAL)
    update = Store(acc, (), Load(acc, ()) + Load(a, (i, k)) * Load(b, (j, k)))
    inner = Seq((Store(acc, (), ZERO), For(k, update, parallel=False), Store(c, (i, j), Load(acc, ()))))
    return Nest(naive("product_of_rows", (a, b, c), For(i, For(j, Alloc(acc, inner)))), {"i": i, "j": j, "k": k})


def sum_of_rows(rows: int, length: int, op: str = "sum") -> Nest:
    """for i: local acc; acc = 1; for k reduce: acc = acc + x[i, k]; y[i] = acc * 2"""
    i, k = Var("i", rows), Var("k", length)
    x, y = Buffer("x", (rows, length), F32), Buffer("y", (rows,), F32)
    acc = Buffer("acc", (), F32, Scope.LOCAL)
    update = Store(acc, (), Binary(COMBINE[op], Load(acc, ()), Load(x, (i, k))))
    start = Store(acc, (), Const(1.0, F32))
    body = For(i, Alloc(acc, Seq((start, For(k, update, parallel=False), Store(y, (i,), Load(acc, ()) * 2.0)))))
    return Nest(naive("sum_of_rows", (x, y), body), {"i": i, "k": k})


def sum_of_columns(rows: int, columns: int, op: str = "sum", dtype: DType = F32) -> Nest:
    """for c: local acc; acc = 1; for k < rows reduce: acc = acc + x[k, c]; y[c] = acc * 2"""
    c, k = Var("c", columns), Var("k", rows)
    x, y = Buffer("x", (rows, columns), dtype), Buffer("y", (columns,), dtype)
    acc = Buffer("acc", (), dtype, Scope.LOCAL)
    update = Store(acc, (), Binary(COMBINE[op], Load(acc, ()), Load(x, (k, c))))
    start = Store(acc, (), Const(1.0 if dtype.is_float else 1, dtype))
    body = For(c, Alloc(acc, Seq((start, For(k, update, parallel=False), Store(y, (c,), Load(acc, ()) * 2)))))
    return Nest(naive("sum_of_columns", (x, y), body), {"c": c, "k": k})


def biased_product(rows: int, columns: int, depth: int, *, both: bool = False, activated: bool = True) -> Nest:
    """`matrix_product` with c[i, j] = max(bias[j] + acc, 0) at its end, or bias[j] + acc; with `both` times acc."""
    nest = matrix_product(rows, columns, depth)
    bias = Layout.row_major((columns,)).buffer("bias", F32, constant=True)

    def end(n: object) -> Store | None:
        match n:
            case Store(buffer, indices, acc) if buffer.scope is Scope.GLOBAL:
                value = Load(bias, (nest["j"],)) + acc
                value = Binary("max", value, ZERO) if activated else value
                return Store(buffer, indices, value * acc if both else value)
        return None

    a, b, c = nest.kernel.params
    return Nest(naive("biased_product", (a, b, bias, c), rewrite(nest.body, end)), nest.loops)


def activated_product(rows: int, columns: int, depth: int, *, op: str = "tanh") -> Nest:
    """`matrix_product` with c[i, j] = op(acc) * acc at its end."""
    nest = matrix_product(rows, columns, depth)

    def end(n: object) -> Store | None:
        match n:
            case Store(buffer, indices, acc) if buffer.scope is Scope.GLOBAL:
                return Store(buffer, indices, Unary(op, acc) * acc)
        return None

    return Nest(replace(nest.kernel, body=rewrite(nest.body, end)), nest.loops)


def padded_sum(extent: int, window: int, pad: int) -> Nest:
    """for i: for c < 2: local acc; acc = 0; for r reduce: acc = acc + x[i + r - pad, c] if in range; y[i, c] = acc"""
    out = max(1, extent + 2 * pad - window + 1)
    i, c, r = Var("i", out), Var("c", 2), Var("r", window)
    x, y = Buffer("x", (extent, 2), F32), Buffer("y", (out, 2), F32)
    acc = Buffer("acc", (), F32, Scope.LOCAL)
    at = i + r - pad
    inside = (Const(0) <= at) & (at < extent)
    update = Store(acc, (), Load(acc, ()) + Load(x, (at, c), inside))
    inner = Seq((Store(acc, (), ZERO), For(r, update, parallel=False), Store(y, (i, c), Load(acc, ()))))
    return Nest(naive("padded_sum", (x, y), For(i, For(c, Alloc(acc, inner)))), {"i": i, "c": c, "r": r})
