"""One small scheduled kernel per construct of shaders: 32-bit elements, a grid of workgroups and invocations."""

from __future__ import annotations

from collections.abc import Callable

from convolutions import Case, always
from kernel_checks import scheduled
from nests import biased_product, matrix_product, padded_sum, pointwise, sum_of_rows
from webnn_compile.dtypes import F16, F32, I8, I32, U16, U32
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.construct import select
from webnn_compile.ir.nodes import (
    Alloc,
    Barrier,
    Binary,
    Bitcast,
    Buffer,
    Cast,
    Const,
    Expr,
    For,
    If,
    Kernel,
    Load,
    LoopKind,
    Scope,
    Seq,
    Stmt,
    Store,
    Unary,
    Var,
)
from webnn_compile.ir.scalar_ops import QUADS
from webnn_compile.ir.simplify import simplify
from webnn_compile.passes.store_narrow import store_narrow
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.schedule.schedule_simt import schedule_simt
from webnn_compile.schedule.sign_quads import sign_quads
from webnn_compile.schedule.steps import sink, spread, tag
from webnn_compile.target import GpuTarget
from webnn_compile.tensor.winograd_matrices import OutputTile
from webnn_compile.wgsl.backend import WebGpu

ROOMY = GpuTarget("roomy", minimum_occupancy=1)


def vectors() -> Kernel:
    """Three rows of eight: six vectors."""
    return schedule_simt(pointwise(3, 8).kernel, ROOMY)


def overhang() -> Kernel:
    """Seventy elements, workgroups of 64."""
    return schedule_simt(pointwise(7, 10).kernel, ROOMY)


def window() -> Kernel:
    """A sum over a window that reaches beyond the edges."""
    return schedule_simt(padded_sum(6, 3, 1).kernel, ROOMY)


def product_tile() -> Kernel:
    """Two rows by one vector, weights in panels, four elements of the reduction written out, three more behind."""
    return schedule_simt(biased_product(2, 4, 7).kernel, ROOMY)


def columns_beyond() -> Kernel:
    """Six columns: the second vector is stored in part."""
    return schedule_simt(matrix_product(2, 6, 4).kernel, ROOMY)


def selection() -> Kernel:
    """Where x > 0 the lesser of x and 6, else minus infinity, or x where it is no number."""
    i = Var("i", 4)
    x, y = Buffer("x", (4,), F32), Buffer("y", (4,), F32)
    e = Load(x, (i,))
    value = select(e > 0.0, select(e < 6.0, e, 6.0), select(Unary("isnan", e), e, float("-inf")))
    return Kernel("selection", (x, y), For(i, Store(y, (i,), value), LoopKind.THREAD))


