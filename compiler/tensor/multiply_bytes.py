"""Products of int16 whose values fit bytes, as products of bytes: of these, processors add four in one instruction."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial

from ..dtypes import I8, I16, I32, DType, highest, lowest
from ..ir.affine import affine
from ..ir.contraction import find_contraction, loaded_operand
from ..ir.nodes import Binary, Buffer, Cast, Const, Expr, Load, Node, Select, Var
from ..ir.reduction import Reduce
from ..ir.rewrite import free_vars, loads, rewrite, substitute
from ..ir.scalar_ops import Dot
from ..ir.simplify import simplify_expr
from .choose_layout import guard_is_bounds, reach_of
from .fold_tensor import fold
from .multiply_words import match_product
from .program import TensorProgram, without_unread
from .replace_tensors import replace_tensors
from .tensor import Tensor, compute

GROUP = 4
"""Bytes whose products are added at once."""


def multiply_bytes(program: TensorProgram, dot: Dot, rows: int | None = None) -> TensorProgram:
    """x[i, k] = int16(q[i, k]) - z; total[i, j] = sum over k of int32(x[i, k]) * int32(w[k, j])
    ->  dot[i, j] = sum over k of int32(q[i, k]) * int32(w[k, j])
        total[i, j] = dot[i, j] - z * (sum over k of int32(w[k, j]))

    for constants w of int8 and bytes q of the types, and w within the bounds, of `dot`. Bytes are computed where x is a
    number between constant bounds, or each element of x is one of such numbers: the largest of a window, a part. What
    is read beyond the edges of x is z around a copy of q. Other readers of x read q. Where w is not constant but int16,
    it becomes such bytes less a number, too: for products of at least `rows` rows, None for none.
    """
    program = _store_bytes(program, dot.a, partial(_by_constant, most=dot.most))
    if rows is None or dot.most is not None:
        return program
    match = partial(_of_run, rows=rows)
    possible = _choose(program, dot.a, match)

    def columns(t: Tensor) -> _Product | None:
        product = match(t)
        return None if product is None or product.x.buffer not in possible else _Product(product.w, product.x)

    def rows_of_bytes(t: Tensor) -> _Product | None:
        product = match(t)
        return None if product is None or product.w.dtype != I8 else product

    return _store_bytes(_store_bytes(program, I8, columns), dot.a, rows_of_bytes)


def _store_bytes(program: TensorProgram, dtype: DType, match: _Match) -> TensorProgram:
    """The program with x as bytes in the products that `match` finds."""
    chosen = _choose(program, dtype, match)
    if not chosen:
        return program

    def make(t: Tensor) -> tuple[Tensor, ...]:
        if t.buffer in chosen:
            return _split(t, dtype) or _move_bytes(t, dtype)
        return _read_bytes(t, {x.buffer: _Bytes.of(x) for x in t.reads if x.buffer in chosen}, match)

    result = replace_tensors(program, make)
    return without_unread(result, {t for t in result.tensors if t.buffer in chosen})


@dataclass(frozen=True, slots=True)
class _Bytes:
    """A tensor of int16 as the elements of `tensor`, of bytes, less `zero`: a constant, or the element of `source`."""

    tensor: Tensor
    zero: Expr
    source: Tensor | None = None

    @staticmethod
    def of(x: Tensor) -> _Bytes:
        """The parts of a tensor that `_split` made."""
        assert x.body is not None
        zero = x.body.b if isinstance(x.body, Binary) else Const(0, I16)
        return _Bytes(x.reads[0], zero, next(iter(x.reads[1:]), None))

    @property
    def is_whole(self) -> bool:
        """Whether nothing is subtracted."""
        return self.zero == Const(0, I16)

    @property
    def reads(self) -> tuple[Tensor, ...]:
        return (self.tensor,) if self.source is None else (self.tensor, self.source)


@dataclass(frozen=True, slots=True)
class _Product:
    """Terms of a sum: `x`, of int16, times `w`."""

    x: Load
    w: Load


_Match = Callable[[Tensor], _Product | None]


def _choose(program: TensorProgram, dtype: DType, match: _Match) -> set[Buffer]:
    """The tensors of int16 that products read, all of whose readers may read bytes in their place."""
    kept = {*program.stored, *(t for _, t in program.outputs), *(t for i in program.structures for t in i.reads)}
    products = {t: match(t) for t in program.tensors}
    operands = [x for t, p in products.items() if p is not None for x in t.reads if x.buffer is p.x.buffer]
    chosen = {x: zero for operand in operands for x, zero in _zeros(operand, dtype, kept).items()}
    whole = {x.buffer: zero == Const(0, I16) for x, zero in chosen.items()}
    moving = {x.buffer for x in chosen if _is_moved(x.body)}
    changed = True
    while changed:
        changed = False
        for t, product in products.items():
            for load in loads(t.body) if t.body is not None else ():
                multiplied = product is not None and product.x.buffer is load.buffer
                padded = load.guard is None or whole.get(load.buffer, True) or (multiplied and _edges(load) is not None)
                moved = t.buffer in moving and t.buffer in whole
                if not (padded or moved) or (_is_product(t) and not multiplied):
                    changed |= whole.pop(load.buffer, None) is not None
                if t.buffer in moving and load.buffer not in whole:
                    changed |= whole.pop(t.buffer, None) is not None
    return {*whole}


def _zeros(x: Tensor, dtype: DType, kept: Set[Tensor]) -> dict[Tensor, Expr]:
    """Zero points of the bytes that stand for `x`, and for the tensors of which it takes elements; empty where these
    are no bytes, or differ."""
    if x in kept or x.dtype != I16:
        return {}
    if parts := _split(x, dtype):
        return {x: _Bytes.of(parts[-1]).zero}
    if not _is_moved(x.body):
        return {}
    operands = [_zeros(r, dtype, kept) for r in x.reads]
    zeros = {operand[r] if operand else None for operand, r in zip(operands, x.reads, strict=True)}
    zero = zeros.pop() if len(zeros) == 1 else None
    return {x: zero, **{t: z for o in operands for t, z in o.items()}} if isinstance(zero, Const) else {}


def _is_moved(e: Expr | None) -> bool:
    """Whether `e` is an element of a tensor, the largest of several, or zero."""
    match e:
        case Reduce("max", _, value, init):
            return init == _LEAST and _is_moved(value)
        case Select(_, a, b):
            return _is_moved(a) and (b in (_LEAST, _NONE) or _is_moved(b))
        case Load():
            return e.dtype == I16
    return False


_LEAST, _NONE = Const(int(lowest(I16)), I16), Const(0, I16)


def _is_product(t: Tensor) -> bool:
    """Whether `t` is a sum of products that has rows and columns."""
    contraction = None
    if isinstance(t.body, Reduce) and t.body.op == "sum":
        contraction = find_contraction(t.axes, t.body.axes, t.body.value)
    return contraction is not None and bool(contraction.rows and contraction.columns)


def _of_run(t: Tensor, rows: int) -> _Product | None:
    """The terms of the sum `t`, of at least so many rows, of operands that a run computes, of which w may be int8."""
    product = match_product(t, rows) if t.dtype == I32 else None
    if product is None or product.x.dtype != I16 or product.y.dtype not in (I16, I8):
        return None
    # Words of what varies are made by the run.
    whole = product.k.length is not None or _in_groups(product.x, product.k)
    return _Product(product.x, product.y) if whole else None


def _by_constant(t: Tensor, most: int | None) -> _Product | None:
    """The terms of the sum `t`, where w is a constant of int8, bytes that are multiplied together are neighbours, and
    no constant is beyond `most`."""
    if not _is_product(t) or t.dtype != I32:
        return None
    assert isinstance(t.body, Reduce)
    contraction = find_contraction(t.axes, t.body.axes, t.body.value)
    assert contraction is not None
    for way in contraction.orientations:
        x, w = loaded_operand(way.a), loaded_operand(way.b)
        if x is None or w is None or x.dtype != I16 or w.dtype != I8 or w.guard is not None:
            continue
        constant = next(r for r in t.reads if r.buffer is w.buffer)
        if most is not None and (w.buffer.values is None or max(map(abs, w.buffer.values)) > most):
            continue
        if constant.depends_only_on_constants and any(_in_groups(x, k) for k in way.over):
            return _Product(x, w)
    return None


def _in_groups(x: Load, k: Var) -> bool:
    """Whether `k` goes along neighbours in memory, in whole groups: the last dimension, or the channels of an image,
    for whose last group memory has room."""
    last = len(x.indices) - 1
    channels = 1 if last > 1 else None
    for d in (last,) if channels is None else (channels, last):
        index = affine(x.indices[d])
        rest = index.without(k)
        whole = k.extent % GROUP == 0 or (d == channels and not rest.terms)
        others = (*x.indices[:d], *x.indices[d + 1 :], *([] if x.guard is None else [x.guard]))
        alone = not any(k in free_vars(e) for e in others)
        if index.coefficient(k) == 1 and rest.is_multiple(GROUP) and whole and alone:
            return k.length is None and k.extent >= GROUP - 1
    return False


def _split(x: Tensor, dtype: DType) -> tuple[Tensor, ...]:
    """Bytes, unless they are stored already, and `x` as those less a number; nothing where its values fit no byte."""
    least = int(lowest(dtype))
    match x.body:
        case Cast(_, Binary("min", Binary("max", Const(low), _), Const(high)) as value):
            if high - low > highest(dtype) - least:
                return ()
            zero = 0 if least <= low and high <= highest(dtype) else least - int(low)
            body = x.body + zero if zero else value
            bytes_ = replace(x, buffer=Buffer(f"{x.name}.bytes", x.extents, dtype), body=body.cast(dtype))
            return bytes_, _less(x, bytes_, Const(zero, I16), None)
        case Cast(_, Load() as q) if _is_same(x, q):
            return _of_stored(x, q, Const(0, I16), dtype)
        case Binary("-", Cast(_, Load() as q), zero) if _is_same(x, q) and not free_vars(zero):
            return _of_stored(x, q, simplify_expr(zero), dtype)
    return ()


def _move_bytes(x: Tensor, dtype: DType) -> tuple[Tensor, Tensor]:
    """Bytes of `x`, whose elements are some of tensors that `_split` or this function made, and `x` as those less their
    zero."""
    of = {r.buffer: _Bytes.of(r) for r in x.reads}
    zero = next(iter(of.values())).zero
    assert isinstance(zero, Const)
    assert x.body is not None

    def moved(e: Expr, inside: Expr | None = None) -> Expr:
        match e:
            case Reduce(op, axes, value):
                return Reduce(op, axes, moved(value), Const(lowest(dtype), dtype))
            case Select(cond, a, b):
                return Select(cond, moved(a, cond), moved(b))
            case Load(buffer, indices, guard):
                load = Load(of[buffer].tensor.buffer, indices, guard)
                if guard is None or guard == inside or zero == _NONE:
                    return load
                return Select(guard, load, Const(zero.value, dtype))
        return Const(lowest(dtype), dtype) if e == _LEAST else Const(zero.value, dtype)

    reads = tuple(of[r.buffer].tensor for r in x.reads)
    bytes_ = replace(x, buffer=Buffer(f"{x.name}.bytes", x.extents, dtype), body=moved(x.body), reads=reads)
    return bytes_, _less(x, bytes_, zero, None)


def _is_same(x: Tensor, q: Load) -> bool:
    """Whether elements of `x` are those of a tensor of bytes at the same indices."""
    return q.dtype.bits == I8.bits and q.indices == x.axes and q.guard is None


def _of_stored(x: Tensor, q: Load, zero: Expr, dtype: DType) -> tuple[Tensor, ...]:
    """`x`, which is `q` less `zero`."""
    by_buffer = {t.buffer: t for t in x.reads}
    source = next((by_buffer[n.buffer] for n in loads(zero)), None)
    shift = int(lowest(dtype)) - int(lowest(q.dtype))
    if not shift:
        return (_less(x, by_buffer[q.buffer], zero, source),)
    name, stored = f"{x.name}.bytes", by_buffer[q.buffer]
    bytes_ = compute(name, x.shape, (stored,), lambda *i: (stored.read(i).cast(I16) + shift).cast(dtype))
    return bytes_, _less(x, bytes_, simplify_expr(zero + shift), source)


def _less(x: Tensor, bytes_: Tensor, zero: Expr, source: Tensor | None) -> Tensor:
    """`x` as the elements of `bytes_` less `zero`, which is read from `source`."""
    wide = bytes_.read(x.axes).cast(I16)
    body = wide if zero == Const(0, I16) else Binary("-", wide, zero)
    return replace(x, body=body, reads=(bytes_,) if source is None else (bytes_, source))


def _read_bytes(t: Tensor, operands: Mapping[Buffer, _Bytes], match: _Match) -> tuple[Tensor, ...]:
    """`t`, which reads tensors of int16, reading bytes."""
    if not operands or t.body is None:
        return (t,)
    product = match(t)
    multiplied = None if product is None else operands.get(product.x.buffer)

    def rule(n: Node) -> Expr | None:
        if not isinstance(n, Load) or n.buffer not in operands:
            return None
        of = operands[n.buffer]
        load = Load(of.tensor.buffer, n.indices, n.guard)
        if multiplied is not None:
            return load
        return load.cast(I16) if of.is_whole else load.cast(I16) - of.zero

    if multiplied is None or product is None:
        reads = [r for x in t.reads for r in (operands[x.buffer].reads if x.buffer in operands else (x,))]
        return (replace(t, body=rewrite(t.body, rule, {Load}), reads=tuple(dict.fromkeys(reads))),)
    if product.x.guard is None or multiplied.is_whole:
        return _less_zero(t, rewrite(t.body, rule, {Load}), product.w, multiplied)
    edges = _edges(product.x)
    assert edges is not None
    padded = _padded(multiplied, edges)
    at = tuple(i + low for i, (low, _) in zip(product.x.indices, edges, strict=True))
    body = rewrite(t.body, lambda n: padded.read(at) if n is product.x else None, {Load})
    return padded, *_less_zero(t, body, product.w, replace(multiplied, tensor=padded))


def _edges(x: Load) -> list[tuple[int, int]] | None:
    """How far `x`, an element of an image, reads beyond its edges, in each dimension; None where its guard says more
    than where they are."""
    reach = [reach_of(i, n) for i, n in zip(x.indices, x.buffer.shape, strict=True)]
    edges = [r for r in reach if r is not None]
    return edges if guard_is_bounds(x) and len(edges) == len(reach) and not any(map(any, edges[:2])) else None


def _padded(x: _Bytes, edges: Sequence[tuple[int, int]]) -> Tensor:
    """Bytes with as many zeros around them."""

    def body(*i: Expr) -> Expr:
        inside = [j - low for j, (low, _) in zip(i, edges, strict=True)]
        limits = zip(inside, x.tensor.extents, edges, strict=True)
        bounds = [b for j, n, e in limits if any(e) for b in (Binary("<=", Const(0), j), Binary("<", j, Const(n)))]
        return x.tensor.read(inside, functools.reduce(partial(Binary, "and"), bounds), x.zero.cast(x.tensor.dtype))

    shape = [low + n + high for n, (low, high) in zip(x.tensor.extents, edges, strict=True)]
    return compute(f"{x.tensor.name}.padded", shape, x.reads, body)


def _less_zero(t: Tensor, products: Expr, w: Load, x: _Bytes) -> tuple[Tensor, ...]:
    """The sum of `products`, of bytes and `w`, and `t`: less what the zero of `x` adds to it, if any."""
    factor = next(r for r in t.reads if r.buffer is w.buffer)
    if x.is_whole:
        return (replace(t, body=products, reads=(x.tensor, factor)),)
    assert isinstance(t.body, Reduce)
    over, moving = t.body.axes, [d for d, v in enumerate(t.axes) if v in free_vars(w)]

    def factors(*i: Expr) -> Expr:
        places = {t.axes[d]: at for d, at in zip(moving, i, strict=True)}
        return Reduce("sum", over, substitute(w, places).cast(I32), Const(0))

    sums = fold(compute(f"{w.buffer.name}.sums", [t.shape[d] for d in moving], (factor,), factors))
    dot = replace(t, buffer=Buffer(f"{t.name}.dot", t.extents, I32), body=products, reads=(x.tensor, factor))

    reads = (sums, x.source)
    terms = fold(compute(f"{sums.name}.zero", sums.shape, reads, lambda *i: x.zero.cast(I32) * sums.read(i)))
    whole = compute(t.name, t.shape, (dot, terms), lambda *i: dot.read(i) - terms.read([i[d] for d in moving]))
    added = (n for n in (sums, terms) if not n.is_constant)
    return dot, *added, replace(t, axes=whole.axes, body=whole.body, reads=whole.reads)
