"""Which region each tensor belongs to: that of the model, the body of a loop, or one side of a branch."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..ir.nodes import Expr, Origin, Scalar
from ..ir.reduction import Reduce
from ..ir.sizes import number, scalars_of
from .computed_sizes import NO_SIZES, Sizes
from .program import Inner, TensorProgram
from .structure import Branch, Loop, Structure
from .tensor import Tensor

Ports = tuple[tuple[str, Tensor], ...]


class Origins:
    """The tensors of all operators in the order in which they are computed, with the nodes that they come from."""

    def __init__(self, sizes: Sizes = NO_SIZES) -> None:
        self.sizes = sizes
        self.of: dict[Tensor, Origin] = {}
        self.structures: dict[Structure, dict[int, Tensor]] = {}

    @property
    def computed(self) -> dict[Tensor, Origin]:
        """The origins of tensors that kernels compute."""
        return {t: origin for t, origin in self.of.items() if t.body is not None}

    def add(self, tensors: Iterable[Tensor], origin: Origin) -> None:
        """Records the tensors of an operator, and those that it made on the way, operands first."""
        for t in tensors:
            self._take(t, origin)

    def _take(self, t: Tensor, origin: Origin) -> None:
        if t in self.of:
            return
        if t.source is not None:
            self._take_structure(t.source.structure, origin)
            self.structures[t.source.structure][t.source.index] = t
        for r in (*t.reads, *measured(t, self.sizes)):
            self._take(r, origin)
        self.of[t] = origin

    def _take_structure(self, structure: Structure, origin: Origin) -> None:
        if structure not in self.structures:
            for t in (*operands(structure, self.sizes), *(t for results in results_of(structure) for t in results)):
                self._take(t, origin)
            self.structures[structure] = {}


def collect_region(inputs: Ports, results: Sequence[Tensor], outputs: Ports, origins: Origins) -> TensorProgram:
    """The program of a model with these inputs and outputs. `results` are those of its operators, some perhaps unused:
    they and what they depend on are computed."""
    regions = _Regions(origins)
    order = {t: i for i, t in enumerate(origins.of)}
    needed = _needed(results, origins)
    owned = frozenset().union(*(body for inner in regions.inner.values() for body in inner.bodies))
    tensors = [t for t in sorted(needed, key=order.__getitem__) if t.body is not None and t not in owned]
    nested = frozenset(n for inner in regions.inner.values() for body in inner.nested for n in body)
    used = {t.source.structure for t in needed if t.source is not None}
    structures = tuple(regions.program(s) for s in regions.inner if s in used and s not in nested)
    return TensorProgram(inputs, outputs, tuple(tensors), regions.computed, structures=structures, sizes=origins.sizes)


def operands(structure: Structure, sizes: Sizes) -> tuple[Tensor, ...]:
    """The operands that a structure takes from the region around it, without those that its own regions capture."""
    if isinstance(structure, Branch):
        return (structure.condition,)
    return (*(c.start for c in structure.carried), *sizes.sources_of((number(structure.trips),)))


def results_of(structure: Structure) -> tuple[tuple[Tensor, ...], ...]:
    """The results of each region of a structure."""
    return (structure.then, structure.otherwise) if isinstance(structure, Branch) else (structure.results,)


def used_results(structure: Structure, used: Container[int]) -> tuple[tuple[Tensor, ...], ...]:
    """The results of each region that are needed: those that are `used` outside, and what a loop carries."""
    if isinstance(structure, Branch):
        sides = (structure.then, structure.otherwise)
        return tuple(tuple(t for i, t in enumerate(side) if i in used) for side in sides)
    count = len(structure.carried)
    return (tuple(t for i, t in enumerate(structure.results) if i < count or i in used),)


def measured(t: Tensor, sizes: Sizes) -> tuple[Tensor, ...]:
    """The tensors from which a run computes scalars that occur in `t`."""
    return sizes.sources_of(_expressions(t))


def _expressions(t: Tensor) -> Iterator[Expr]:
    over = t.body.axes if isinstance(t.body, Reduce) else ()
    yield from (v.length for v in (*t.axes, *over) if v.length is not None)
    yield from (n for n in t.shape if isinstance(n, Expr))
    if t.body is not None:
        yield t.body


@dataclass(slots=True)
class _Inner:
    """Computed tensors and nested structures that a structure's regions own, and tensors that they read from
    outside."""

    bodies: list[set[Tensor]] = field(default_factory=list)
    nested: list[list[Structure]] = field(default_factory=list)
    reads: dict[Tensor, None] = field(default_factory=dict)


class _Regions:
    """The tensors of each structure's regions, inner structures first."""

    def __init__(self, origins: Origins) -> None:
        self._origins = origins
        self.computed = origins.computed
        self._order = {t: i for i, t in enumerate(origins.of)}
        self.inner: dict[Structure, _Inner] = {}
        for structure in origins.structures:
            self.inner[structure] = self._find(structure)

    def _find(self, structure: Structure) -> _Inner:
        nest = _Inner(reads=dict.fromkeys(t for t in operands(structure, self._origins.sizes) if t.data is None))
        for results in used_results(structure, self._origins.structures[structure]):
            reached = sorted(self._reach(results, structure), key=self._order.__getitem__)
            own = self._own(structure, reached)
            nest.bodies.append({t for t in own if t.body is not None})
            nest.nested.append(list(dict.fromkeys(t.source.structure for t in own if t.source is not None)))
            inside = {c.inside for c in structure.carried} if isinstance(structure, Loop) else set()
            read = (t for inner in reached if inner in own for t in self._depends_on(inner))
            nest.reads |= dict.fromkeys(t for t in read if t not in own and t not in inside and t.data is None)
        return nest

    def _own(self, structure: Structure, reached: Sequence[Tensor]) -> set[Tensor]:
        """The tensors that a branch owns are all that are not outside of it; a loop owns those that change between
        iterations, and the starts of loops in it, which these overwrite."""
        if isinstance(structure, Branch):
            outside = _outside(structure, self._origins.sizes)
            return {t for t in reached if t not in outside and t.data is None}
        changing = {c.inside for c in structure.carried}
        own: set[Tensor] = set()
        for t in reached:
            if structure.counter in self._scalars(t) or not changing.isdisjoint(self._depends_on(t)):
                own.add(t)
                changing.add(t)
        inner = {t.source.structure for t in own if t.source is not None}
        starts = {c.start for n in inner if isinstance(n, Loop) for c in n.carried}
        return own | starts | set(structure.results).intersection(reached)

    def _reach(self, results: Iterable[Tensor], structure: Structure) -> set[Tensor]:
        outside = _outside(structure, self._origins.sizes) if isinstance(structure, Branch) else frozenset()
        reached: set[Tensor] = set()
        stack = list(results)
        while stack:
            t = stack.pop()
            if t in reached:
                continue
            reached.add(t)
            if t not in outside:
                stack += self._depends_on(t)
        return reached

    def _depends_on(self, t: Tensor) -> tuple[Tensor, ...]:
        """The dependences of `t`; for a result of a structure those of the structure on the outside."""
        captured = self.inner[t.source.structure].reads if t.source is not None else ()
        return (*t.reads, *measured(t, self._origins.sizes), *captured)

    def _scalars(self, t: Tensor) -> set[Scalar]:
        """The scalars of a tensor, or of all inside of the structure that it is a result of."""
        scalars = set(scalars_of(*_expressions(t)))
        if t.source is not None:
            structure = t.source.structure
            inner = self.inner[structure]
            if isinstance(structure, Loop):
                scalars |= set(scalars_of(number(structure.trips)))
            for body, nested in zip(inner.bodies, inner.nested, strict=True):
                for x in (*body, *(r for n in nested for r in self._origins.structures[n].values())):
                    scalars |= self._scalars(x)
        return scalars

    def program(self, structure: Structure) -> Inner:
        """A structure with the programs of its regions."""
        inner = self.inner[structure]
        regions = []
        used = used_results(structure, self._origins.structures[structure])
        for body, nested, results in zip(inner.bodies, inner.nested, used, strict=True):
            inside = tuple(c.inside for c in structure.carried) if isinstance(structure, Loop) else ()
            inputs = tuple((t.name, t) for t in (*inside, *inner.reads))
            structures = tuple(self.program(n) for n in self.inner if n in nested)
            tensors = tuple(sorted(body, key=self._order.__getitem__))
            outputs = tuple((t.name, t) for t in results)
            regions.append(
                TensorProgram(inputs, outputs, tensors, self.computed, structures=structures, sizes=self._origins.sizes)
            )
        return Inner(structure, tuple(regions), tuple(inner.reads), self._origins.structures[structure])


def _outside(branch: Branch, sizes: Sizes) -> frozenset[Tensor]:
    """Tensors that exist whichever side runs: those that the sides capture, and those that measure their lengths."""
    return branch.outside.union(*(measured(t, sizes) for t in branch.outside))


def _needed(tensors: Iterable[Tensor], origins: Origins) -> set[Tensor]:
    """`tensors` and all that they depend on."""
    needed: set[Tensor] = set()
    stack = list(tensors)
    while stack:
        t = stack.pop()
        if t not in needed:
            needed.add(t)
            stack += (*t.reads, *measured(t, origins.sizes))
            if t.source is not None:
                structure = t.source.structure
                stack += operands(structure, origins.sizes)
                stack += (r for results in used_results(structure, origins.structures[structure]) for r in results)
    return needed
