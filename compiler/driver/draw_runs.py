"""Runs of a model at random: single ones, and sequences in which each finds the states that the one before has left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..errors import InputError
from ..graph.ir import Graph, Node
from ..graph.keep_states import Counted, made_inputs
from ..graph.split_merged import BRANCH
from ..ir.nodes import Expr, Scalar
from ..ir.sizes import number, scalars_of, value_of
from ..program.dimensions import Dimension
from ..program.program import TensorSpec
from ..program.states import State, check_room, lengths_at_start, within_window
from ..values.bind_sizes import bind_sizes
from ..values.draw_inputs import draw_inputs, largest_sizes, smallest_sizes

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Kept:
    """Pairs of states, with the `specs` of their inputs, and the inputs of the source that are `made` of their
    lengths. Those in `same` stay as they are, but for a first run of a model that has such (`merged`)."""

    pairs: tuple[State, ...] = ()
    specs: tuple[TensorSpec, ...] = ()
    made: Mapping[str, Counted] = field(default_factory=dict)
    same: frozenset[str] = frozenset()
    merged: bool = False

    def inputs(self, scalars: Mapping[Scalar, int], states: Mapping[str, Array]) -> dict[str, Array]:
        """Inputs that the source is given besides in a run of these sizes that finds these states."""
        made = {name: counted.array(scalars) for name, counted in self.made.items()}
        return {**made, BRANCH: np.array([not self._is_first(states)])} if self.merged else made

    def results(self, states: Mapping[str, Array], outputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs of a run that found these states, what it leaves of them among these: of what stays the source
        gives nothing."""
        same = frozenset() if self._is_first(states) else self.same
        return {**outputs, **{s.after: states[s.before] for s in self.pairs if s.before in same}}

    def left(self, results: Mapping[str, Array]) -> dict[str, Array]:
        """The states that a run with these results leaves, by the names of their inputs."""
        return {s.before: results[s.after] for s in self.pairs}

    def sizes(
        self, dimensions: Sequence[Dimension], sizes: Mapping[Scalar, int], states: Mapping[str, Array]
    ) -> dict[Scalar, int] | None:
        """Scalars of a run that finds these states, by `sizes` else; None where they have no room for it."""
        own = self.scalars()
        kept = [d for d in dimensions if d.scalar in own]
        try:
            none = {d.scalar: 0 for d in dimensions if d.dropped_of is not None}
            scalars = {**sizes, **none, **bind_sizes(kept, self.specs, [states[s.name] for s in self.specs])}
            check_room(dimensions, scalars)
            if within_window(dimensions, scalars) != scalars:
                return None
        except InputError:
            return None
        return scalars

    def _is_first(self, states: Mapping[str, Array]) -> bool:
        """Whether a run that finds these states computes those that stay."""
        return self.merged and not any(a.size for name, a in states.items() if name not in self.same)

    def scalars(self) -> tuple[Scalar, ...]:
        """Scalars of the states' shapes."""
        return scalars_of(*(n for s in self.specs for n in s.shape if isinstance(n, Expr)))


NOTHING_KEPT = Kept()


def kept_of(graph: Graph) -> Kept:
    """States of the model `graph`, before its passes."""
    before = {s.before for s in graph.states}
    specs = (TensorSpec(v.name, v.dtype, v.shape, 0) for v in graph.inputs if v.name in before)
    makers = {v.name: n for n in graph.nodes if n.op == "Identity" for v in n.outputs if v is not None}
    same = (s.before for s in graph.states if s.after in makers and _reads(makers[s.after], s.before))
    return Kept(graph.states, tuple(specs), made_inputs(graph), frozenset(same), graph.first is not None)


def _reads(node: Node, name: str) -> bool:
    return any(v is not None and v.name == name for v in node.inputs)


@dataclass(frozen=True, slots=True)
class Runs:
    """One run after the other, from `states` on, by the sizes that each decides."""

    states: dict[str, Array]
    sizes: tuple[Mapping[Scalar, int], ...]


def draw_runs(dimensions: Sequence[Dimension], kept: Kept, generator: np.random.Generator) -> Iterator[Runs]:
    """Without states a run of the largest sizes, and where they vary one of sizes in between, and one of fast sizes.
    With states four runs from zeros on, the first of the smallest or of fast sizes, and where those grow, one that
    nearly fills them."""
    largest = largest_sizes(dimensions)
    fast = {d.scalar: d.fast // d.multiple for d in dimensions if d.fast is not None}
    if not kept.pairs:
        yield Runs({}, (largest,))
        if dimensions:
            yield Runs({}, (_between(dimensions, generator),))
        if fast:
            yield Runs({}, ({**_between(dimensions, generator), **fast},))
        return
    between = [_between(dimensions, generator) for _ in range(2)]
    # Sizes that all runs of a sequence have, such as a batch's.
    shared = {s: n for s, n in between[0].items() if s in kept.scalars()}
    sizes = tuple({**drawn, **shared} for drawn in ({**smallest_sizes(dimensions), **fast}, *between, largest))
    yield Runs(_zeros(kept, {**shared, **lengths_at_start(dimensions)}), sizes)
    if any(d.after is not None for d in dimensions):
        lengths = {d.scalar: _most(d, largest) for d in dimensions if d.after is not None}
        yield Runs(draw_inputs(kept.specs, dimensions, {**largest, **lengths}, generator), (largest,))


def _zeros(kept: Kept, scalars: Mapping[Scalar, int]) -> dict[str, Array]:
    return {s.name: np.zeros([value_of(n, scalars) for n in s.shape], s.dtype.numpy) for s in kept.specs}


def _most(d: Dimension, sizes: Mapping[Scalar, int]) -> int:
    """The most that a state has where a run of these sizes leaves no more than one may begin with."""
    assert d.after is not None
    if any(s not in sizes for s in scalars_of(number(d.after))):  # the run computes what it leaves
        return sizes[d.scalar]
    room = d.most if d.limit is None else min(d.most, d.limit)
    return next((n for n in range(sizes[d.scalar], 0, -1) if value_of(d.after, {**sizes, d.scalar: n}) <= room), 0)


def _between(dimensions: Sequence[Dimension], generator: np.random.Generator) -> dict[Scalar, int]:
    scalars = [d.scalar for d in dimensions]
    return {s: int(generator.integers(min(max(s.low, 1), s.extent - 1), s.extent)) for s in scalars}
