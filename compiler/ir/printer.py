"""IR as text, for dumps, messages and keys. Names are made unique here; equal text means equal kernels.

Expressions are graphs: as a tree, one of nested mathematical functions has millions of nodes. A part of more than
LONGEST characters is therefore printed once in a statement, ahead of it:

    let $1 = ...
    y[i] = (($1 * $1) + x[i])
"""

from __future__ import annotations

from .all_reduce import AllReduce
from .calls import Call, HoistedConstants, Pointer, UnrolledInOrder
from .entry import Entry
from .intrinsic import Tensorized
from .lanes import Extract, Lanes, Ramp, Splat
from .nodes import (
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
    Scalar,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    Var,
)
from .pointers import Advancing, Opaque, PointTo
from .reduction import Reduce
from .unlikely import Unlikely

LONGEST = 160
"""Characters of an operand; a longer one has a name. Text depends on the tree alone, not on which nodes are shared."""
INFIX = {"and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}


def print_kernel(kernel: Kernel, *, named: bool = True) -> str:
    """The kernel's text. Without `named`, its name and origin are left out, so that equal code prints equally."""
    p = _Printer()
    heads = []
    for b in kernel.params:
        extra = " const" if b.constant else ""
        if b.layout is not None and not b.layout.is_row_major:
            extra += f" of {list(b.layout.shape)} order={list(b.layout.order)}"
            extra += "".join(f" block={tuple(block)}" for block in b.layout.blocks)
        heads.append(f"{p.buffer(b, named)}: {b.dtype}{list(b.shape)}{extra}")
    heads += [p.scalar(s, named) for s in kernel.scalars]
    title = kernel.name if named else "kernel"
    origin = f"  # {', '.join(kernel.origin.nodes)}\n" if named and kernel.origin.nodes else ""
    forms = f" by {', '.join(map(str, kernel.forms))}" if kernel.forms else ""
    return f"{origin}{title}({', '.join(heads)}) -> {kernel.outputs}{forms}\n{p.stmt(kernel.body, 1)}"


def print_node(node: Node) -> str:
    """An expression or statement as text."""
    if not isinstance(node, Expr):
        return _Printer().stmt(node, 0)
    text, parts = print_expression(node)
    return f"{text} where {', '.join(parts)}" if parts else text


def print_expression(e: Expr) -> tuple[str, list[str]]:
    """An expression as text, and the definitions of the names in it: `$1 = ...`, innermost first."""
    p = _Printer()
    return p.whole(e), p.parts


class _Printer:
    """`parts` are the definitions that the line to be printed next needs, innermost first."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._names: dict[object, str] = {}
        self._used: dict[str, int] = {}
        self._texts: dict[int, str] = {}
        self._parts: dict[str, str] = {}
        self._count = 0

    def _name(self, key: object, stem: str) -> str:
        if key not in self._names:
            name, n = stem, self._used.get(stem, 0)
            while name in self._used:
                n += 1
                name = f"{stem}.{n}"
            self._names[key] = name
            self._used[stem] = max(n, 1)
            self._used[name] = 1
        return self._names[key]

    def _line(self, pad: str, text: str) -> str:
        """A line, after the definitions that it needs; the next one, before which memory may change, has its own."""
        lines = [f"{pad}let {part}\n" for part in self.parts]
        self.parts = []
        self._texts.clear()
        self._parts.clear()
        return f"{''.join(lines)}{pad}{text}\n"

    def buffer(self, b: Buffer, named: bool = True) -> str:
        return self._name(b, b.name if named else "p")

    def scalar(self, s: Scalar, named: bool) -> str:
        return f"{s.low} <= {self._name(s, s.name if named else 's')} < {s.extent}"

    def loop(self, v: Var) -> str:
        """A loop variable and where it ends."""
        end = str(v.extent) if v.length is None else f"{self.expr(v.length)} of {v.extent}"
        return f"{self.expr(v)} < {end}"

    def expr(self, e: Expr) -> str:
        """An operand: its text, or its name where that is long."""
        if isinstance(e, Const | Var):
            return self.whole(e)
        text = self._texts.get(id(e))
        if text is None:
            text = self.whole(e)
            if len(text) > LONGEST:
                text = self._part(text)
            self._texts[id(e)] = text
        return text

    def _part(self, text: str) -> str:
        """The name of a part of the line; equal parts have one."""
        if text not in self._parts:
            self._count += 1
            self._parts[text] = f"${self._count}"
            self.parts.append(f"{self._parts[text]} = {text}")
        return self._parts[text]

    def whole(self, e: Expr) -> str:
        """An expression, whatever its length, of operands."""
        match e:
            case Const(value, dtype):
                suffix = {"int32": "", "bool": ""}.get(dtype.name, f":{dtype}")
                return f"{value!r}{suffix}"
            case Var():
                return self._name(e, e.name)
            case Unary(op, a):
                return f"{op}({self.expr(a)})"
            case Binary(op, a, b) if op.isalpha() and op not in INFIX:
                return f"{op}({self.expr(a)}, {self.expr(b)})"
            case Binary(op, a, b):
                return f"({self.expr(a)} {INFIX.get(op, op)} {self.expr(b)})"
            case Select(c, a, b):
                name = "unlikely" if isinstance(e, Unlikely) else "select"
                return f"{name}({self.expr(c)}, {self.expr(a)}, {self.expr(b)})"
            case Cast(dtype, a):
                return f"{dtype}({self.expr(a)})"
            case Bitcast(dtype, a):
                return f"bits_as_{dtype}({self.expr(a)})"
            case AllReduce(op, a, among):
                return f"{op} of {among.value}({self.expr(a)})"
            case Load(buffer, indices, guard):
                text = f"{self.buffer(buffer)}[{', '.join(map(self.expr, indices))}]"
                return text if guard is None else f"{text} if {self.expr(guard)}"
            case Entry(matrix, row, column):
                rows = ", ".join(f"[{', '.join(map(repr, line))}]" for line in matrix)
                return f"[{rows}][{self.expr(row)}, {self.expr(column)}]"
            case Ramp(base, lanes):
                return f"{self.expr(base)}..+{lanes}"
            case Splat(a, lanes):
                return f"splat{lanes}({self.expr(a)})"
            case Lanes(parts):
                return f"<{', '.join(map(self.expr, parts))}>"
            case Extract(a, lane):
                return f"{self.expr(a)}.{lane}"
            case Reduce(op, axes, value, init):
                over = ", ".join(self.loop(a).replace(" < ", "<", 1) for a in axes)
                return f"{op}[{over}; {self.expr(init)}]({self.expr(value)})"
        raise AssertionError(f"not an expression: {e!r}")

    def pointer(self, p: Pointer) -> str:
        return f"&{self.buffer(p.buffer)}[{self.expr(p.offset)}]"

    def stmt(self, s: Stmt, depth: int) -> str:
        pad = "  " * depth
        match s:
            case For(var, body, kind, parallel):
                tags = ("" if kind is LoopKind.SERIAL else f" {kind.value}") + ("" if parallel else " reduce")
                return self._line(pad, f"for {self.loop(var)}{tags}:") + self.stmt(body, depth + 1)
            case Store(buffer, indices, value):
                target = f"{self.buffer(buffer)}[{', '.join(map(self.expr, indices))}]"
                return self._line(pad, f"{target} = {self.whole(value)}")
            case Alloc(buffer, body):
                what = f"{buffer.scope.value} {self.buffer(buffer)}: {buffer.dtype}{list(buffer.shape)}"
                return f"{pad}{what}\n{self.stmt(body, depth)}"
            case Seq(stmts):
                return "".join(self.stmt(x, depth) for x in stmts) or f"{pad}nothing\n"
            case Outline(body):
                return f"{pad}outline:\n{self.stmt(body, depth + 1)}"
            case Tensorized(intrinsic, body):
                return f"{pad}{intrinsic.name}:\n{self.stmt(body, depth + 1)}"
            case If(cond, body):
                return self._line(pad, f"if {self.whole(cond)}:") + self.stmt(body, depth + 1)
            case Barrier():
                return f"{pad}barrier\n"
            case HoistedConstants(constants, body):
                head = self._line(pad, f"with {', '.join(map(self.expr, constants))}:")
                return head + self.stmt(body, depth + 1)
            case Call(body, params, pointers, numbers):
                arguments = [f"{self.buffer(b)} = {self.pointer(p)}" for b, p in zip(params, pointers, strict=True)]
                head = self._line(pad, f"call({', '.join([*arguments, *map(self.expr, numbers)])}):")
                return head + self.stmt(body, depth + 1)
            case UnrolledInOrder(iterations, sums, advances):
                past = [*map(self.expr, sums), *(f"{self.pointer(a.pointer)} += {a.step}" for a in advances)]
                head = self._line(pad, f"in order, past {', '.join(past)}:")
                return head + f"{pad}then:\n".join(self.stmt(x, depth + 1) for x in iterations)
            case PointTo(pointer, address, body, opaque):
                at = f"{'opaque ' if opaque else ''}{self.pointer(address)}"
                return self._line(pad, f"{self.buffer(pointer)} = {at}") + self.stmt(body, depth)
            case Advancing(pointers, body):
                steps = [f"{self.buffer(p.pointer)} from {self.pointer(p.start)} by {p.step}" for p in pointers]
                return self._line(pad, f"\n{pad}".join(steps)) + self.stmt(body, depth)
            case Opaque(elements):
                return self._line(pad, f"opaque {', '.join(map(self.expr, elements))}")
        raise AssertionError(f"not a statement: {s!r}")
