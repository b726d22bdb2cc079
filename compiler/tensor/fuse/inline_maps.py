"""A map is inlined into its readers where that repeats no arithmetic, or where it only moves data; where launches take
longer, single elements, too; where memory does, what little arithmetic two readers share, as softmax's exponentials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from ...ir.affine import affine
from ...ir.nodes import Binary, Buffer, Cast, Const, Expr, Load, Node, Select, Unary, Var
from ...ir.reduction import Reduce
from ...ir.rewrite import children, loads, rewrite_top_down, substitute, walk
from ...ir.simplify import simplify_expr
from ...ir.verify import LOWERED_BINARY, LOWERED_UNARY
from ..spatial_reads import lies_for_windows, slides_over
from ..tensor import Tensor
from .dataflow import Dataflow, count
from .find_epilogues import Epilogue
from .measure import ExprSize, measure_tree

DIVISION_LIMIT = 8
"""Divisions and remainders in one index beyond which it is not substituted further: a chain of reshapes and transposes
that do not cancel doubles them at every link, and costs more than a copy."""

QUICK = 64
"""Nodes of an element's expression that takes less time than a launch, which is tens of microseconds."""

EPILOGUE_NODES = 96
"""Nodes of a map's expression after a reduction beyond which nothing more is inlined into it: a tile has its code once
for each of its registers. Activations have 20 to 50, a bias by positions in attention 90."""

EXTREMES = 2
"""Times that a maximum may read what is only moved: `merge_extremes` makes a minimum of it, too."""


@dataclass(frozen=True, eq=False, slots=True)
class Expanded:
    """The `body` of a map over `axes` after inlining, and the tensors that it then computes."""

    axes: tuple[Var, ...]
    body: Expr
    computes: frozenset[Tensor]


@dataclass(frozen=True, eq=False, slots=True)
class Maps:
    """`inlined` maps are computed where they are read; of those that are `kept`, each is a kernel's result."""

    inlined: Mapping[Buffer, Expanded]
    kept: Mapping[Tensor, Expanded]


def inline_maps(flow: Dataflow, epilogues: Mapping[Tensor, Epilogue]) -> Maps:
    """Decides for each map, in the program's order, so that its operands are decided first.

    Bodies are simplified at every step: the indices of a chain of reshapes and transposes grow exponentially before
    they cancel.
    """
    measures: dict[Buffer, ExprSize] = {}
    for epilogue in epilogues.values():
        measures |= epilogue.measures
    inlined: dict[Buffer, Expanded] = {}
    kept: dict[Tensor, Expanded] = {}
    for t in flow.program.tensors:
        if t.is_reduction:
            continue
        assert t.body is not None
        body, computes = expand(t.body, inlined)
        expanded = Expanded(t.axes, simplify_expr(body), computes | {t})
        if t not in epilogues and t not in flow.stored and _divides_little(expanded.body):
            measure = measure_tree(expanded.body).measure
            if _may_inline(t, expanded.body, measure, flow, epilogues, measures):
                measures[t.buffer] = measure
        if t.buffer in measures:
            inlined[t.buffer] = expanded
        else:
            kept[t] = expanded
    return Maps(inlined, kept)


def expand(e: Expr, inlined: Mapping[Buffer, Expanded]) -> tuple[Expr, frozenset[Tensor]]:
    """`e` with the bodies of `inlined` maps in place of their loads, and the tensors that these compute."""
    computes: set[Tensor] = set()

    def inline(e: Expr) -> Expr:
        return rewrite_top_down(e, rule)

    def rule(n: object) -> Expr | None:
        if not isinstance(n, Load):
            return None
        indices = tuple(inline(i) for i in n.indices)
        guard = None if n.guard is None else inline(n.guard)
        inlined_map = inlined.get(n.buffer)
        if inlined_map is None:
            return Load(n.buffer, indices, guard)
        computes.update(inlined_map.computes)
        value = substitute(inlined_map.body, dict(zip(inlined_map.axes, indices, strict=True)))
        return value if guard is None else _guarded(guard, value)

    return inline(e), frozenset(computes)


def _guarded(guard: Expr, value: Expr) -> Expr:
    """`value` where `guard` holds, else zero; its loads touch memory only there."""
    if isinstance(value, Load) and value.guard is None:
        return Load(value.buffer, value.indices, guard)

    def rule(n: object) -> Expr | None:
        if isinstance(n, Load):
            return Load(n.buffer, n.indices, guard if n.guard is None else n.guard & guard)
        return None

    inner = rewrite_top_down(value, rule)
    zero = Const(0.0 if value.dtype.is_float else 0, value.dtype)
    return Select(guard, inner, zero)


