"""Equal expressions become one object."""

from __future__ import annotations

from dataclasses import replace

from ..ir.nodes import Binary, Bitcast, Cast, Const, Expr, Extract, Kernel, Load, Node, Ramp, Splat, Unary, Var
from ..ir.rewrite import children, rewrite


def share_nodes(kernel: Kernel) -> Kernel:
    """x[i + 1] * x[i + 1], made of twelve objects   ->   the same, made of five

    Unrolled loops leave many copies; passes handle what is shared once.
    """
    known: dict[tuple[object, ...], Expr] = {}

    def rule(n: Node) -> Node | None:
        if not isinstance(n, Expr) or isinstance(n, Var):
            return None
        key = (type(n), *_label(n), *map(id, children(n)))
        return known.setdefault(key, n)

    body = rewrite(kernel.body, rule)
    return kernel if body is kernel.body else replace(kernel, body=body)


def _label(n: Expr) -> tuple[object, ...]:
    """What tells a node from others of its type with the same operands."""
    match n:
        case Const(value, dtype):
            return repr(value), dtype  # 0.0 and -0.0 are equal, as are 1 and True
        case Unary(op, _) | Binary(op, _, _):
            return (op,)
        case Cast(dtype, _) | Bitcast(dtype, _):
            return (dtype,)
        case Ramp(_, lanes) | Splat(_, lanes):
            return (lanes,)
        case Extract(_, lane):
            return (lane,)
        case Load(buffer, _, guard):
            return buffer, guard is not None
    return ()
