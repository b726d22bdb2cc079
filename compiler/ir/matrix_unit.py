"""Hardware that multiplies tiles of matrices: its instructions, their meaning, and statements that use them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ..dtypes import F32, DType
from .intrinsic import Intrinsic, Tensorized
from .nodes import Buffer, Const, Expr, For, Load, Node, Scope, Stmt, Store, Var
from .rewrite import INNER, VARIABLES, rewrite, walk


@dataclass(frozen=True, slots=True, eq=False)
class MatrixUnit:
    """`multiply` adds the product of a `rows` x `depth` tile a and a `depth` x `columns` tile b, of element type
    `operand`, to a tile c of float32 sums. The others fill, load and store tiles: of c, a, b and c."""

    rows: int
    columns: int
    depth: int
    operand: DType
    fill: Intrinsic
    load_a: Intrinsic
    load_b: Intrinsic
    multiply: Intrinsic
    store: Intrinsic

    @property
    def loads(self) -> tuple[Intrinsic, Intrinsic]:
        return self.load_a, self.load_b


@cache
def matrix_unit(rows: int, columns: int, depth: int, operand: DType) -> MatrixUnit:
    """The unit of these sizes. Equal ones are one object."""
    a, b = Buffer("a", (rows, depth), operand, Scope.TILE), Buffer("b", (depth, columns), operand, Scope.TILE)
    c = Buffer("c", (rows, columns), F32, Scope.TILE)
    i, j, k = Var("i", rows), Var("j", columns), Var("k", depth)
    product = Load(a, (i, k)).cast(F32) * Load(b, (k, j)).cast(F32)
    update = For(k, Store(c, (i, j), Load(c, (i, j)) + product), parallel=False)
    memory = Buffer("memory", c.shape, F32, Scope.SHARED)
    zero = Const(0.0, F32)
    return MatrixUnit(
        rows,
        columns,
        depth,
        operand,
        fill=Intrinsic("fill", (c,), _each(c, zero)),
        load_a=_load("load_a", a),
        load_b=_load("load_b", b),
        multiply=Intrinsic("multiply", (c, a, b), For(i, For(j, update))),
        store=Intrinsic("store", (memory, c), _copy(memory, c)),
    )


def _load(name: str, tile: Buffer) -> Intrinsic:
    memory = Buffer("memory", tile.shape, tile.dtype, Scope.SHARED)
    return Intrinsic(name, (tile, memory), _copy(tile, memory))


def _copy(to: Buffer, source: Buffer) -> Stmt:
    i, j = (Var(name, extent) for name, extent in zip("ij", to.shape, strict=True))
    return For(i, For(j, Store(to, (i, j), Load(source, (i, j)))))


def _each(to: Buffer, value: Expr) -> Stmt:
    i, j = (Var(name, extent) for name, extent in zip("ij", to.shape, strict=True))
    return For(i, For(j, Store(to, (i, j), value)))


TileOperand = Buffer | tuple[Buffer, Expr, Expr]
"""A whole buffer, or from a row and a column of one on."""


def instance(intrinsic: Intrinsic, places: Sequence[TileOperand]) -> Tensorized:
    """The intrinsic on the given places, in the order of its parameters."""
    at = dict(zip(intrinsic.params, places, strict=True))
    fresh = {v: Var(v.name, v.extent) for v in walk(intrinsic.body) if isinstance(v, Var)}

    def rule(n: Node) -> Node | None:
        match n:
            case Var() if n in fresh:
                return fresh[n]
            case For(v, body, kind, parallel) if v in fresh:
                return For(fresh[v], body, kind, parallel)
            case Load(buffer, indices, _):
                return Load(*_moved(at[buffer], indices))
            case Store(buffer, indices, value):
                return Store(*_moved(at[buffer], indices), value)
        return None

    return Tensorized(intrinsic, rewrite(intrinsic.body, rule, INNER | VARIABLES))


def _moved(place: TileOperand, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
    if isinstance(place, Buffer):
        return place, indices
    buffer, *start = place
    return buffer, tuple(s + i for s, i in zip(start, indices, strict=True))
