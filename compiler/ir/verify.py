"""Checks what every kernel must hold, and what each lowering pass promises: the pass that broke it is named, not the
one that stumbles later."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ..dtypes import BOOL, F16, F32, I32
from ..errors import InternalError
from .all_reduce import AllReduce, Among
from .bounds import unproved_index
from .index import affine, range_of
from .lanes import Extract, Ramp, Splat, lanes_of
from .nodes import (
    COMPARISONS,
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
    Node,
    Outline,
    Scope,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    Var,
)
from .printer import print_node
from .reduction import Reduce
from .rewrite import children

LOWERED_UNARY = frozenset({"neg", "not", "abs", "sqrt", "floor", "ceil", "trunc", "round"})
LOWERED_BINARY = frozenset({"+", "-", "*", "/", "max", "min", "and", "or", "xor", "shl", "shr"}) | COMPARISONS
"""The operations that a renderer has to know; lower_math puts everything else together from them."""

GRID = frozenset({LoopKind.BLOCK, LoopKind.THREAD})

LOGIC = frozenset({"and", "or", "xor"})


def verify_kernel(kernel: Kernel, after: str) -> None:
    """Raises InternalError that names the pass `after` and the kernel, unless

    variables and buffers are bound, indices are int32 and as many as dimensions, every access is proved to stay in its
    buffer, operands agree in dtype and lanes, constants fit their dtype, and outputs alone are written. After a pass of
    LOWERED, what that pass and those before it do away with must be gone; of flat indices, which no longer show the
    dimension that a condition is about, only those known to be out of range are rejected.
    """
    problem = next(_problems(kernel, after), None)
    if problem is not None:
        raise InternalError(f"after {after}: kernel {kernel.name}: {problem}; please report this with the model")


@dataclass(frozen=True, slots=True)
class _Scope:
    """What is known at a statement. `flat` after indices were flattened; `conditions` hold there; `reached` is False
    inside a loop without iterations; `top` where nothing but loops over the grid stands around it, `outermost` where
    nothing but sequences and serial loops that are not parallel do."""

    readable: frozenset[Buffer]
    writable: frozenset[Buffer]
    flat: bool
    variables: frozenset[Var] = frozenset()
    conditions: tuple[Expr, ...] = ()
    reached: bool = True
    top: bool = True
    outermost: bool = True


def _problems(kernel: Kernel, after: str) -> Iterator[str]:
    if len(set(kernel.params)) < len(kernel.params) or not 0 < kernel.outputs <= len(kernel.params):
        yield f"it has {len(kernel.params)} parameters, {kernel.outputs} of them outputs"
    for p in kernel.params:
        if p.scope is not Scope.GLOBAL:
            yield f"parameter {p!r} is local"
        if p.layout is not None and p.layout.physical_shape != p.shape and len(p.shape) > 1:
            yield f"parameter {p!r} is not of its layout's shape {list(p.layout.physical_shape)}"
    written = frozenset(p for p in kernel.params[len(kernel.params) - kernel.outputs :] if not p.constant)
    yield from _statement(kernel.body, _Scope(frozenset(kernel.params), written, _is_flat(kernel, after)))
    if after in LOWERED:
        banned = tuple(LOWERED.values())[: list(LOWERED).index(after) + 1]
        for n in _unique(kernel.body):
            for rule in banned:
                if rule(n):
                    yield f"{rule.__name__.strip('_').replace('_', ' ')} is left: {_shown(n)}"


def _statement(s: Stmt, at: _Scope) -> Iterator[str]:
    match s:
        case Seq(stmts):
            for x in stmts:
                yield from _statement(x, replace(at, top=False))
        case For(var, body, kind, parallel):
            if var in at.variables:
                yield f"a loop over {var} stands inside a loop over {var}"
            if kind in GRID and not (parallel and at.top):
                yield f"a loop over the grid is a reduction or stands inside another statement: {_shown(s)}"
            if kind is LoopKind.CORE and not (parallel and at.outermost):
                yield f"a loop for several cores is a reduction or stands inside another statement: {_shown(s)}"
            if kind is LoopKind.IN_ORDER and any(_is_out_of_order(n) for n in _unique(body)):
                yield f"a loop in order holds loops that stay, or locals that are not float32: {_shown(s)}"
            if kind is LoopKind.SERIAL and any(_is_total(n) for n in _unique(body)):
                yield f"a workgroup computes a total together in a loop: {_shown(s)}"
            if kind is LoopKind.VECTOR and not (parallel and _only_stores(body)):
                yield f"a vector loop is a reduction or holds more than stores: {_shown(s)}"
            reached = at.reached and var.extent > 0
            # The cores may share loops one after the other inside a loop that runs on one of them.
            alone = kind is LoopKind.SERIAL and not parallel and at.outermost
            inside = replace(
                at, variables=at.variables | {var}, reached=reached, top=at.top and kind in GRID, outermost=alone
            )
            yield from _statement(body, inside)
        case Alloc(buffer, body):
            if buffer.scope is Scope.GLOBAL or buffer in at.readable:
                yield f"{buffer!r} is allocated but global, or allocated twice"
            readable, writable = at.readable | {buffer}, at.writable | {buffer}
            yield from _statement(body, replace(at, readable=readable, writable=writable, outermost=False))
        case Outline(body):
            yield from _statement(body, replace(at, outermost=False))
        case If(cond, body):
            if cond.dtype != BOOL or lanes_of(cond) != 1:
                yield f"a condition is no scalar bool: {_shown(cond)}"
            if any(isinstance(n, Barrier | AllReduce) for n in _unique(body)):
                yield f"invocations meet under a condition: {_shown(s)}"
            yield from _expression(cond, at, set())
            yield from _statement(body, replace(at, conditions=(*at.conditions, cond), outermost=False))
        case Store(buffer, indices, value):
            if buffer not in at.writable:
                yield f"stores to {buffer!r}, which is no output and no local buffer"
            if value.dtype != buffer.dtype:
                yield f"stores {value.dtype} to {buffer!r}: {_shown(s)}"
            yield from _access(s, at)
            if lanes_of(value) != max((lanes_of(i) for i in indices), default=1):
                yield f"the lanes of index and value differ: {_shown(s)}"
            seen: set[tuple[int, ...]] = set()
            for e in (*indices, value.a if isinstance(value, AllReduce) else value):
                yield from _expression(e, at, seen)
            if isinstance(value, AllReduce):
                yield from _meeting(s, value)


def _expression(e: Expr, at: _Scope, seen: set[tuple[int, ...]]) -> Iterator[str]:
    """Problems of `e` and everything below; nodes that were `seen` under the same conditions are not looked at."""
    stack = [(e, at.conditions)]
    while stack:
        x, conditions = stack.pop()
        key = id(x), *map(id, conditions)
        if key in seen:
            continue
        seen.add(key)
        yield from _node(x, replace(at, conditions=conditions))
        if isinstance(x, Load) and x.guard is not None:
            # Neither the load nor what its indices load happens where the guard is false.
            stack.append((x.guard, conditions))
            stack.extend((i, (*conditions, x.guard)) for i in x.indices)
        else:
            stack.extend((c, conditions) for c in children(x) if isinstance(c, Expr))


def _node(e: Expr, at: _Scope) -> Iterator[str]:
    if len({lanes_of(x) for x in _lockstep(e)}) > 1:
        yield f"the lanes of operands differ: {_shown(e)}"
    match e:
        case Var() if e not in at.variables:
            yield f"variable {e} is used outside its loop"
        case Const(value, dtype) if not dtype.is_float and not _fits(e):
            yield f"{value} is no {dtype}"
        case Unary(op, a) if (op == "not") > (a.dtype == BOOL or a.dtype.is_int):
            yield f"not of {a.dtype}: {_shown(e)}"
        case Binary(op, a, b):
            if a.dtype != b.dtype:
                yield f"operands of {op} are {a.dtype} and {b.dtype}: {_shown(e)}"
            if (op in LOGIC or op in ("shl", "shr")) and a.dtype.is_float:
                yield f"{op} of {a.dtype}: {_shown(e)}"
        case Select(cond, a, b) if cond.dtype != BOOL or a.dtype != b.dtype:
            yield f"a selection by {cond.dtype} of {a.dtype} or {b.dtype}: {_shown(e)}"
        case Bitcast(dtype, a) if dtype.bits != a.dtype.bits:
            yield f"{a.dtype} read as the bits of {dtype}: {_shown(e)}"
        case Extract(a, lane) if not 0 <= lane < lanes_of(a):
            yield f"there is no such lane: {_shown(e)}"
        case Ramp(a, _) | Splat(a, _) if lanes_of(a) != 1:
            yield f"a vector of vectors: {_shown(e)}"
        case Load(buffer, _, guard):
            if buffer not in at.readable:
                yield f"loads from {buffer!r}, which is no parameter and not allocated here"
            if guard is not None and (guard.dtype != BOOL or lanes_of(guard) != 1):
                yield f"a guard is no scalar bool: {_shown(e)}"
            yield from _access(e, at)
        case AllReduce():
            yield f"invocations meet inside an expression: {_shown(e)}"
        case Reduce():
            yield f"a reduction that is no loop: {_shown(e)}"


def _is_total(n: Node) -> bool:
    return isinstance(n, AllReduce) and n.among is Among.WORKGROUP


def _meeting(s: Store, value: AllReduce) -> Iterator[str]:
    """Problems of a store of what invocations compute together."""
    if s.buffer.scope is not Scope.LOCAL:
        yield f"what invocations compute together is stored where all of them store it: {_shown(s)}"
    if value.op not in (("+", "*") if value.among is Among.BEFORE else ("+", "*", "max", "min")):
        yield f"invocations do not compute {value.op} together: {_shown(s)}"


def _lockstep(e: Expr) -> tuple[Expr, ...]:
    """The operands that must have as many lanes as each other."""
    match e:
        case Binary(_, a, b):
            return a, b
        case Select(c, a, b):
            return c, a, b
    return ()


def _is_flat(kernel: Kernel, after: str) -> bool:
    """Whether indices are no longer those of dimensions, which one-dimensional buffers alone do not show."""
    if after in LOWERED or after in BEFORE_LOWERING or after == TEXTURES:
        return after not in BEFORE_LOWERING
    return not any(isinstance(n, Load | Store) and len(n.indices) > 1 for n in _unique(kernel.body))


def _access(x: Load | Store, at: _Scope) -> Iterator[str]:
    if len(x.indices) != len(x.buffer.shape):
        yield f"{len(x.indices)} indices for {x.buffer!r}: {_shown(x)}"
        return
    wrong = next((i.dtype for i in x.indices if i.dtype != I32), None)
    if wrong is not None:
        yield f"an index is {wrong}: {_shown(x)}"
    elif at.reached and (_may_leave_flat(x, at) if at.flat else unproved_index(x, at.conditions) is not None):
        yield f"an index may leave {x.buffer!r}: {_shown(x)}"


def _may_leave_flat(x: Load | Store, at: _Scope) -> bool:
    if at.conditions or (isinstance(x, Load) and x.guard is not None):
        return False
    return any(_outside(i, extent) for i, extent in zip(x.indices, x.buffer.shape, strict=True))


def _outside(index: Expr, extent: int) -> bool:
    """Whether an index is known to be out of range in some iteration. An interval is exact for a sum of variables;
    elsewhere only one that misses the buffer altogether tells."""
    lanes = lanes_of(index)
    if isinstance(index, Splat | Ramp):
        index = index.a if isinstance(index, Splat) else index.base
        lanes = 1 if isinstance(index, Splat) else lanes
    elif lanes > 1:
        return False
    found = range_of(index)
    if found is None:
        return False
    low, high = found[0], found[1] + lanes - 1
    return low < 0 or high >= extent if affine(index).variables_only else high < 0 or low >= extent


def _fits(c: Const) -> bool:
    if c.type == BOOL:
        return c.value in (0, 1)
    bits = c.type.bits - (c.type.kind == "int")
    low = -(1 << bits) if c.type.kind == "int" else 0
    return c.value == int(c.value) and low <= c.value < 1 << bits


def _only_stores(s: Stmt) -> bool:
    return all(_only_stores(x) for x in s.stmts) if isinstance(s, Seq) else isinstance(s, Store)


def _is_out_of_order(n: Node) -> bool:
    if isinstance(n, For):
        return n.kind not in (LoopKind.UNROLL, LoopKind.VECTOR)
    return isinstance(n, Store) and n.buffer.scope is not Scope.GLOBAL and n.buffer.dtype != F32


def _an_unroll_loop(n: Node) -> bool:
    return isinstance(n, For) and n.kind is LoopKind.UNROLL


def _an_access_by_several_indices(n: Node) -> bool:
    return isinstance(n, Load | Store) and len(n.buffer.shape) != 1


def _a_vector_loop(n: Node) -> bool:
    return isinstance(n, For) and n.kind is LoopKind.VECTOR


def _a_function_without_an_instruction(n: Node) -> bool:
    match n:
        case Unary(op, _):
            return op not in LOWERED_UNARY
        case Binary(op, _, _):
            return op not in LOWERED_BINARY
    return False


def _a_float16_conversion(n: Node) -> bool:
    return isinstance(n, Cast) and F16 in (n.type, n.a.dtype)


LOWERED: dict[str, Callable[[Node], bool]] = {
    "flatten_indices": _an_access_by_several_indices,
    "vectorize_loops": _a_vector_loop,
    "unroll_loops": _an_unroll_loop,
    "lower_math": _a_function_without_an_instruction,
    "lower_float16": _a_float16_conversion,
}
"""By lowering pass, in their order: what is gone from then on."""


TEXTURES = "use_textures"
"""The pass after which indices are those of texels, beyond which a fetch is defined (WebGL 2, section 4.2)."""

BEFORE_LOWERING = frozenset({"build_kernel", "schedule_cpu", "schedule_simt"})
"""Stages whose kernels have an index for each dimension."""


def _unique(node: Node) -> Iterator[Node]:
    """Every node once, however often it is shared."""
    stack, seen = [node], {id(node)}
    while stack:
        n = stack.pop()
        yield n
        for c in children(n):
            if id(c) not in seen:
                seen.add(id(c))
                stack.append(c)


def _shown(n: Node) -> str:
    text = " ".join(print_node(n).split())
    return text if len(text) <= 200 else f"{text[:200]}..."
