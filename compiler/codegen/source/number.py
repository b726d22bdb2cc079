"""Value numbering: expressions that compute the same become one value, and blocks count their uses of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count

from ...dtypes import BOOL, I32
from ...ir.affine import affine
from ...ir.all_reduce import AllReduce
from ...ir.intrinsic import Tensorized, operands
from ...ir.lanes import Extract, Lanes, Ramp, Splat, lanes_of
from ...ir.nodes import (
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
    Load,
    LoopKind,
    Outline,
    Scope,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    Var,
)
from ...ir.rewrite import children, statements, walk
from .dialect import Dialect
from .locals import Local, place_local

ARITHMETIC = Unary | Binary | Select | Cast | Bitcast


@dataclass(eq=False, slots=True)
class Value:
    """The value of `node` at some point of a kernel. `operands` are its sub-expressions, of a load its address;
    `depth` is that of the innermost block that it depends on."""

    node: Expr
    operands: tuple[Value, ...]
    depth: int
    pure: bool
    name: str | None = None

    @property
    def trivial(self) -> bool:
        """Not worth a name: a constant, a variable, the same in all lanes, one lane."""
        match self.node:
            case Const() | Var() | Ramp() | Splat() | Extract():
                return True
            case Lanes(parts):
                return all(isinstance(p, Const) for p in parts)
            case Load(buffer, _, _):
                return not self.operands and buffer.scope is Scope.LOCAL
        return False


@dataclass(eq=False, slots=True)
class Block:
    """Statements that run one after the other, and how often they use each value. `repeats`: the body of a loop."""

    repeats: bool = False
    items: list[Item] = field(default_factory=list)
    uses: dict[Value, int] = field(default_factory=dict)
    waiting: dict[Value, None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Declared:
    """A local variable of the text, declared before what follows."""

    local: Local


@dataclass(frozen=True, slots=True)
class Stored:
    """A store: where to is `address`, in the dialect's terms."""

    store: Store
    address: tuple[Value, ...]
    value: Value


@dataclass(frozen=True, slots=True)
class Looped:
    """`before` is computed ahead of the loop, whose iterations threads may share where it is a loop of `cores`;
    `length` is that of a dynamic one."""

    var: Var
    length: Value | None
    body: Block
    before: tuple[Value, ...]
    cores: bool


@dataclass(frozen=True, slots=True)
class Guarded:
    """`body` where `cond` holds; `before` is computed ahead of the condition."""

    cond: Value
    body: Block
    before: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class DeclaredTile:
    """A tile of hardware, in the role that instructions have for it."""

    buffer: Buffer
    role: str


@dataclass(frozen=True, slots=True)
class Instructed:
    """An instruction of the target, on tiles and on places in shared memory: where each begins, and how many elements
    its rows are apart."""

    name: str
    operands: tuple[tuple[Buffer, Value, int], ...]


Item = Declared | DeclaredTile | Stored | Looped | Guarded | Barrier | Instructed


@dataclass(frozen=True, slots=True)
class _Scope:
    """The place of a block: `blocks` are those around it and itself, outermost first; `depths` are those of variables'
    blocks, by variable."""

    blocks: tuple[Block, ...]
    depths: Mapping[Var, int]

    @property
    def block(self) -> Block:
        return self.blocks[-1]

    @property
    def depth(self) -> int:
        return len(self.blocks) - 1

    def inside(self, block: Block, *variables: Var) -> _Scope:
        """The scope of a block in this one, of whose depth the variables are."""
        return _Scope((*self.blocks, block), {**self.depths, **dict.fromkeys(variables, len(self.blocks))})

    def count(self, v: Value) -> None:
        """One more use of `v` in this block, or outside of the loops in which it stays the same."""
        self._count(v, self.depth)

    def _count(self, v: Value, depth: int) -> None:
        if v.pure and not v.trivial:
            loops = (d for d in range(v.depth + 1, depth + 1) if self.blocks[d].repeats)
            outermost = next(loops, None)
            if outermost is not None:
                depth = outermost - 1
                self.blocks[depth].waiting[v] = None
        uses = self.blocks[depth].uses
        times = uses.get(v, 0)
        uses[v] = times + 1
        if not times or v.trivial:
            for o in v.operands:
                self._count(o, depth)


