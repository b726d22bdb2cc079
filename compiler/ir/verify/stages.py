"""The grammar after each stage: what lowering passes do away with, in their order, and which indices stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...dtypes import F16
from ..calls import Call, HoistedConstants
from ..lanes import Ramp, Splat, lanes_of
from ..nodes import (
    COMPARISONS,
    Alloc,
    Binary,
    Bitcast,
    Buffer,
    Cast,
    Const,
    Expr,
    For,
    Kernel,
    Load,
    LoopKind,
    Node,
    Outline,
    Scalar,
    Scope,
    Select,
    Seq,
    Store,
    Unary,
    Var,
)
from ..pointers import Advancing, Opaque, PointTo
from ..rewrite import children, loads
from ..scalar_ops import DOTS, SHORTS
from ..unlikely import Unlikely
from .place import shown, unique
from .types import RELAXED

LOWERED_UNARY = frozenset({"neg", "not", "abs", "sqrt", "floor", "ceil", "trunc", "round"})
ARITHMETIC = frozenset({"+", "-", "*", "/", "max", "min", "and", "or", "xor", "shl", "shr"})
LOWERED_BINARY = ARITHMETIC | COMPARISONS | RELAXED | DOTS.keys() | SHORTS.keys()
"""The operations that a renderer supports; lower_math composes everything else from them."""


LAST_STAGE = frozenset({Seq, Store, Alloc, For, Call, PointTo, Advancing, HoistedConstants, Opaque}) | frozenset(
    {Const, Var, Scalar, Unary, Binary, Select, Unlikely, Cast, Bitcast, Splat, Ramp, Load}
)
"""The nodes of a CPU's kernel when it is printed."""

WIDEST = 32
"""Bits of a vector's elements then."""


def _an_access_by_several_indices(n: Node) -> bool:
    return isinstance(n, Load | Store) and len(n.buffer.shape) != 1


def _a_vector_loop(n: Node) -> bool:
    return isinstance(n, For) and n.kind is LoopKind.VECTOR


def _an_unroll_loop(n: Node) -> bool:
    return isinstance(n, For) and n.kind is LoopKind.UNROLL


def _a_function_without_an_instruction(n: Node) -> bool:
    match n:
        case Unary(op, _):
            return op not in LOWERED_UNARY
        case Binary(op, _, _):
            return op not in LOWERED_BINARY
    return False


def _a_float16_conversion(n: Node) -> bool:
    return isinstance(n, Cast) and F16 in (n.type, n.a.dtype)


def _an_outlined_region(n: Node) -> bool:
    return isinstance(n, Outline)


def _a_core_loop_in_no_function(n: Node) -> bool:
    return not isinstance(n, Call | PointTo) and any(
        isinstance(c, For) and c.kind is LoopKind.CORE for c in children(n)
    )


def _a_loop_in_order(n: Node) -> bool:
    return isinstance(n, For) and n.kind is LoopKind.IN_ORDER


def _what_the_last_stage_lacks(n: Node) -> bool:
    """Whether a node is of another kind, or too wide, or an index adds to a pointer what that could have."""
    if type(n) not in LAST_STAGE:
        return True
    if isinstance(n, Load | Splat | Cast) and n.dtype.bits > WIDEST and lanes_of(n) > 1:
        return True
    match n:
        case Load(Buffer(scope=Scope.GLOBAL), (index,), _) | Store(Buffer(scope=Scope.GLOBAL), (index,), _):
            return not _is_added(index.base if isinstance(index, Ramp) else index)
    return False


def _is_added(offset: Expr) -> bool:
    """Whether an offset is of those that accesses add to pointers: a constant, or a sum of constants and of multiples
    of what is loaded."""
    match offset:
        case Const():
            return True
        case Binary("+", a, b):
            return _is_added(a) and _is_added(b)
        case Binary("*", a, Const()):
            return any(True for _ in loads(a))
    return False


LOWERED: dict[str, Callable[[Node], bool]] = {
    "flatten_indices": _an_access_by_several_indices,
    "vectorize_loops": _a_vector_loop,
    "unroll_loops": _an_unroll_loop,
    "lower_math": _a_function_without_an_instruction,
    "lower_float16": _a_float16_conversion,
    "outline_tiles": _an_outlined_region,
    "outline_cores": _a_core_loop_in_no_function,
    "unroll_in_order": _a_loop_in_order,
    "lower_addresses": _what_the_last_stage_lacks,
}
"""By lowering pass, in their order: what is gone from then on."""

TEXTURES = "use_textures"
"""The pass after which indices are those of texels, beyond which a fetch is defined (WebGL 2, section 4.2)."""

SCHEDULES = frozenset({"schedule_cpu", "schedule_simt", "schedule_fragment"})

BEFORE_LOWERING = frozenset({"build_kernel", "schedule_cpu", "schedule_simt"})
"""Stages whose kernels have an index for each dimension."""


def leftovers(kernel: Kernel, after: str) -> Iterator[str]:
    """Constructs that the pass `after` and those before it should have removed."""
    if kernel.forms and (after in SCHEDULES or after in LOWERED):
        yield f"forms of a naive kernel are left: {', '.join(map(str, kernel.forms))}"
    if after not in LOWERED:
        return
    banned = tuple(LOWERED.values())[: list(LOWERED).index(after) + 1]
    nodes = list(unique(Seq((kernel.body,))))
    for rule in banned:
        for n in nodes:
            if rule(n):
                yield f"{rule.__name__.strip('_').replace('_', ' ')} is left: {shown(n)}"


def has_flat_indices(kernel: Kernel, after: str) -> bool:
    """Whether indices are no longer those of dimensions, which one-dimensional buffers alone do not show."""
    if after in LOWERED or after in BEFORE_LOWERING or after == TEXTURES:
        return after not in BEFORE_LOWERING
    return not any(isinstance(n, Load | Store) and len(n.indices) > 1 for n in unique(kernel.body))