def _may_inline(
    t: Tensor,
    body: Expr,
    measure: ExprSize,
    flow: Dataflow,
    epilogues: Mapping[Tensor, Epilogue],
    inlined: Mapping[Buffer, ExprSize],
) -> bool:
    """Whether all readers of the map `t`, whose expanded body has `measure`, may compute it inline, and have room for
    it beside the maps that are `inlined` already."""
    users = flow.readers.get(t, ())
    cheap = _is_movement(body)
    affine = _is_affine_movement(body)
    cheap = cheap or (flow.few_launches and _is_quick(t, body, measure))
    light = len(users) <= 2 and measure.size <= flow.repeats and _is_narrow(body)
    for user in users:
        if not _repeats_little(t, user, body, alone=light or len(users) == 1, cheap=cheap, is_affine=affine):
            return False
        tree, now = flow.trees[user], flow.trees[user].with_inlined(inlined)
        size, depth = now.size + measure.size * tree.reads[t.buffer], tree.measure.depth + measure.depth
        if ExprSize(size, max(now.depth, depth)).is_too_large:
            return False
        epilogue = epilogues.get(user)
        if epilogue is not None and not user.is_reduction and size > EPILOGUE_NODES:
            return False
        if flow.has_too_many_reads({t, user} if epilogue is None else {t, *epilogue.members}, inlined):
            return False
    return bool(users)


def _repeats_little(t: Tensor, user: Tensor, body: Expr, *, alone: bool, cheap: bool, is_affine: bool) -> bool:
    """Whether `user` computes each element of `t` once at most, where it is `alone`, or may be treated so; data that is
    only moved (`cheap`) may be recomputed."""
    assert user.body is not None
    once = alone and len({x.indices for x in loads(user.body) if x.buffer is t.buffer}) == 1
    if isinstance(user.body, Reduce):
        times, size = user.buffer.size * count(user.body.axes), max(t.buffer.size, 1)
        if times > size:
            if is_affine and slides_over(user, t):
                return lies_for_windows(body, t.axes)
            return is_affine or (cheap and user.body.op != "sum" and times <= EXTREMES * size)
        return cheap or once
    return cheap or (once and user.buffer.size <= t.buffer.size)


def _is_quick(t: Tensor, body: Expr, measure: ExprSize) -> bool:
    """Whether `t` is one element, of so little arithmetic that each reader may repeat it."""
    if prod(t.extents) != 1 or measure.size > QUICK or not _is_narrow(body):
        return False
    return all(_is_arithmetic(n) for n in walk(body) if isinstance(n, Expr))


def _is_narrow(body: Expr) -> bool:
    """Whether it has no element of 64 bits, which would take its readers to the host."""
    return all(n.dtype.bits <= 32 for n in walk(body) if isinstance(n, Expr))


def _is_arithmetic(n: Expr) -> bool:
    match n:
        case Unary(op, _):
            return op in LOWERED_UNARY
        case Binary(op, _, _):
            return op in LOWERED_BINARY
    return True


def _is_movement(body: Expr | None) -> bool:
    """No arithmetic on elements: loads, selections by index, conversions, constants."""
    match body:
        case Load() | Const():
            return True
        case Cast(_, a):
            return _is_movement(a)
        case Select(cond, a, b):
            return not any(True for _ in loads(cond)) and _is_movement(a) and _is_movement(b)
        case Var() | Unary() | Binary():
            return not any(True for _ in loads(body)) and sum(1 for _ in walk(body)) < 8
    return False


def _is_affine_movement(body: Expr) -> bool:
    """A plain load at an affine index: free to inline even where elements are read many times."""
    return isinstance(body, Load) and body.guard is None and all(affine(i).variables_only for i in body.indices)


def _divides_little(body: Expr) -> bool:
    """Whether each index in `body` divides few times enough to be substituted further."""
    return all(_divisions(i) <= DIVISION_LIMIT for x in loads(body) for i in x.indices)


def _divisions(index: Expr) -> int:
    """How often an expression, as a tree, divides."""
    done: dict[int, int] = {}

    def go(n: Node) -> int:
        if id(n) not in done:
            here = isinstance(n, Binary) and n.op in ("//", "%")
            done[id(n)] = here + sum(go(c) for c in children(n))
        return done[id(n)]

    return go(index)
