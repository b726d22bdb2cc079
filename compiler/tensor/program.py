"""A model as tensors: the result of lower_graph, the input of fuse.

TensorProgram = (inputs, outputs, tensors: Tensor*, structures: Inner*, special: Special*, ...)
Inner         = (structure: Loop | Branch, regions: TensorProgram*, reads, results)
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace

from ..ir.nodes import Buffer, Origin, Scalar
from ..program.dimensions import Dimension
from ..program.refusals import Refusal
from ..program.states import State
from .computed_sizes import NO_SIZES, Sizes
from .structure import Structure
from .tensor import Tensor
from .winograd_matrices import OutputTile


@dataclass(frozen=True, slots=True)
class TensorProgram:
    """`tensors` are all computed tensors in topological order; `origins` names the ONNX nodes they come from.
    Those in `stored` are always materialised: copies that change the layout. `channels_last` are buffers of images that
    are not recognised by their readers or producers, `windows` buffers of Winograd's windows, in the transform domain.
    `rewritten` are the convolutions that Winograd's algorithm computes. `structures` are the loops and branches of the
    region. `dimensions` are the sizes that a run decides, `refusals` the branches that none may take,
    `sizes` what the sizes that a run computes are read from. `states` are inputs and outputs that outlive a run.
    `special` computes the same for some sizes alone. `rooms` are the shapes that memory is laid out for of inputs and
    outputs that have more than their own largest."""

    inputs: tuple[tuple[str, Tensor], ...]
    outputs: tuple[tuple[str, Tensor], ...]
    tensors: tuple[Tensor, ...]
    origins: Mapping[Tensor, Origin]
    stored: frozenset[Tensor] = frozenset()
    channels_last: frozenset[Buffer] = frozenset()
    windows: frozenset[Buffer] = frozenset()
    rewritten: tuple[Rewritten, ...] = ()
    structures: tuple[Inner, ...] = ()
    dimensions: tuple[Dimension, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    sizes: Sizes = NO_SIZES
    states: tuple[State, ...] = ()
    special: tuple[Special, ...] = ()
    rooms: Mapping[Tensor, tuple[int, ...]] = field(default_factory=dict)

    @property
    def state_tensors(self) -> tuple[tuple[Tensor, Tensor], ...]:
        """The input and the output of each state."""
        inputs, outputs = dict(self.inputs), dict(self.outputs)
        return tuple((inputs[s.before], outputs[s.after]) for s in self.states)

    def state(self, name: str) -> State:
        """The state of which that is the input."""
        return next(s for s in self.states if s.before == name)


@dataclass(frozen=True, slots=True)
class Special:
    """A program that takes the place of the general one in runs in which its scalars have these `values`.

    Its inputs are in the memory of the general one's. So are its outputs, in order, and then the values of the scalars
    in `reported`, which the caller reads from the general one's tensors.
    """

    values: Mapping[Scalar, int]
    program: TensorProgram
    reported: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A convolution, and its replacement by Winograd's algorithm: tensors in order, the last of them the result."""

    tile: OutputTile
    convolution: Tensor
    tensors: tuple[Tensor, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Inner:
    """A loop or a branch in a region. `reads` are the tensors that it takes from there, or from further outside;
    `results` those of its results that are used, by their index. Inputs of a region are what it reads, and what a loop
    carries."""

    structure: Structure
    regions: tuple[TensorProgram, ...]
    reads: tuple[Tensor, ...]
    results: Mapping[int, Tensor] = field(default_factory=dict)


def without_output(program: TensorProgram, name: str) -> TensorProgram:
    """`program` without an output, for all sizes; what reads its tensor stays."""
    at = [own for own, _ in program.outputs].index(name)

    def shorter(one: TensorProgram) -> TensorProgram:
        return replace(one, outputs=(*one.outputs[:at], *one.outputs[at + 1 :]))

    special = tuple(replace(own, program=shorter(own.program)) for own in program.special)
    return replace(shorter(program), special=special)


def without_unread(program: TensorProgram, tensors: Set[Tensor]) -> TensorProgram:
    """`program` without those of `tensors` that nothing in it reads."""
    unread = tensors - {r for t in program.tensors for r in t.reads}
    kept = tuple(t for t in program.tensors if t not in unread)
    return replace(program, tensors=kept, origins={t: o for t, o in program.origins.items() if t not in unread})
