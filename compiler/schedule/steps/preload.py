"""preload: a sum starts from the bias instead of adding it at the end."""

from __future__ import annotations

from ...ir.nodes import Alloc, Binary, Buffer, Const, Expr, For, Load, Seq, Stmt, Store
from ...ir.rewrite import loads, rewrite_top_down, walk


def preload(stmt: Stmt) -> Stmt:
    """local acc; acc = 0; for k reduce: acc = acc + x[k]; y[i] = max(acc + b[i], 0)
    ->  local acc; acc = b[i]; for k reduce: acc = acc + x[k]; y[i] = max(acc, 0)

    Only for elements of constants (a bias), and only where the sum has no other use. Besides the addition this saves a
    register: the initial zero, which a browser's compiler would keep through the loop if the epilogue uses a zero, too.
    Sums are reassociated.
    """

    def rule(n: object) -> Stmt | None:
        match n:
            case Alloc(acc, Seq((Store(start, at, Const(0)), middle, Store() as end))) if start is acc:
                if not _is_sum(middle, acc):
                    return None
                bias = _added(end.value, acc)
                if bias is None:
                    return None
                value = _replace(end.value, acc, bias, Load(acc, ()))
                return Alloc(acc, Seq((Store(acc, at, bias), middle, Store(end.buffer, end.indices, value))))
        return None

    return rewrite_top_down(stmt, rule)


def _is_sum(middle: Stmt, acc: Buffer) -> bool:
    while isinstance(middle, For):
        middle = middle.body
    match middle:
        case Store(buffer, _, Binary("+", Load(read), value)):
            return buffer is acc and read is acc and all(x.buffer is not acc for x in loads(value))
    return False


def _added(value: Expr, acc: Buffer) -> Load | None:
    """The element of a constant that is added to every use of the sum; None where there is none."""
    for n in walk(value):
        bias = _addend(n, acc)
        if bias is not None:
            rest = _replace(value, acc, bias, Const(0.0, acc.dtype))
            return bias if all(x.buffer is not acc for x in loads(rest)) else None
    return None


def _addend(n: object, acc: Buffer) -> Load | None:
    match n:
        case Binary("+", Load(a), Load(b, _, None) as bias) if a is acc and b.constant:
            return bias
        case Binary("+", Load(b, _, None) as bias, Load(a)) if a is acc and b.constant:
            return bias
    return None


def _replace(value: Expr, acc: Buffer, bias: Load, by: Expr) -> Expr:
    return rewrite_top_down(value, lambda x: by if _addend(x, acc) == bias else None)
