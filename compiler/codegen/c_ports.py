"""Renders the code of a C function around a run: the sizes of the run, copies of inputs into the arena and of outputs
from there.

`sizes` is an array of int64_t: an entry for each dimension that the caller sets, then one for each that counts rows of
states, and for each other size in a shape of an input or output, which the run sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..ir.affine import affine
from ..ir.nodes import Expr
from ..ir.sizes import Size, scalars_of
from ..program.dimensions import Dimension
from ..program.program import Program, TensorSpec
from .c_sizes import scalar_text, size_text
from .c_states import KeptStates


@dataclass(frozen=True, slots=True)
class Ports:
    """The inputs and outputs of a program. `others` are the sizes after those of dimensions."""

    program: Program
    others: tuple[Expr, ...]

    @staticmethod
    def of(program: Program) -> Ports:
        shapes = [n for t in (*program.inputs, *program.outputs) for n in t.shape if isinstance(n, Expr)]
        plain = {affine(d.scalar).scale(d.multiple) for d in program.dimensions}
        return Ports(program, tuple(dict.fromkeys(n for n in shapes if affine(n) not in plain)))

    @property
    def given(self) -> tuple[Dimension, ...]:
        """The dimensions that the caller of a run sets."""
        return tuple(d for d in self.program.dimensions if d.after is None)

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """All of them, in the order of their entries."""
        return (*self.given, *(d for d in self.program.dimensions if d.after is not None))

    @property
    def states(self) -> KeptStates | None:
        return KeptStates(self.program, self.dimensions.index) if self.program.states else None

    @property
    def vary(self) -> bool:
        return bool(self.program.dimensions or self.others)

    @property
    def are_shaped(self) -> bool:
        """Whether shapes of inputs vary, and follow from what is known before a run."""
        return bool(self.given or (self.states and self.vary))

    @property
    def count(self) -> int:
        """Entries of `sizes`."""
        return len(self.program.dimensions) + len(self.others)

    def number(self, n: Size) -> int:
        """The entry of a size, -1 for one that is always the same."""
        if isinstance(n, int):
            return -1
        for i, d in enumerate(self.dimensions):
            if affine(n) == affine(d.scalar).scale(d.multiple):
                return i
        return len(self.program.dimensions) + self.others.index(n)

    def derived(self) -> list[str]:
        """Sets the entries that follow from those of dimensions."""
        scalars = {d.scalar: scalar_text(i, d) for i, d in enumerate(self.dimensions)}
        return [
            f"sizes[{self.number(n)}] = Most({size_text(n, scalars.__getitem__)}, 0);"
            for n in self.others
            if set(scalars_of(n)) <= scalars.keys()
        ]

    def before(self, arena: str, inputs: Sequence[str]) -> list[str]:
        """Begins with the states, sets the scalars of dimensions, and the inputs."""
        places = self.program.scalars
        states = [] if self.states is None else [*self.states.find(), *self.states.begin()]
        set_scalars = [
            f"SetScalar({arena} + {places[d.scalar]}, {scalar_text(i, d)});" for i, d in enumerate(self.dimensions)
        ]
        copies = [
            line for name, t in zip(inputs, self.program.inputs, strict=True) for line in self._copy(arena, name, t)
        ]
        return [*states, *set_scalars, *self.derived(), *copies]

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

    @property
    def returns(self) -> bool:
        """Whether a run returns how it ended: 0, a status of states, or the number of a refusal, from 1 on."""
        return bool(self.program.refusals or self.program.states)

    def end(self, arena: str) -> list[str]:
        """Returns from the run: the first refusal of the program that it led to, or 0, with the states that it
        leaves."""
        places = self.program.scalars
        lines = [
            f"if (ScalarAt({arena} + {places[r.scalar]})) return {number};"
            for number, r in enumerate(self.program.refusals, 1)
        ]
        if self.states is not None:
            lines += self.states.end(lambda s: f"ScalarAt({arena} + {places[s]})")
        return [*lines, "return 0;"] if self.returns else lines

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
