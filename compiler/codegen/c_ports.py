"""Renders the code of a C function around a run: the sizes of the run, copies of inputs into the arena and of outputs
from there.

`sizes` is an array of int64_t: an entry for each dimension of the program, which the caller sets, then one for each
other size in a shape of an input or output, which the run sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..errors import UnsupportedError
from ..ir.affine import affine
from ..ir.nodes import Binary, Cast, Const, Expr, Scalar, Select, Unary
from ..ir.sizes import Size, scalars_of
from ..program.dimensions import Dimension
from ..program.program import Program, TensorSpec

_FUNCTIONS = {
    "Least": "static int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }",
    "Most": "static int64_t Most(int64_t a, int64_t b) { return a < b ? b : a; }",
    "Quotient": "static int64_t Quotient(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }",
    "ScalarAt": """static int64_t ScalarAt(const unsigned char *place) {
  int32_t n;
  memcpy(&n, place, sizeof n);
  return n;
}""",
    "SetScalar": """static void SetScalar(unsigned char *place, int64_t value) {
  int32_t n = (int32_t)value;
  memcpy(place, &n, sizeof n);
}""",
}

_OPERATORS = {"+": "+", "-": "-", "*": "*", "<": "<", "<=": "<=", "==": "==", "!=": "!=", "and": "&", "or": "|"}


def functions(lines: Iterable[str]) -> list[str]:
    """The functions that lines of this module call: compilers warn of unused ones."""
    text = "\n".join(lines)
    return [function for name, function in _FUNCTIONS.items() if f"{name}(" in text]


def size_text(n: Size, scalar: Callable[[Scalar], str]) -> str:
    """A size as an expression of C; `scalar` is the text of one."""
    match n:
        case int():
            return str(n)
        case Const(value=value):
            return str(int(value))
        case Scalar():
            return scalar(n)
        case Cast(a=a):
            return size_text(a, scalar)
        case Unary(op="neg", a=a):
            return f"(-{size_text(a, scalar)})"
        case Unary(op="not", a=a):
            return f"(!{size_text(a, scalar)})"
        case Select(cond=cond, a=a, b=b):
            return f"({size_text(cond, scalar)} ? {size_text(a, scalar)} : {size_text(b, scalar)})"
        case Binary(op=op, a=a, b=b):
            x, y = size_text(a, scalar), size_text(b, scalar)
            if op in _OPERATORS:
                return f"({x} {_OPERATORS[op]} {y})"
            match op:
                case "//":
                    return f"Quotient({x}, {y})"
                case "%":
                    return f"({x} - {y} * Quotient({x}, {y}))"
                case "min":
                    return f"Least({x}, {y})"
                case "max":
                    return f"Most({x}, {y})"
    raise AssertionError(f"no size: {n!r}")


@dataclass(frozen=True, slots=True)
class Ports:
    """The inputs and outputs of a program. `others` are the sizes after those of dimensions."""

    program: Program
    others: tuple[Expr, ...]

    @staticmethod
    def of(program: Program) -> Ports:
        """Raises UnsupportedError for a program with states."""
        if program.states:
            raise UnsupportedError(
                f"the states ({', '.join(s.name for s in program.states)}) outlive a run, for which sources of C and "
                "libraries have no memory: compile with --state none, and pass them from run to run"
            )
        shapes = [n for t in (*program.inputs, *program.outputs) for n in t.shape if isinstance(n, Expr)]
        plain = {affine(d.scalar).scale(d.multiple) for d in program.dimensions}
        return Ports(program, tuple(dict.fromkeys(n for n in shapes if affine(n) not in plain)))

    @property
    def vary(self) -> bool:
        return bool(self.program.dimensions or self.others)

    @property
    def count(self) -> int:
        """Entries of `sizes`."""
        return len(self.program.dimensions) + len(self.others)

    def number(self, n: Size) -> int:
        """The entry of a size, -1 for one that is always the same."""
        if isinstance(n, int):
            return -1
        for i, d in enumerate(self.program.dimensions):
            if affine(n) == affine(d.scalar).scale(d.multiple):
                return i
        return len(self.program.dimensions) + self.others.index(n)

    def derived(self) -> list[str]:
        """Sets the entries that follow from those of dimensions."""
        scalars = {d.scalar: _scalar(i, d) for i, d in enumerate(self.program.dimensions)}
        return [
            f"sizes[{self.number(n)}] = Most({size_text(n, scalars.__getitem__)}, 0);"
            for n in self.others
            if set(scalars_of(n)) <= scalars.keys()
        ]

    def before(self, arena: str, inputs: Sequence[str]) -> list[str]:
        """Sets the scalars of dimensions, and the inputs."""
        places = self.program.scalars
        set_scalars = [
            f"SetScalar({arena} + {places[d.scalar]}, {_scalar(i, d)});" for i, d in enumerate(self.program.dimensions)
        ]
        copies = [
            line for name, t in zip(inputs, self.program.inputs, strict=True) for line in self._copy(arena, name, t)
        ]
        return [*set_scalars, *self.derived(), *copies]

    def after(self, arena: str, outputs: Sequence[str]) -> list[str]:
        """Sets the entries that the run has found out, and the outputs."""
        dimensions = {d.scalar for d in self.program.dimensions}
        places = self.program.scalars
        scalars = [
            f"sizes[{self.number(n)}] = Most({size_text(n, lambda s: f'ScalarAt({arena} + {places[s]})')}, 0);"
            for n in self.others
            if not set(scalars_of(n)) <= dimensions
        ]
        ports = zip(outputs, self.program.outputs, strict=True)
        copies = [line for name, t in ports for line in self._copy(arena, name, t, out=True)]
        return [*scalars, *copies]

    def refused(self, arena: str) -> list[str]:
        """Returns from the run the number, from 1 on, of the first refusal of the program that it led to, else 0."""
        places = [f"{arena} + {self.program.scalars[r.scalar]}" for r in self.program.refusals]
        checks = [f"if (ScalarAt({place})) return {number};" for number, place in enumerate(places, 1)]
        return [*checks, "return 0;"] if checks else []

    def _copy(self, arena: str, name: str, t: TensorSpec, *, out: bool = False) -> list[str]:
        """Between an array of the run's shape and memory for the largest one."""
        if not t.bytes:
            return [f"(void){name};"]
        if not t.is_dynamic:
            there = f"{arena} + {t.offset}"
            return [f"memcpy({name}, {there}, {t.bytes});" if out else f"memcpy({there}, {name}, {t.bytes});"]
        lengths = [str(n) if isinstance(n, int) else f"sizes[{self.number(n)}]" for n in t.shape]
        last = max(axis for axis, n in enumerate(t.shape) if isinstance(n, Expr))
        loops, dense, spaced = [], "0", "0"
        for axis in range(last):
            loops.append(f"for (int64_t i{axis} = 0; i{axis} < {lengths[axis]}; i{axis}++)")
            dense = f"({dense} * {lengths[axis]} + i{axis})" if axis else "i0"
            spaced = f"({spaced} * {t.extents[axis]} + i{axis})" if axis else "i0"
        inner = t.dtype.bytes
        for n in t.extents[last + 1 :]:
            inner *= n
        run = f"{lengths[last]} * {inner}"
        mine = f"(unsigned char *){name} + {dense} * {run}"
        there = f"{arena} + {t.offset} + {spaced} * {t.extents[last] * inner}"
        to, source = (mine, there) if out else (there, mine.replace("(unsigned", "(const unsigned", 1))
        return [" ".join([*loops, f"memcpy({to}, {source}, (size_t)({run}));"])]


def _scalar(number: int, d: Dimension) -> str:
    """The value of a dimension's scalar."""
    return f"sizes[{number}]" if d.multiple == 1 else f"(sizes[{number}] / {d.multiple})"
