"""Value numbering: expressions that compute the same become one value, and blocks count their uses of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count

from ...dtypes import BOOL, I32
from ...ir.affine import affine
from ...ir.all_reduce import AllReduce
from ...ir.intrinsic import Tensorized, operands
from ...ir.lanes import Extract, Ramp, Splat, lanes_of
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


class Numbering:
    """Numbers the statements of one kernel. `variables` are known from outside (the grid's)."""

    def __init__(self, dialect: Dialect, variables: Mapping[Var, str]) -> None:
        self._dialect = dialect
        self.locals: dict[Buffer, Local] = {}
        self._depths = dict.fromkeys(variables, 0)
        self._values: dict[object, Value] = {}
        self._versions: dict[tuple[Buffer, int], tuple[int, int]] = {}
        self._fresh = count(1)
        self._open: list[Block] = []
        self._addresses: dict[int, tuple[Load | Store, tuple[Value, ...]]] = {}
        self._seen: dict[int, tuple[Expr, Value]] = {}  # keeps nodes alive that are compared by identity

    def block(self, stmt: Stmt, *, repeats: bool = False) -> Block:
        """The statements below `stmt`, one level deeper than what is being numbered."""
        made = Block(repeats)
        self._open.append(made)
        self._statement(stmt)
        self._open.pop()
        return made

    def place(self, buffer: Buffer, around: Stmt) -> Local:
        """Chooses the storage of a local or shared buffer, from every access below `around`."""
        if any(isinstance(n, Tensorized) and buffer in (o.buffer for _, o in operands(n)) for n in statements(around)):
            return self.locals.setdefault(buffer, Local(buffer, 1, buffer.size, True))
        accesses = (n for n in walk(around) if isinstance(n, Load | Store) and n.buffer is buffer)
        return self.locals.setdefault(buffer, place_local(buffer, accesses))

    def _statement(self, s: Stmt) -> None:
        block = self._open[-1]
        match s:
            case Seq(stmts):
                for x in stmts:
                    self._statement(x)
            case Outline(body):
                self._statement(body)
            case Alloc(Buffer(scope=Scope.TILE) as buffer, body):
                block.items.append(DeclaredTile(buffer, _role(buffer, body)))
                self._statement(body)
            case Alloc(buffer, body):
                block.items.append(Declared(self.place(buffer, s)))
                self._statement(body)
            case Store():
                self._seen = {}
                value = self._number(s.value)
                address = self._address(s)
                for v in (*address, value):
                    self._count(v, len(self._open) - 1)
                block.items.append(Stored(s, address, value))
                self._write(s.buffer, self._part(s))
            case For(var, body, kind, _):
                length = None if var.length is None else self._length(var.length)
                if self._depths.setdefault(var, len(self._open)) != len(self._open):
                    self._depths[var] = len(self._open)  # a copy of a loop elsewhere
                    self._addresses.clear()
                body_block = self._inner(body, repeats=True)
                block.items.append(Looped(var, length, body_block, self._waiting(block), kind is LoopKind.CORE))
            case If(cond, body):
                self._seen = {}
                test = self._number(cond)
                self._count(test, len(self._open) - 1)
                body_block = self._inner(body, repeats=False)
                block.items.append(Guarded(test, body_block, self._waiting(block)))
            case Tensorized():
                self._seen = {}
                given = [(o.buffer, self._number(self._in_order(o.base)), o.stride) for _, o in operands(s)]
                for _, base, _ in given:
                    self._count(base, len(self._open) - 1)
                block.items.append(Instructed(s.intrinsic.name, tuple(given)))
                self._write(given[0][0], 0)
            case Barrier():
                block.items.append(s)
                for buffer in self.locals:
                    if buffer.scope is Scope.SHARED:
                        self._write(buffer, 0)
            case _:
                raise AssertionError(f"not lowered: {s!r}")

    def _length(self, e: Expr) -> Value:
        """The length of a loop, computed ahead of it."""
        self._seen = {}
        found = self._number(self._in_order(e))
        self._count(found, len(self._open) - 1)
        return found

    def _inner(self, body: Stmt, *, repeats: bool) -> Block:
        """The block of a loop or condition: values that it stores are unknown where it begins, and after it."""
        stored = {n.buffer for n in statements(body) if isinstance(n, Store)}
        again = {k for k in self._versions if k[0] in stored} | {(b, 0) for b in stored}
        for buffer, part in again:
            self._versions[buffer, part] = next(self._fresh), len(self._open)
        made = self.block(body, repeats=repeats)
        for buffer, part in {k for k in self._versions if k[0] in stored}:
            self._write(buffer, part)
        return made

    def _waiting(self, block: Block) -> tuple[Value, ...]:
        found = tuple(block.waiting)
        block.waiting = {}
        return found

    def _write(self, buffer: Buffer, part: int) -> None:
        self._versions[buffer, part] = next(self._fresh), len(self._open) - 1

    def _part(self, access: Load | Store) -> int:
        local = self.locals.get(access.buffer)
        return 0 if local is None or local.is_array else local.part(access)

    def _address(self, access: Load | Store) -> tuple[Value, ...]:
        known = self._addresses.get(id(access))
        if known is None:
            # Holds the access: its identity is the key. What an index loads may change before the next time.
            known = access, self._place_access(access)
            if not any(isinstance(n, Load) for i in access.indices for n in walk(i)):
                self._addresses[id(access)] = known
        return known[1]

    def _place_access(self, access: Load | Store) -> tuple[Value, ...]:
        local = self.locals.get(access.buffer)
        indices: tuple[Expr, ...] = ()
        if local is None:
            indices = self._dialect.address(access)
        elif local.is_array:
            indices = local.address(access)
        return tuple(self._number(self._in_order(i)) for i in indices)

    def _in_order(self, index: Expr) -> Expr:
        """The terms of a sum by the depth of their loops: what stays the same for longest is added up first."""
        form = affine(index)
        if not form.terms:
            return Const(form.constant)
        terms = sorted(form.terms, key=lambda t: self._number(t[0]).depth)
        return type(form)(tuple(terms), form.constant).to_expr()

    def _number(self, e: Expr) -> Value:
        known = self._seen.get(id(e))
        if known is None:
            known = self._seen[id(e)] = e, self._intern(e)
        return known[1]

    def _intern(self, e: Expr) -> Value:
        version, depth, pure = 0, 0, isinstance(e, Const | Var | ARITHMETIC)
        if isinstance(e, Load):
            assert e.guard is None
            part = self._part(e)
            operands = self._address(e)
            version, depth = self._versions.get((e.buffer, part), (0, 0))
        else:
            operands = tuple(self._number(c) for c in children(e) if isinstance(c, Expr))
        if isinstance(e, Var):
            depth = self._depths[e]
        key = (*self._label(e), version, *map(id, operands))
        found = self._values.get(key)
        if found is None:
            depth = max((depth, *(o.depth for o in operands)))
            pure = pure and e.dtype in (I32, BOOL) and all(o.pure for o in operands)
            found = self._values[key] = Value(e, operands, depth, pure)
        return found

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
            case Extract(_, lane):
                return "extract", lane
            case Select():
                return ("select",)
            case AllReduce(op, _, among):
                return "all_reduce", op, among
            case Load(buffer, _, _):
                local = self.locals.get(buffer)
                if local is not None and not local.is_array:
                    return "variable", buffer, self._part(e), local.lane(e)
                return "load", buffer, lanes_of(e)
        raise AssertionError(f"not lowered: {e!r}")

    def _count(self, v: Value, depth: int) -> None:
        """One more use of `v` in the block at `depth`, or outside of the loops in which it stays the same."""
        if v.pure and not v.trivial:
            loops = (d for d in range(v.depth + 1, depth + 1) if self._open[d].repeats)
            outermost = next(loops, None)
            if outermost is not None:
                depth = outermost - 1
                self._open[depth].waiting[v] = None
        uses = self._open[depth].uses
        known = uses.get(v, 0)
        uses[v] = known + 1
        if not known or v.trivial:
            for o in v.operands:
                self._count(o, depth)


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
