"""Renders the code of C functions for states, which outlive a run.

The memory of a session is the caller's: the states, then numbers of int64_t, `kept`. These are the rows of the states,
of each dimension that counts some; each size of theirs that the first run has chosen, and one more (0: none has); the
number of runs; whether the last one has left the states undefined. So zeros are a session of no rows, and a copy of the
bytes is a fork.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod

from ..ir.affine import affine
from ..ir.nodes import Expr, Scalar
from ..ir.sizes import Size, number, scalars_of
from ..program.dimensions import Dimension
from ..program.plan_memory import align
from ..program.program import Program
from ..program.states import counted_rows, dropped_rows, follows, grow_apart
from ..text.escape import comment
from .c_sizes import scalar_text, size_text, whole_multiple

STATUSES = {
    "FULL": "the state is full: the run needs more rows than the model was compiled for, or more positions than it has",
    "OTHER": "the states are of runs with other sizes: set the state to zero first",
    "LOST": "a run ended without results and left the states undefined: set the state to zero first",
    "FEWER": "the states do not have so many rows to drop, or rows come in multiples of another number",
}
"""Results of a run or a rewind by their names, and what they mean; -1 for the first of them, -2 for the second, ..."""

STATUS_OF = {name: -number for number, name in enumerate(STATUSES, 1)}


@dataclass(frozen=True, slots=True)
class KeptStates:
    """The states of a program. `entry` is the number of a dimension's entry in the sizes of a run."""

    program: Program
    entry: Callable[[Dimension], int]

    @property
    def lengths(self) -> tuple[Dimension, ...]:
        """The dimensions that count rows of states."""
        return tuple(d for d in self.program.dimensions if d.after is not None)

    @property
    def shared(self) -> tuple[Dimension, ...]:
        """The dimensions in shapes of states that runs choose, such as a batch's."""
        sizes = [affine(n) for s in self.program.states for n in s.shape if isinstance(n, Expr)]
        chosen = (d for d in self.program.dimensions if d.after is None)
        return tuple(d for d in chosen if affine(d.scalar).scale(d.multiple) in sizes)

    @property
    def at(self) -> int:
        """Where `kept` begins in the memory of a session, in bytes."""
        return align(self.program.state_bytes)

    @property
    def runs(self) -> int:
        """The entry of `kept` that counts runs; that of lost states follows."""
        return len(self.lengths) + len(self.shared)

    @property
    def size(self) -> int:
        """The memory of a session, in bytes."""
        return self.at + 8 * (self.runs + 2)

    @property
    def rewinds(self) -> bool:
        """Whether all states that grow have the newest rows at their end, as many of each, so that some can be
        dropped."""
        known = all(s.stays or not s.overwritten for s in self.program.states)
        return known and counted_rows(self.lengths) is not None and not grow_apart(self.lengths)

    def kept_entry(self, d: Dimension) -> int:
        """The entry of a dimension in `kept`."""
        return next(i for i, one in enumerate((*self.lengths, *self.shared)) if one is d)

    def find(self) -> list[str]:
        """Sets the sizes of a run that are lengths of `state`."""
        return [
            f"int64_t *kept = {self._kept('')};",
            *(f"sizes[{self.entry(d)}] = kept[{self.kept_entry(d)}];" for d in self.lengths),
        ]

    def begin(self) -> list[str]:
        """Returns from a run that cannot begin, and drops rows that it has no room for."""
        lost = [f"if ({self._lost}) return {STATUS_OF['LOST']};"] if self._overwritten else []
        lines = [*lost, *(line for d in self.lengths for line in self._check(d))]
        for d in self.shared:
            held = f"kept[{self.kept_entry(d)}]"
            lines.append(f"if ({held} && {held} != sizes[{self.entry(d)}] + 1) return {STATUS_OF['OTHER']};")
        lines += [line for d in self.lengths for line in self._drop(d)]
        return [*lines, f"{self._lost} = 1;"] if self._overwritten else lines

    def end(self, scalar: Callable[[Scalar], str]) -> list[str]:
        """Takes the lengths that a run leaves, by its scalars."""
        return [
            *(
                f"kept[{self.kept_entry(d)}] = {whole_multiple(size_text(_after(d), scalar), d.multiple)};"
                for d in self.lengths
            ),
            *(f"kept[{self.kept_entry(d)}] = sizes[{self.entry(d)}] + 1;" for d in self.shared),
            f"kept[{self.runs}]++;",
            *([f"{self._lost} = 0;"] if self._overwritten else []),
        ]

    def functions(self, prefix: str) -> list[str]:
        """NAME_position and, where rows can be dropped, NAME_rewind."""
        counted = counted_rows(self.lengths)
        entries = [] if counted is None else [counted, dropped_rows(self.lengths, counted)]
        rows = " + ".join(f"kept[{self.kept_entry(d)}]" for d in entries if d is not None) or f"kept[{self.runs}]"
        lines = [
            f"int64_t {prefix}_position(const void *state) {{",
            "  if (!state) return 0;",
            f"  const int64_t *kept = {self._kept('const ')};",
            f"  return {rows};",
            "}",
            "",
        ]
        if not self.rewinds:
            return lines
        followed = [d for d in self.lengths if follows(self.lengths, d)]
        fewer = ["rows < 0", *(f"rows > kept[{self.kept_entry(d)}]" for d in followed)]
        fewer += [f"rows % {d.multiple}" for d in followed if d.multiple > 1]
        return [
            *lines,
            f"int {prefix}_rewind(void *state, int64_t rows) {{",
            f"  if (!state) return {STATUS_OF['FEWER']};",
            f"  int64_t *kept = {self._kept('')};",
            f"  if ({' || '.join(fewer)}) return {STATUS_OF['FEWER']};",
            *(f"  kept[{self.kept_entry(d)}] -= rows;" for d in followed),
            "  return 0;",
            "}",
            "",
        ]

    def declarations(self, prefix: str, api: str = "") -> list[str]:
        """Declarations of `functions`, each behind what it does."""
        counted = counted_rows(self.lengths)
        rows = "Runs since the start." if counted is None else "Rows of the states, those that were dropped among them."
        lines = [comment(rows), f"{api}int64_t {prefix}_position(const void *state);"]
        if counted is None or not self.rewinds:
            return lines
        status = f"{prefix.upper()}_STATE_FEWER"
        return [
            *lines,
            comment(f"Drops the last rows that {counted.name} counts; returns 0, or {status}."),
            f"{api}int {prefix}_rewind(void *state, int64_t rows);",
        ]

    def _kept(self, const: str) -> str:
        return f"({const}int64_t *)({const}void *)(({const}unsigned char *)state + {self.at})"

    @property
    def _lost(self) -> str:
        return f"kept[{self.runs + 1}]"

    @property
    def _overwritten(self) -> bool:
        """Whether there are states that a run writes over as it goes."""
        return any(s.overwritten for s in self.program.states)

    def _check(self, d: Dimension) -> Iterator[str]:
        """As `check_room` of states."""
        dropped = dropped_rows(self.lengths, d)
        if dropped is None:
            yield f"if (sizes[{self.entry(d)}] > {d.most}) return {STATUS_OF['FULL']};"
        if d.limit is not None and set(scalars_of(number(_after(d)))) <= self._scalars.keys():
            gone = "" if dropped is None else f"sizes[{self.entry(dropped)}] + "
            yield f"if ({gone}{self._left(d)} > {d.limit}) return {STATUS_OF['FULL']};"

    def _drop(self, d: Dimension) -> Iterator[str]:
        """As `within_window` of states."""
        dropped = dropped_rows(self.lengths, d)
        if d.window is None or dropped is None:
            return
        size, gone = self.entry(d), self.entry(dropped)
        yield f"if ({self._left(d)} > {d.window}) {{"
        room = f"Least({d.window // 2}, {d.window} - ({self._left(d)} - sizes[{size}]))"
        yield f"  const int64_t stay = {whole_multiple(room, d.multiple)}, dropped = sizes[{size}] - stay;"
        for s in self.program.states:
            for axis in (axis for axis, n in enumerate(s.shape) if self._is(n, d)):
                row = prod(s.extents[axis + 1 :]) * s.dtype.bytes
                count, whole = prod(s.extents[:axis]), s.extents[axis] * row
                place = f"(unsigned char *)state + {s.offset}"
                yield f"  DropRows({place}, {count}, {whole}, dropped * {row}, stay * {row});"
        yield f"  kept[{self.kept_entry(d)}] = sizes[{size}] = stay;"
        yield f"  kept[{self.kept_entry(dropped)}] = sizes[{gone}] += dropped;"
        yield "}"

    def _left(self, d: Dimension) -> str:
        """The rows that a run leaves."""
        return size_text(_after(d), self._scalars.__getitem__)

    @property
    def _scalars(self) -> dict[Scalar, str]:
        return {d.scalar: scalar_text(self.entry(d), d) for d in self.program.dimensions}

    @staticmethod
    def _is(n: Size, d: Dimension) -> bool:
        return isinstance(n, Expr) and affine(n) == affine(d.scalar).scale(d.multiple)


def _after(d: Dimension) -> Size:
    assert d.after is not None
    return d.after


def status_macros(upper: str) -> list[str]:
    """Definitions of `STATUSES`, each behind what it means; two headers have the same."""
    return [
        line
        for name, means in STATUSES.items()
        for line in (comment(means), f"#define {upper}_STATE_{name} ({STATUS_OF[name]})")
    ]
