"""The parts of a C-like language that printing kernels needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from ...dtypes import BOOL, DType
from ...ir.all_reduce import Among
from ...ir.nodes import Expr, Load, Store

ATOM, PRODUCT, SUM, LOWEST = 3, 2, 1, 0


@dataclass(frozen=True, slots=True)
class Text:
    """An expression as text; `level` says how tightly its outermost operator binds, up to ATOM (a name, a call)."""

    text: str
    level: int = ATOM

    def at(self, level: int) -> str:
        """The text, in brackets where it binds less tightly than `level`."""
        return self.text if self.level >= level else f"({self.text})"

    @property
    def atom(self) -> str:
        return self.at(ATOM)


class Dialect(ABC):
    """One language. `lanes` is 1 for scalars; texts given are of operands, in the order of the IR node.

    Override what differs; the default of each operation is the form that most such languages share. `mixes_scalars`: of
    +, -, * and / one operand may be a scalar where the other is a vector. `overflow_is_undefined`, of signed integers:
    `wrapping` is then given vectors alone.
    """

    mixes_scalars = True
    overflow_is_undefined = False

    @abstractmethod
    def type_name(self, dtype: DType, lanes: int) -> str:
        """`f32`, `vec4<f32>`, ..."""

    @abstractmethod
    def name_value(self, name: str, dtype: DType, lanes: int, value: str) -> str:
        """A statement that names a value for good."""

    def declare(self, name: str, dtype: DType, lanes: int, value: str | None) -> str:
        """A statement that declares a variable, with its first value if there is one."""
        return f"{self.type_name(dtype, lanes)} {name}{'' if value is None else f' = {value}'};"

    def declare_array(self, name: str, dtype: DType, lanes: int, count: int) -> str:
        """A statement that declares a local array of `count` scalars or vectors."""
        return f"{self.type_name(dtype, lanes)} {name}[{count}];"

    def declare_tile(self, name: str, role: str, dtype: DType) -> str:
        """A statement that declares a tile of hardware, for the operand `role` of its instructions."""
        raise AssertionError("this language has no instructions for tiles")

    def kept(self, value: Text, dtype: DType) -> Text:
        """A scalar as an element of a local array, which may be of another type than values."""
        return value

    def loop(self, name: str, end: str) -> str:
        """The head of a loop from 0, opening brace included."""
        return f"for (int {name} = 0; {name} < {end}; {name}++) {{"

    def cores_loop(self, name: str, end: str) -> str:
        """The head of a loop whose iterations threads may share."""
        return self.loop(name, end)

    @abstractmethod
    def literal(self, value: int | float | bool, dtype: DType) -> Text:
        """A scalar constant; infinities and NaN included."""

    @abstractmethod
    def select(self, cond: Text, a: Text, b: Text, dtype: DType, lanes: int, cond_lanes: int) -> Text:
        """`a` where `cond`, else `b`. A condition of one lane may choose between vectors."""

    @abstractmethod
    def bitcast(self, to: DType, a: Text, source: DType, lanes: int) -> Text:
        """The bits of `a` read as another type."""

    @abstractmethod
    def address(self, access: Load | Store) -> tuple[Expr, ...]:
        """Scalar int32 expressions that place an access to a global buffer; the writer prints and shares them."""

    @abstractmethod
    def load(self, access: Load, address: tuple[Text, ...]) -> Text:
        """The value at an address of a global buffer: a scalar, or a vector where the last index is a Ramp."""

    @abstractmethod
    def store(self, access: Store, address: tuple[Text, ...], value: Text) -> list[str]:
        """Statements that store to a global buffer."""

    def barrier(self) -> str:
        """A statement at which a workgroup waits for all its invocations, with what they stored in shared memory."""
        raise AssertionError("this language has no barriers")

    def all_reduce(self, op: str, a: Text, among: Among, dtype: DType, lanes: int) -> Text:
        """A collective of the invocations of a subgroup: + * max min, or an exclusive scan by + *."""
        raise AssertionError("this language has no subgroups")

    def unary(self, op: str, a: Text, dtype: DType, lanes: int) -> Text:
        """neg, not, abs, sqrt, floor, ceil, trunc, round (half to even)."""
        match op:
            case "neg":
                return Text(f"-{a.atom}", PRODUCT)
            case "not":
                return Text(f"{'!' if dtype == BOOL else '~'}{a.atom}", PRODUCT)
        return Text(f"{op}({a.text})")

    def binary(self, op: str, a: Text, b: Text, dtype: DType, lanes: int) -> Text:
        """+ - * / max min and or xor shl shr == != < <= on operands of `dtype`."""
        match op:
            case "+" | "-":
                return Text(f"{a.at(SUM)} {op} {b.at(PRODUCT)}", SUM)
            case "*" | "/":
                return Text(f"{a.at(PRODUCT)} {op} {b.atom}", PRODUCT)
            case "max" | "min":
                less = self.binary("<", *((a, b) if op == "max" else (b, a)), dtype, lanes)
                return self.select(less, b, a, dtype, lanes, lanes)
        symbol = {"and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}.get(op, op)
        return Text(f"{a.atom} {symbol} {b.atom}", LOWEST)

    def wrapping(self, op: str, a: Text, b: Text, dtype: DType, lanes: int) -> Text:
        """+ - * / on numbers that may be any: of signed integers the result wraps around. `binary` is for indices, too,
        which never leave their type."""
        return self.binary(op, a, b, dtype, lanes)

    def cast(self, to: DType, a: Text, source: DType, lanes: int) -> Text:
        """A value conversion. Floats are within the range of the integers that they become."""
        if to == BOOL:
            zero = self.splat(self.literal(0.0 if source.is_float else 0, source), source, lanes)
            return self.binary("!=", a, zero, source, lanes)
        return Text(f"{self.type_name(to, lanes)}({a.text})")

    def splat(self, a: Text, dtype: DType, lanes: int) -> Text:
        """A vector with `a` in every lane."""
        return a if lanes == 1 else Text(f"{self.type_name(dtype, lanes)}({a.text})")

    def vector(self, parts: list[Text], dtype: DType) -> Text:
        """A vector of the given lanes."""
        return Text(f"{self.type_name(dtype, len(parts))}({', '.join(p.text for p in parts)})")

    def extract(self, a: Text, lane: int) -> Text:
        return Text(f"{a.atom}.{'xyzw'[lane]}")
