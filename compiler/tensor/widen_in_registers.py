"""Weights of few bits stay so in memory: products widen them in registers, which kernels at load do otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

from ..choices import ordered
from ..costs import GpuCosts
from ..dtypes import F32, I32, DType
from ..ir.affine import affine
from ..ir.contraction import Contraction, find_contraction
from ..ir.facts import Facts
from ..ir.intervals import limits, within
from ..ir.nodes import Binary, Cast, Const, Expr, Load, Node, Select, Var
from ..ir.reduction import Reduce
from ..ir.rewrite import free_vars, loads, rewrite, rewrite_top_down, substitute, walk
from ..ir.simplify import simplify_expr
from .fuse.dataflow import looks_up
from .layer_choices import LayerChoices
from .program import TensorProgram, without_unread
from .replace_tensors import replace_tensors
from .tensor import Tensor

NARROW = 16
"""Bits of elements that become float32 one by one, and their differences too, without rounding."""

FEW = 16
"""Times as many elements weights have as their zero points, at least: the least block."""

CODEBOOK = 1 << 8
"""Most elements of a constant in which elements of few bits are places."""


MOST_PARTS = 64
"""Tensors that an operand of a product is computed from in registers, so that its expression is not deep."""


def widen_in_registers(
    program: TensorProgram, costs: GpuCosts, most_reads: int | None, choices: LayerChoices
) -> TensorProgram:
    """w[k, n] = float32(q[n, k] - 8) * s[n], computed at load; y[i, n] = sum over k of x[i, k] * w[k, n]
    ->  y[i, n] = sum over k of x[i, k] * ((float32(q[n, k]) - 8.0) * s[n])

    where whatever else reads w in a run looks up few of its elements. The choice is `widened` of the product.
    """
    readers: dict[Tensor, list[Tensor]] = {}
    for t in program.tensors:
        for r in t.reads:
            readers.setdefault(r, []).append(t)
    stored = program.stored.union(t for _, t in program.outputs)
    gone: set[Tensor] = set()

    def make(t: Tensor) -> tuple[Tensor, ...]:
        product = _match(t)
        if product is None or not _is_for_products(product.weights, readers, stored):
            return (t,)
        result = product.in_registers()
        if most_reads is not None and len(result.reads) > most_reads:
            return (t,)
        preferred = "registers" if product.gains(result, costs) else "load"
        if choices(t).choose("widened", ordered(preferred, ["registers", "load"])) == "load":
            return (t,)
        gone.update(_made_of(product.weights))
        return (result,)

    result = replace_tensors(program, make)
    while gone and (rest := without_unread(result, gone - stored)).tensors != result.tensors:
        result = rest
    return result


def _is_for_products(w: Tensor, readers: Mapping[Tensor, list[Tensor]], stored: frozenset[Tensor]) -> bool:
    """Whether no kernel of a run needs all of `w`, or of what it is computed from, in memory."""
    seen: dict[Tensor, None] = dict.fromkeys(_made_of(w))
    waiting = list(seen)
    while waiting:
        t = waiting.pop()
        if t in stored:
            return False
        for r in readers.get(t, ()):
            if r.depends_only_on_constants:
                waiting += [p for p in _made_of(r) if p not in seen]
                seen.update(dict.fromkeys(_made_of(r)))
            elif not looks_up(r, t):
                product = _match(r)
                if product is None or product.load.buffer is not t.buffer:
                    return False
    return True


def _made_of(t: Tensor) -> Iterator[Tensor]:
    """`t` and the tensors that it is computed from, each once, without constants that are shipped."""
    seen, waiting = {t}, [t]
    while waiting:
        t = waiting.pop()
        if t.body is not None:
            yield t
            new = [r for r in t.reads if r not in seen]
            seen.update(new)
            waiting += reversed(new)


@dataclass(frozen=True, slots=True)
class _Product:
    """The product `t`, whose operand `load` is an element of `weights`, computed from constants."""

    t: Tensor
    contraction: Contraction
    load: Load
    weights: Tensor

    def in_registers(self) -> Tensor:
        """The product that computes its operand."""
        value, reads = _expanded(self.load, self.weights)
        assert isinstance(self.t.body, Reduce)
        body = replace(self.t.body, value=rewrite(self.t.body.value, lambda n: value if n is self.load else None))
        used = {x.buffer for x in loads(body.value)}
        all_reads = dict.fromkeys((*self.t.reads, *reads))
        return replace(self.t, body=body, reads=tuple(r for r in all_reads if r.buffer in used))

    def gains(self, result: Tensor, costs: GpuCosts) -> bool:
        """Whether `result`, which computes the operand, takes less time, or saves memory that is worth more."""
        before, after = _bytes((self.weights,)), _bytes(r for r in result.reads if r not in self.t.reads)
        rows = prod(v.extent for v in self.contraction.rows)
        elements = prod(self.weights.extents)
        multiplied = elements * rows
        assert isinstance(result.body, Reduce)
        looked_up = sum(any(any(True for _ in loads(i)) for i in x.indices) for x in loads(result.body.value))
        widened = elements * -(-rows // costs.rows) * (costs.widen + looked_up * costs.load)
        at_load, in_registers = max(multiplied, before * costs.byte), max(multiplied + widened, after * costs.byte)
        return in_registers <= at_load or before - after >= costs.memory


def _match(t: Tensor) -> _Product | None:
    """`t` as a product in float32 whose operand is computed from constants of few bits, without a condition. Each of
    them but codebooks is contiguous along the columns of the product in some layout."""
    if t.dtype != F32 or not isinstance(t.body, Reduce) or t.body.op != "sum" or t.depends_only_on_constants:
        return None
    contraction = find_contraction(t.axes, t.body.axes, t.body.value)
    by_buffer = {r.buffer: r for r in t.reads}
    for way in () if contraction is None else contraction.orientations:
        if not isinstance(way.b, Load) or way.b.guard is not None or not way.columns:
            continue
        w = by_buffer[way.b.buffer]
        if w.is_reduction or not _is_widened(w):
            continue
        value, reads = _expanded(way.b, w)
        narrow = any(r.dtype.bits <= NARROW and r.buffer.size > 1 for r in reads)
        if narrow and _suits_lanes(value, way.columns):
            return _Product(t, way, way.b, w)
    return None


def _is_widened(w: Tensor) -> bool:
    """Whether `w` is computed at load, and takes more memory than what it is made of."""
    if not w.depends_only_on_constants:
        return False
    parts = list(_made_of(w))
    if len(parts) > MOST_PARTS:
        return False
    return any(p.prepared for p in parts) and not any(p.is_reduction for p in parts)


def _suits_lanes(value: Expr, columns: tuple[Var, ...]) -> bool:
    for n in walk(value):
        match n:
            case Select():
                return False
            case Load(table, (index,), None) if table.size <= CODEBOOK and any(True for _ in loads(index)):
                continue
            case Load(_, indices, guard):
                mentions = [i for i in indices if free_vars(i) & set(columns)]
                if guard is not None or any([*loads(i)] for i in indices):
                    return False
                if len(mentions) > 1 or not all(affine(i).variables_only for i in mentions):
                    return False
    return True


def _expanded(load: Load, t: Tensor, most: int | None = None) -> tuple[Expr, dict[Tensor, None]]:
    """The element of `t`, and the constants that it is made of: those that are shipped, and what has up to `most`
    elements, as zero points of blocks, which may be computed at load."""
    most = t.buffer.size // FEW if most is None else most
    inner = {r.buffer: r for r in t.reads}
    reads: dict[Tensor, None] = {}

    def rule(n: Node) -> Expr | None:
        match n:
            case Load(b, indices, None) if b in inner and inner[b].body is not None and b.size > most:
                value, more = _expanded(Load(b, tuple(rewrite_top_down(i, rule) for i in indices)), inner[b], most)
                reads.update(more)
                return value
            case Load(b) if b in inner:
                reads[inner[b]] = None
        return None

    assert t.body is not None
    value = rewrite_top_down(substitute(t.body, dict(zip(t.axes, load.indices, strict=True))), rule)
    facts = Facts({})
    value = rewrite(value, lambda n: _decided(n, facts), {Select, Binary, Cast})
    return simplify_expr(rewrite_top_down(value, _apart)), reads


def _decided(n: Node, facts: Facts) -> Expr | None:
    """The index in a codebook without the bounds that the bits of a word never exceed."""
    match n:
        case Select(Binary("<", a, Const(0)), _, b) if a.dtype == I32 and facts.of(a)[0] >= 0:
            return b
        case Binary("max", a, Const(bound)) if a.dtype == I32 and facts.of(a)[0] >= bound:
            return a
        case Binary("min", a, Const(bound)) if a.dtype == I32 and facts.of(a)[1] <= bound:
            return a
        case Cast(to, Cast(middle, a)) if (
            to == I32 == a.dtype and middle.is_int and within(facts.of(a), limits(middle))
        ):
            return a
    return None


def _apart(n: Node) -> Expr | None:
    """float32(a - b)   ->   float32(a) - float32(b) of few bits, exactly: a conversion of bits needs no shift"""
    match n:
        case Cast(to, Binary("-", a, b)) if to == F32 and a.dtype == I32 and all(_is_narrow(x) for x in loads(n)):
            return Binary("-", *(rewrite_top_down(Cast(F32, x), _apart) for x in (a, b)))
    return None


def _is_narrow(x: Load) -> bool:
    return x.dtype.bits <= NARROW


def _bytes(tensors: Iterator[Tensor] | tuple[Tensor, ...]) -> int:
    """Bytes in a device's memory."""
    return sum(t.buffer.size * _held(t.dtype).bytes for t in tensors)


def _held(dtype: DType) -> DType:
    return dtype if dtype.bits <= NARROW and dtype.is_int else F32
