"""One small scheduled kernel per construct of the code generators. Run as a program, it prints what is rendered of all
of them: for comparing processes."""

from __future__ import annotations

from collections.abc import Callable

from nests import ZERO, matrix_product, padded_sum, pointwise
from webnn_compile.codegen.llvm_function import render_kernel
from webnn_compile.codegen.llvm_module import LlvmModule
from webnn_compile.cpu.compile_for_cpu import lower_kernel
from webnn_compile.dtypes import BOOL, F16, F32, I8, I32, I64, U8, DType
from webnn_compile.ir.construct import maximum, minimum, select
from webnn_compile.ir.layout import Block, Layout
from webnn_compile.ir.nodes import Buffer, Const, Expr, For, Kernel, Load, LoopKind, Seq, Stmt, Store, Var
from webnn_compile.ir.simplify import simplify_stmt
from webnn_compile.schedule.steps import (
    fuse,
    outline,
    pack,
    partition,
    reorder,
    rfactor,
    segments,
    sink,
    split,
    tag,
    vectorise,
)


def pointwise_with_tail() -> Kernel:
    """Ten elements: two vectors and two scalars."""
    nest = pointwise(10)
    body, pairs = split(nest.body, nest["i"], segments(10, 4))
    return _kernel("pointwise_with_tail", nest.kernel, vectorise(body, pairs[0][1], 4))


def fused_loops() -> Kernel:
    nest = pointwise(3, 8)
    body, fused = fuse(nest.body, nest["i"], nest["j"])
    body = simplify_stmt(body)
    body, pairs = split(body, fused, segments(24, 4))
    return _kernel("fused_loops", nest.kernel, vectorise(body, pairs[0][1], 4))


def guarded_load() -> Kernel:
    nest = padded_sum(6, 3, 1)
    return _kernel("guarded_load", nest.kernel, nest.body)


def partitioned_border() -> Kernel:
    nest = padded_sum(6, 3, 1)
    body = partition(nest.body, [nest["i"]])
    return _kernel("partitioned_border", nest.kernel, tag(body, nest["r"], LoopKind.UNROLL))


def reduction_in_lanes() -> Kernel:
    nest = matrix_product(1, 1, 11)
    return _kernel("reduction_in_lanes", nest.kernel, outline(rfactor(nest.body, nest["k"], 4, ZERO)))


def contraction_tile() -> Kernel:
    """Two rows by one vector and three columns, K innermost, in functions of their own."""
    nest = matrix_product(4, 7, 5)
    old = nest.kernel.params[1]
    body, new = pack(nest.body, old, Layout((5, 7), (1, 0), ((0, 0),) * 2, (1, 1), (Block(1, 4, 4),)))
    body = reorder(body, [nest["j"], nest["i"]])
    body, columns = split(body, nest["j"], segments(7, 4))
    body, rows = split(body, nest["i"], segments(4, 2))
    body = tag(sink(body, rows[0][1]), rows[0][1], LoopKind.UNROLL)
    for _, inner in columns:
        body = vectorise(sink(body, inner), inner, 4)
    kernel = _kernel("contraction_tile", nest.kernel, outline(body))
    return Kernel(kernel.name, tuple(new if p is old else p for p in kernel.params), kernel.body)


def steps_in_order() -> Kernel:
    """Two steps of the reduction are one iteration: sums and the pointer to single elements are opaque between them."""
    nest = matrix_product(2, 4, 6)
    body, steps = split(nest.body, nest["k"], [(3, 2)])
    body = tag(body, steps[0][1], LoopKind.IN_ORDER)
    body = tag(sink(body, nest["i"]), nest["i"], LoopKind.UNROLL)
    return _kernel("steps_in_order", nest.kernel, vectorise(sink(body, nest["j"]), nest["j"], 4))


def casts() -> Kernel:
    """Float to integer, integer to float, wider, narrower, through float16."""
    i = Var("i", 6)
    x = Buffer("x", (6,), F32)
    made: list[tuple[DType, Callable[[Expr], Expr]]] = [
        (I8, lambda e: e.cast(I8)),
        (U8, lambda e: e.cast(U8)),
        (I64, lambda e: e.cast(I32).cast(I64)),
        (BOOL, lambda e: e.cast(BOOL)),
        (F16, lambda e: e.cast(F16)),
        (F32, lambda e: e.cast(F16).cast(F32)),
    ]
    outs = [Buffer(f"y{n}", (6,), dtype) for n, (dtype, _) in enumerate(made)]
    stores = tuple(Store(b, (i,), f(Load(x, (i,)))) for b, (_, f) in zip(outs, made, strict=True))
    return Kernel("casts", (x, *outs), For(i, Seq(stores)), outputs=len(outs))


def selection() -> Kernel:
    """Where x > 0 the lesser of x and 6, else a tenth of x; in vectors."""
    i = Var("i", 4)
    x, y = Buffer("x", (4,), F32), Buffer("y", (4,), F32)
    e = Load(x, (i,))
    value = select(e > 0.0, minimum(maximum(e, 0.0), 6.0), e * 0.1)
    return Kernel("selection", (x, y), For(i, Store(y, (i,), value), LoopKind.VECTOR))


def gather() -> Kernel:
    """Rows by int64 indices, which may be negative."""
    i, j = Var("i", 3), Var("j", 4)
    x, at, y = Buffer("x", (5, 4), F32), Buffer("at", (3,), I64), Buffer("y", (3, 4), F32)
    row = Load(at, (i,)).cast(I32)
    store = Store(y, (i, j), Load(x, (select(row < 0, row + 5, row), j)))
    return Kernel("gather", (x, at, y), For(i, For(j, store, LoopKind.VECTOR)))


def bools() -> Kernel:
    """Comparisons, logic, bools in memory."""
    i = Var("i", 5)
    x, b, y = Buffer("x", (5,), F32), Buffer("b", (5,), BOOL), Buffer("y", (5,), BOOL)
    value = ((Load(x, (i,)) <= 0.5) & Load(b, (i,))) ^ ~Load(x, (i,)).eq(Const(1.0, F32))
    return Kernel("bools", (x, b, y), For(i, Store(y, (i,), value)))


def nested_index() -> Kernel:
    """An index that a loop does not advance evenly: nearest-neighbour upsampling by 3."""
    i, j = Var("i", 2), Var("j", 9)
    x, y = Buffer("x", (2, 3), F32), Buffer("y", (2, 9), F32)
    return Kernel("nested_index", (x, y), For(i, For(j, Store(y, (i, j), Load(x, (i, j // 3))))))


def core_loop() -> Kernel:
    """A loop that cores share: a function of arguments in memory, begin and end."""
    nest = pointwise(6, 4)
    body = tag(nest.body, nest["i"], LoopKind.CORE)
    return _kernel("core_loop", nest.kernel, vectorise(body, nest["j"], 4))


def _kernel(name: str, like: Kernel, body: Stmt) -> Kernel:
    return Kernel(name, like.params, simplify_stmt(body))


CONSTRUCTS: dict[str, Callable[[], Kernel]] = {
    f.__name__: f
    for f in (
        pointwise_with_tail,
        fused_loops,
        guarded_load,
        partitioned_border,
        reduction_in_lanes,
        contraction_tile,
        steps_in_order,
        casts,
        selection,
        gather,
        bools,
        nested_index,
        core_loop,
    )
}


def render(kernel: Kernel) -> str:
    """The LLVM functions of a scheduled kernel."""
    module = LlvmModule()
    render_kernel(lower_kernel(kernel), module)
    return module.text("").lstrip()


if __name__ == "__main__":
    for make in CONSTRUCTS.values():
        print(render(make()))