def casts() -> Kernel:
    """Float to integers and back, bits, shifts, logic."""
    i = Var("i", 4)
    x = Buffer("x", (4,), F32)
    ys = [Buffer(f"y{n}", (4,), dtype) for n, dtype in enumerate((I32, U32, F32, I32))]
    e = Load(x, (i,))
    whole = Cast(I32, e)
    values: list[Expr] = [
        whole,
        Cast(U32, e),
        Cast(F32, whole // 3),
        (Bitcast(I32, e) & 0x7FFFFFFF) - Binary("shl", whole, Const(2)),
    ]
    stores = tuple(Store(b, (i,), v) for b, v in zip(ys, values, strict=True))
    return Kernel("casts", (x, *ys), For(i, Seq(stores), LoopKind.THREAD), outputs=4)


def gather() -> Kernel:
    """Rows by loaded indices, which may be negative or point outside."""
    i, j = Var("i", 3), Var("j", 4)
    x, at, y = Buffer("x", (5, 4), F32), Buffer("at", (3,), I32), Buffer("y", (3, 4), F32)
    row = Load(at, (i,))
    row = select(row < 0, row + 5, row)
    store = Store(y, (i, j), Load(x, (row, j), (Const(0) <= row) & (row < 5)))
    return Kernel("gather", (x, at, y), spread(For(i, For(j, store, LoopKind.VECTOR)), [3]))


def local_array() -> Kernel:
    """Running sums in an array, whose elements loops reach."""
    nest = padded_sum(4, 2, 0)
    body = sink(nest.body, nest["i"])
    return simplify(scheduled(nest.kernel, tag(body, nest["c"], LoopKind.THREAD)))


def halves() -> Kernel:
    """A product of float16s in memory: summed in float32, clamped and rounded where it is stored."""
    kernel = product_tile()
    a, b, _, c = kernel.params
    return store_narrow(kernel, dict.fromkeys((a, b, c), F16))


def shared_memory() -> Kernel:
    """A workgroup turns eight elements round; two workgroups."""
    block, thread = Var("b", 2), Var("t", 8)
    x, y = Buffer("x", (2, 8), F32), Buffer("y", (2, 8), F32)
    tile = Buffer("tile", (8,), F32, Scope.SHARED)
    copy = Store(tile, (thread,), Load(x, (block, thread)))
    turn = Store(y, (block, thread), Load(tile, (7 - thread,)))
    body: Stmt = For(thread, Seq((copy, Barrier(), turn)), LoopKind.THREAD)
    return Kernel("shared_memory", (x, y), For(block, Alloc(tile, body), LoopKind.BLOCK))


def workgroup_tree() -> Kernel:
    """Rows of 600 elements in vectors of four, each added up by 64 invocations."""
    return schedule_simt(sum_of_rows(2, 600).kernel, GpuTarget("t"))


def condition() -> Kernel:
    """A store that happens for some elements only."""
    i = Var("i", 8)
    x, y = Buffer("x", (8,), F32), Buffer("y", (8,), F32)
    zero = Store(y, (i,), Const(0.0, F32))
    above = If(Const(1.0, F32) < Load(x, (i,)), Store(y, (i,), Load(x, (i,)) - 1.0))
    return Kernel("condition", (x, y), For(i, Seq((zero, above)), LoopKind.THREAD))


def transform_of_windows() -> Kernel:
    """Four windows of 6 x 6, an invocation for each channel of one."""
    return schedule_simt(winograd_kernel((4, 4), "winogradinput"), ROOMY)


def transform_of_results() -> Kernel:
    """Tiles of 2 x 2, in vectors of channels; the last ones have one row or column. With bias and ReLU."""
    return schedule_simt(winograd_kernel((2, 2), "conv_relu"), ROOMY)


def winograd_kernel(tile: OutputTile, name: str) -> Kernel:
    """A naive kernel of a convolution of 5 x 5 elements, 4 channels and 8 filters, by tiles."""
    graph = run_graph_passes(import_model(Case((1, 4, 5, 5), 8).proto))
    lowered = lower_model(graph, policy=WebGpu().layouts, choose=always(tile))
    return next(k for k in lowered.kernels if k.name == name)


def few_bits() -> Kernel:
    """Elements of int8 and uint16 in words: whole vectors, those that begin within a word, one by one."""
    i, j = Var("i", 3), Var("j", 4)
    x, z, y = Buffer("x", (16,), I8), Buffer("z", (16,), U16), Buffer("y", (3, 4), I32)
    wide = (Load(x, (i * 4 + j,)), Load(x, (i * 4 + j + 3,)), Load(x, (i * 3,)), Load(z, (i * 4 + j,)))
    first, *others = (Cast(I32, load) for load in wide)
    for scale, other in enumerate(others, 2):
        first = first + other * scale
    body: Stmt = For(i, For(j, Store(y, (i, j), first), LoopKind.VECTOR), LoopKind.THREAD)
    return simplify(Kernel("few_bits", (x, z, y), body))


def quads() -> Kernel:
    """Products of four bytes: of a vector of words by one, and of words; both signed, and the first unsigned."""
    i, j = Var("i", 3), Var("j", 4)
    a, b, y = Buffer("a", (3, 4), I32), Buffer("b", (3,), I32), Buffer("y", (3, 4), I32)
    word, other = Load(a, (i, j)), Load(b, (i,))
    pairs = (word & 0x0F0F0F0F, other), (other, Const(0x7F0180FF)), (word, word)
    first, *others = (Binary(QUADS, x, z) for x, z in pairs)
    total = first + others[0] + others[1]
    body: Stmt = For(i, For(j, Store(y, (i, j), total), LoopKind.VECTOR), LoopKind.THREAD)
    return simplify(Kernel("quads", (a, b, y), sign_quads(body)))


DEVICE_CONSTRUCTS: dict[str, Callable[[], Kernel]] = {
    f.__name__: f
    for f in (
        vectors,
        overhang,
        window,
        product_tile,
        columns_beyond,
        selection,
        casts,
        gather,
        local_array,
        halves,
        shared_memory,
        workgroup_tree,
        condition,
        transform_of_windows,
        transform_of_results,
        few_bits,
        quads,
    )
}