class Numbering:
    """Numbers the statements of one kernel. `variables` are known from outside (the grid's)."""

    def __init__(self, dialect: Dialect, variables: Iterable[Var]) -> None:
        self.dialect = dialect
        self.locals: dict[Buffer, Local] = {}
        self.values: dict[object, Value] = {}
        self.versions: dict[tuple[Buffer, int], tuple[int, int]] = {}
        """Contents of each part of memory, at present: a number of their own, and the depth where they were written."""
        self._outside = _Scope((), dict.fromkeys(variables, 0))
        self._fresh = count(1)

    def block(self, stmt: Stmt) -> Block:
        """The statements of a kernel's body."""
        block = Block()
        self._statement(stmt, self._outside.inside(block))
        return block

    def place(self, buffer: Buffer, around: Stmt) -> Local:
        """Chooses the storage of a local or shared buffer, from every access below `around`."""
        if any(isinstance(n, Tensorized) and buffer in (o.buffer for _, o in operands(n)) for n in statements(around)):
            return self.locals.setdefault(buffer, Local(buffer, 1, buffer.size, True))
        accesses = (n for n in walk(around) if isinstance(n, Load | Store) and n.buffer is buffer)
        return self.locals.setdefault(buffer, place_local(buffer, accesses))

    def part(self, access: Load | Store) -> int:
        """Which part of a buffer's memory the access is to."""
        local = self.locals.get(access.buffer)
        return 0 if local is None or local.is_array else local.part(access)

    def _statement(self, s: Stmt, scope: _Scope) -> None:
        items = scope.block.items
        expressions = _Expressions(self, scope.depths)
        match s:
            case Seq(stmts):
                for x in stmts:
                    self._statement(x, scope)
            case Outline(body):
                self._statement(body, scope)
            case Alloc(Buffer(scope=Scope.TILE) as buffer, body):
                items.append(DeclaredTile(buffer, _role(buffer, body)))
                self._statement(body, scope)
            case Alloc(buffer, body):
                items.append(Declared(self.place(buffer, s)))
                self._statement(body, scope)
            case Store():
                value = expressions.number(s.value)
                address = expressions.address(s)
                for v in (*address, value):
                    scope.count(v)
                items.append(Stored(s, address, value))
                self._write(s.buffer, self.part(s), scope)
            case For(var, body, kind, _):
                length = None if var.length is None else expressions.index(var.length)
                if length is not None:
                    scope.count(length)
                inner = scope.inside(Block(repeats=True), var)
                before = self._inner(body, scope, inner)
                items.append(Looped(var, length, inner.block, before, kind is LoopKind.CORE))
            case If(cond, body):
                test = expressions.number(cond)
                scope.count(test)
                inner = scope.inside(Block())
                before = self._inner(body, scope, inner)
                items.append(Guarded(test, inner.block, before))
            case Tensorized():
                instructed = [(o.buffer, expressions.index(o.base), o.stride) for _, o in operands(s)]
                for _, base, _ in instructed:
                    scope.count(base)
                items.append(Instructed(s.intrinsic.name, tuple(instructed)))
                self._write(instructed[0][0], 0, scope)
            case Barrier():
                items.append(s)
                for buffer in self.locals:
                    if buffer.scope is Scope.SHARED:
                        self._write(buffer, 0, scope)
            case _:
                raise AssertionError(f"not lowered: {s!r}")

    def _inner(self, body: Stmt, scope: _Scope, inner: _Scope) -> tuple[Value, ...]:
        """Numbers the block of a loop or condition: what it stores is unknown where it begins, and after it. Returns
        the values that the block around it computes ahead."""
        stored = {n.buffer for n in statements(body) if isinstance(n, Store)}
        for buffer, part in {k for k in self.versions if k[0] in stored} | {(b, 0) for b in stored}:
            self._write(buffer, part, inner)
        self._statement(body, inner)
        for buffer, part in {k for k in self.versions if k[0] in stored}:
            self._write(buffer, part, scope)
        before = tuple(scope.block.waiting)
        scope.block.waiting = {}
        return before

    def _write(self, buffer: Buffer, part: int, scope: _Scope) -> None:
        self.versions[buffer, part] = next(self._fresh), scope.depth


