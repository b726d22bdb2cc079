"""Split-K: on a GPU, long products with few results are computed in parts, which are added up after.

A tile of 8 positions by 4 columns takes 8 loads of A and 4 of B for 32 multiply-adds of vectors; one of a single
position takes 5 for 4. Where a product has few results, tiles must shrink to keep the device occupied, or invocations
be few: ResNet18's 7 x 7 layers have 896 of 7 x 4 results each, its classifier 250 of 1 x 4, which add up 4608 and 512
products sequentially. With parts, each part has its own invocations. The cost: every part of a result is written and
read once, 8 bytes for thousands of operations, and one more launch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from ..choices import ordered
from ..dtypes import F32
from ..ir.contraction import find_contraction
from ..ir.nodes import Buffer, Const, Expr, Load, Var
from ..ir.reduction import Reduce
from ..ir.rewrite import loads, substitute
from .layer_choices import LayerChoices, default_layers
from .program import TensorProgram
from .replace_tensors import replace_tensors
from .tensor import Tensor, compute, reduce

ROWS, COLUMNS = 8, 4
"""Results of an invocation that amortise its loads, where there are as many."""

LEAST = 128
"""Fewest products of an invocation: fewer take less time than a launch."""


@dataclass(frozen=True, slots=True)
class Product:
    """A contraction with a constant: `column` indexes the constant alone, `rows` the other operand alone; `over`
    indexes both and is reduced."""

    column: Var
    rows: tuple[Var, ...]
    over: Var


def split_contractions(program: TensorProgram, occupancy: int, choices: LayerChoices = default_layers) -> TensorProgram:
    """y[i, j] = sum of a[i, k] w[k, j], k < 512
    ->  t[p, i, j] = sum of a[i, 64 p + k] w[64 p + k, j], k < 64;   y[i, j] = sum of t[p, i, j], p < 8

    By default of products with a constant that have fewer tiles than `occupancy` invocations. Sums are reassociated.
    The choice is `split_k` of the result.
    """
    images: set[Buffer] = set()

    def parts(t: Tensor) -> list[Tensor]:
        product = match_product(t)
        if product is None:
            return [t]
        count = choices(t).choose("split_k", count_parts(t, product, occupancy))
        if count == 1:
            return [t]
        partial = partial_sums(t, product.over, count)
        whole = _whole(t, partial, count)
        if t.rank > 2 and product.column is t.axes[1]:  # an image: the axis of parts replaces its batch
            images.update((partial.buffer, whole.buffer))
        return [partial, whole]

    split = replace_tensors(program, parts)
    return replace(split, channels_last=split.channels_last | images) if images else split


def match_product(t: Tensor) -> Product | None:
    """`t` as a product with a constant (of a matrix, or a convolution of one image and one group), or None."""
    body = t.body
    if t.prepared or t.is_dynamic or t.dtype != F32 or 0 in t.extents:
        return None
    if not isinstance(body, Reduce) or body.op != "sum" or body.init.value:
        return None
    contraction = find_contraction(t.axes, body.axes, body.value)
    if contraction is None or (t.rank > 2 and t.extents[0] != 1):
        return None
    constants = {r.buffer for r in t.reads if r.is_constant}
    for c in contraction.orientations:
        if not isinstance(c.b, Load) or c.b.buffer not in constants or c.b.guard is not None:
            continue
        columns = [v for v in c.columns if v.extent > 1]
        batched = any(v.extent > 1 for v in c.batch)
        if len(columns) == 1 and not batched and c.over and not constants & {x.buffer for x in loads(c.a)}:
            return Product(columns[0], c.rows, max(c.over, key=lambda v: v.extent))
    return None


def count_parts(t: Tensor, product: Product, occupancy: int) -> list[int]:
    """The numbers of equal parts that the sum can be split into, the preferred one first: as many as keep the device
    occupied, in multiples of four elements, if possible."""
    assert isinstance(t.body, Reduce)
    along = max((v.extent for v in product.rows), default=1)
    invocations = prod(t.extents) // (min(ROWS, along) * COLUMNS)
    extent = product.over.extent
    longest = prod(v.extent for v in t.body.axes) // LEAST
    most = min(occupancy // max(1, invocations), longest)
    fitting = [n for n in range(2, longest + 1) if extent % n == 0]
    occupied = [n for n in fitting if n <= most]
    preferred = max([n for n in occupied if extent // n % COLUMNS == 0] or occupied or [1])
    return ordered(preferred, [1, *fitting])


def partial_sums(t: Tensor, over: Var, parts: int) -> Tensor:
    """Parts of the sum along a first axis, which replaces a batch of one."""
    whole = t.body
    assert isinstance(whole, Reduce)
    size = over.extent // parts
    inner = t.axes if t.rank <= 2 else t.axes[1:]

    def element(part: Expr, *axes: Expr) -> Expr:
        def value(*at: Expr) -> Expr:
            env = dict(zip(inner, axes, strict=True)) | dict(zip(whole.axes, at, strict=True))
            env |= {v: Const(0) for v in t.axes if v not in inner}
            return substitute(whole.value, env | {over: part * size + env[over]})

        return reduce("sum", [size if v is over else v.extent for v in whole.axes], value)

    partial_sums = compute(f"{t.name}.parts", (parts, *(v.extent for v in inner)), t.reads, element)
    return replace(partial_sums, exact=True)


def _whole(t: Tensor, partial: Tensor, parts: int) -> Tensor:
    """The sum of the parts, in the buffer of `t`."""
    assert isinstance(t.body, Reduce)
    part = Var("part", parts)
    axes = t.axes if t.rank <= 2 else t.axes[1:]
    body = Reduce("sum", (part,), Load(partial.buffer, (part, *axes)), t.body.init)
    return replace(t, body=body, reads=(partial,))
