"""Writes the statements of a lowered kernel, apart from its head and parameters."""

from __future__ import annotations

from collections.abc import Mapping

from ...ir.all_reduce import AllReduce
from ...ir.lanes import Extract, Lanes, Ramp, Splat, lanes_of
from ...ir.nodes import Barrier, Binary, Bitcast, Buffer, Cast, Const, Load, Scope, Select, Stmt, Unary, Var
from .dialect import ATOM, Dialect, Text
from .locals import Local
from .number import Block, Declared, DeclaredTile, Guarded, Instructed, Looped, Numbering, Stored, Value, below

DEEPEST = 24
"""Operators nested in one expression: parsers of shaders limit that, and lines should be read."""


class Writer:
    """`variables` names what is known from outside: loop variables of the grid, scalars of the kernel."""

    def __init__(self, dialect: Dialect, variables: Mapping[Var, str]) -> None:
        self._dialect = dialect
        self._numbering = Numbering(dialect, variables)
        self._variables = dict(variables)
        self._names: dict[Buffer, str] = {}
        self._undeclared: set[tuple[Buffer, int]] = set()
        self._lines: list[str] = []
        self._indent = 1
        self._values = 0
        self._taken: dict[str, int] = {}
        self._named: list[list[Value]] = []
        self._height: dict[Value, int] = {}
        self._uses: dict[Value, int] = {}

    def share(self, buffer: Buffer, around: Stmt) -> tuple[str, Local]:
        """Places a buffer of the workgroup, for the head of the kernel to declare: its name and its shape."""
        self._names[buffer] = self._fresh(buffer.name)
        return self._names[buffer], self._numbering.place(buffer, around)

    def write(self, body: Stmt) -> list[str]:
        """The lines of the statement, indented by one level."""
        self._block(self._numbering.block(body))
        return self._lines

    def _line(self, text: str) -> None:
        self._lines.append("  " * self._indent + text)

    def _fresh(self, hint: str) -> str:
        """A name that nothing else has and no language reserves: letters and digits, an underscore, a number."""
        base = "".join(c for c in hint if c.isascii() and c.isalnum()).lstrip("0123456789") or "v"
        number = self._taken.get(base, 0)
        self._taken[base] = number + 1
        return f"{base}_{number}"

    def _block(self, block: Block) -> None:
        outer, self._uses = self._uses, block.uses
        self._named.append([])
        for item in block.items:
            match item:
                case Declared(local):
                    self._declare(local)
                case DeclaredTile(buffer, role):
                    name = self._names[buffer] = self._fresh(buffer.name)
                    self._line(self._dialect.declare_tile(name, role, buffer.dtype))
                case Instructed(name, instructed):
                    self._line(f"{name}({', '.join(self._operand(*o) for o in instructed)});")
                case Stored():
                    self._store(item)
                case Looped(var, length, body, before, cores):
                    self._before(before, body)
                    end = str(var.extent) if length is None else self._end(length)
                    name = self._variables[var] = self._fresh(var.name)
                    head = self._dialect.cores_loop if cores else self._dialect.loop
                    self._nested(head(name, end), body)
                case Guarded(cond, body, before):
                    self._before(before, body)
                    self._nested(f"if ({self._text(cond).text}) {{", body)
                case Barrier():
                    self._line(self._dialect.barrier())
        for v in self._named.pop():
            v.name = None
        self._uses = outer

    def _end(self, length: Value) -> str:
        """A length beside a comparison."""
        text = self._text(length)
        return text.text if text.level == ATOM else f"({text.text})"

    def _nested(self, head: str, body: Block) -> None:
        self._line(head)
        self._indent += 1
        self._block(body)
        self._indent -= 1
        self._line("}")

    def _before(self, values: tuple[Value, ...], body: Block) -> None:
        """Writes the values that a block computes ahead of one inside it, and declares variables that the inner one
        would be first to store."""
        for v in values:
            if v.name is None:
                self._name(v, self._compute(v))
        for item in below(body):
            if isinstance(item, Stored) and self._undeclared:
                local = self._numbering.locals.get(item.store.buffer)
                if local is not None and not local.is_array:
                    key = local.buffer, local.part(item.store)
                    if key in self._undeclared:
                        self._undeclared.remove(key)
                        self._line(self._dialect.declare(self._part_name(*key), local.buffer.dtype, local.lanes, None))

    def _declare(self, local: Local) -> None:
        name = self._names[local.buffer] = self._fresh(local.buffer.name)
        if local.is_array:
            self._line(self._dialect.declare_array(name, local.buffer.dtype, local.lanes, local.parts))
        else:
            self._undeclared.update((local.buffer, i) for i in range(local.parts))

    def _operand(self, buffer: Buffer, base: Value, stride: int) -> str:
        """A tile, or an address and the distance of rows."""
        name = self._names[buffer]
        return name if buffer.scope is Scope.TILE else f"&{name}[{self._text(base).text}], {stride}"

    def _part_name(self, buffer: Buffer, part: int) -> str:
        name = self._names[buffer]
        return name if self._numbering.locals[buffer].parts == 1 else f"{name}_{part}"

    def _store(self, item: Stored) -> None:
        s = item.store
        value = self._text(item.value)
        address = tuple(self._text(a) for a in item.address)
        local = self._numbering.locals.get(s.buffer)
        if local is None:
            for line in self._dialect.store(s, address, value):
                self._line(line)
        elif local.is_array:
            self._store_array(item, local, address, value)
        else:
            self._assign(item, local, value)

    def _assign(self, item: Stored, local: Local, value: Text) -> None:
        s = item.store
        part, lane = local.part(s), local.lane(s)
        name = self._part_name(s.buffer, part)
        if (s.buffer, part) in self._undeclared:
            self._undeclared.remove((s.buffer, part))
            first = value.text if lane is None else None
            self._line(self._dialect.declare(name, s.buffer.dtype, local.lanes, first))
            if lane is None:
                return
        self._line(f"{name if lane is None else self._dialect.extract(Text(name), lane).text} = {value.text};")

    def _store_array(self, item: Stored, local: Local, address: tuple[Text, ...], value: Text) -> None:
        place = self._names[local.buffer] + "".join(f"[{a.text}]" for a in address)
        ramp = item.store.indices[0]
        if isinstance(ramp, Ramp) and local.lanes == 1:
            if value.level < ATOM or not value.text.isidentifier():
                name = self._next_value()
                self._line(self._dialect.name_value(name, local.buffer.dtype, ramp.lanes, value.text))
                value = Text(name)
            for i in range(ramp.lanes):
                element = f"{self._names[local.buffer]}[{address[0].text} + {i}]"
                self._line(
                    f"{element} = {self._dialect.kept(self._dialect.extract(value, i), local.buffer.dtype).text};"
                )
        else:
            self._line(f"{place} = {self._dialect.kept(value, local.buffer.dtype).text};")

    def _next_value(self) -> str:
        self._values += 1
        return f"t{self._values - 1}"

    def _name(self, v: Value, text: Text) -> Text:
        v.name = self._next_value()
        self._line(self._dialect.name_value(v.name, v.node.dtype, _lanes(v), text.text))
        self._named[-1].append(v)
        return Text(v.name)

    def _text(self, v: Value) -> Text:
        if v.name is not None:
            return Text(v.name)
        text = self._compute(v)
        self._height[v] = 1 + max((0 if o.name else self._height.get(o, 0) for o in v.operands), default=0)
        if not v.trivial and (self._uses.get(v, 0) > 1 or self._height[v] > DEEPEST):
            return self._name(v, text)
        return text

    def _compute(self, v: Value) -> Text:
        d, e, lanes = self._dialect, v.node, _lanes(v)
        if isinstance(e, Binary) and e.op in ("+", "-", "*", "/"):
            mixes = d.mixes_scalars and (v.pure or e.dtype.is_float or not d.overflow_is_undefined)
            x, y = _one_scalar(v) if mixes else v.operands
            print_binary = d.binary if v.pure else d.wrapping
            return print_binary(e.op, self._text(x), self._text(y), e.dtype, lanes)
        if isinstance(e, Select):
            cond = v.operands[0]
            wide = _lanes(cond)
            if isinstance(cond.node, Splat):
                cond, wide = cond.operands[0], 1
            return d.select(
                self._text(cond), self._text(v.operands[1]), self._text(v.operands[2]), e.dtype, lanes, wide
            )
        if isinstance(e, Load):
            return self._load(e, v)
        texts = [self._text(o) for o in v.operands]
        match e:
            case Const(value, dtype):
                return d.literal(value, dtype)
            case Var():
                return Text(self._variables[e])
            case Unary(op, a):
                return d.unary(op, texts[0], a.dtype, lanes)
            case Binary(op, a, _):
                return d.binary(op, texts[0], texts[1], a.dtype, lanes)
            case Cast(to, a):
                return d.cast(to, texts[0], a.dtype, lanes)
            case Bitcast(to, a):
                return d.bitcast(to, texts[0], a.dtype, lanes)
            case AllReduce(op, a, among):
                return d.all_reduce(op, texts[0], among, a.dtype, lanes)
            case Splat(a, n):
                return d.splat(texts[0], a.dtype, n)
            case Lanes():
                return d.vector(texts, e.dtype)
            case Extract(_, lane):
                return d.extract(texts[0], lane)
            case Ramp(base, n):
                steps = d.vector([d.literal(i, base.dtype) for i in range(n)], base.dtype)
                return steps if base == Const(0) else d.binary("+", texts[0], steps, base.dtype, n)
        raise AssertionError(f"not lowered: {e!r}")

    def _load(self, e: Load, v: Value) -> Text:
        local = self._numbering.locals.get(e.buffer)
        address = tuple(self._text(o) for o in v.operands)
        if local is None:
            return self._dialect.load(e, address)
        if not local.is_array:
            name, lane = Text(self._part_name(e.buffer, local.part(e))), local.lane(e)
            return name if lane is None else self._dialect.extract(name, lane)
        name_ = self._names[e.buffer]
        ramp = e.indices[0]
        if isinstance(ramp, Ramp) and local.lanes == 1:
            parts = [Text(f"{name_}[{address[0].text} + {i}]") for i in range(ramp.lanes)]
            return self._dialect.vector(parts, e.dtype)
        return Text(name_ + "".join(f"[{a.text}]" for a in address))


def _one_scalar(v: Value) -> tuple[Value, Value]:
    """The operands, of which one that is the same in all lanes is given as a scalar."""
    a, b = v.operands
    if isinstance(a.node, Splat) != isinstance(b.node, Splat):
        return (a.operands[0], b) if isinstance(a.node, Splat) else (a, b.operands[0])
    return a, b


def _lanes(v: Value) -> int:
    return lanes_of(v.node)