class _Expressions:
    """Numbers the expressions of one statement, before which `depths` are those of variables."""

    def __init__(self, numbering: Numbering, depths: Mapping[Var, int]) -> None:
        self._numbering, self._depths = numbering, depths
        self._seen: dict[int, tuple[Expr, Value]] = {}
        """Values of nodes by identity, which it keeps: an expression has many of its nodes several times."""

    def number(self, e: Expr) -> Value:
        entry = self._seen.get(id(e))
        if entry is None:
            entry = self._seen[id(e)] = e, self._intern(e)
        return entry[1]

    def index(self, e: Expr) -> Value:
        """The terms of a sum by the depth of their loops: what stays the same for longest is added up first."""
        form = affine(e)
        if not form.terms:
            return self.number(Const(form.constant))
        terms = sorted(form.terms, key=lambda t: self.number(t[0]).depth)
        return self.number(type(form)(tuple(terms), form.constant).to_expr())

    def address(self, access: Load | Store) -> tuple[Value, ...]:
        local = self._numbering.locals.get(access.buffer)
        indices: tuple[Expr, ...] = ()
        if local is None:
            indices = self._numbering.dialect.address(access)
        elif local.is_array:
            indices = local.address(access)
        return tuple(map(self.index, indices))

    def _intern(self, e: Expr) -> Value:
        version, depth, pure = 0, 0, isinstance(e, Const | Var | ARITHMETIC)
        if isinstance(e, Load):
            assert e.guard is None
            operands = self.address(e)
            version, depth = self._numbering.versions.get((e.buffer, self._numbering.part(e)), (0, 0))
        else:
            operands = tuple(self.number(c) for c in children(e) if isinstance(c, Expr))
        if isinstance(e, Var):
            depth = self._depths[e]
        key = (*self._label(e), version, *map(id, operands))
        value = self._numbering.values.get(key)
        if value is None:
            depth = max((depth, *(o.depth for o in operands)))
            pure = pure and e.dtype in (I32, BOOL) and all(o.pure for o in operands)
            value = self._numbering.values[key] = Value(e, operands, depth, pure)
        return value

    def _label(self, e: Expr) -> tuple[object, ...]:
        match e:
            case Const(value, dtype):
                return "const", repr(value), dtype
            case Var():
                return "var", e, self._depths[e]
            case Unary(op, _):
                return "unary", op
            case Binary(op, _, _):
                return "binary", op
            case Cast(dtype, _):
                return "cast", dtype
            case Bitcast(dtype, _):
                return "bitcast", dtype
            case Splat(_, lanes):
                return "splat", lanes
            case Ramp(_, lanes):
                return "ramp", lanes
            case Lanes():
                return ("lanes",)
            case Extract(_, lane):
                return "extract", lane
            case Select():
                return ("select",)
            case AllReduce(op, _, among):
                return "all_reduce", op, among
            case Load(buffer, _, _):
                local = self._numbering.locals.get(buffer)
                if local is not None and not local.is_array:
                    return "variable", buffer, self._numbering.part(e), local.lane(e)
                return "load", buffer, lanes_of(e)
        raise AssertionError(f"not lowered: {e!r}")


def _role(tile: Buffer, around: Stmt) -> str:
    """The name of the parameter that the tile is."""
    for n in walk(around):
        if isinstance(n, Tensorized):
            for param, operand in operands(n):
                if operand.buffer is tile:
                    return param.name
    raise AssertionError(f"nothing uses {tile!r}")


def below(block: Block) -> Iterator[Item]:
    """Every item of a block and of those inside it."""
    for item in block.items:
        yield item
        if isinstance(item, Looped | Guarded):
            yield from below(item.body)
