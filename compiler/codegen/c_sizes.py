"""Sizes of a run as expressions of C, over the array `sizes` and the scalars of an arena."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..ir.nodes import Binary, Cast, Const, Scalar, Select, Unary
from ..ir.sizes import Size
from ..program.dimensions import Dimension

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
    "DropRows": """static void DropRows(unsigned char *state, int64_t count, int64_t bytes,
                     int64_t dropped, int64_t stay) {
  for (int64_t i = 0; i < count; i++, state += bytes) {
    memmove(state, state + dropped, (size_t)stay);
    memset(state + stay, 0, (size_t)(bytes - stay));
  }
}""",
}
"""`DropRows`: of each of `count` parts of a state, of so many `bytes`, the first go, and the next ones `stay`."""

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


def scalar_text(entry: int, d: Dimension) -> str:
    """The value of a dimension's scalar, by its entry in the sizes of a run."""
    return f"sizes[{entry}]" if d.multiple == 1 else f"(sizes[{entry}] / {d.multiple})"


def whole_multiple(rows: str, multiple: int) -> str:
    """The largest multiple that is no more than these rows."""
    return rows if multiple == 1 else f"{rows} / {multiple} * {multiple}"
