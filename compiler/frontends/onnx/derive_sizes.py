"""Sizes that follow from others: of a mask for all that is in a cache and what is new, say, which exporters give a name
of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from ...errors import WebnnCompileError
from ...graph.ir import Graph
from ...graph.sizes_read import sizes_read, without
from ...ir.facts import decide
from ...ir.nodes import Scalar
from ...ir.rewrite import substitute
from ...ir.sizes import Size, equal, number, scalars_of, size, text_of
from ..model_inputs import Dim, ModelInputs
from .fix_shapes import Declared, FreeDimensions, names_in

_LARGE = 1024
"""A size that is larger than most that are numbers in a model."""


@dataclass(frozen=True, slots=True)
class Trial:
    """An import's graph or error, and pairs of sizes that have to be equal."""

    graph: Graph | None
    error: WebnnCompileError | None
    differing: Sequence[tuple[Size, Size]]


def derive_sizes(
    trial: Trial, declared: Mapping[str, Declared], chosen: ModelInputs, attempt: Callable[[ModelInputs], Trial]
) -> ModelInputs | None:
    """`chosen` with expressions of other sizes in place of those that are open and follow from others, in the shapes of
    inputs that the model `declared` so; None where none does.

    After `trial`, an import with `chosen`, sizes are open that these leave free. Where sizes differ that have to be
    equal, those are that the model declares by expressions: exporters state them for one way to use a model. A size is
    what an operator that broadcasts needs it to be, or as long as what is read of it. `attempt` imports the model with
    inputs in which the open ones are sizes of their own.
    """
    free = trial.error if isinstance(trial.error, FreeDimensions) else None
    declared = {**declared, **({} if free is None else free.declared), **{n: [*s] for n, s in chosen.shapes.items()}}
    if free is not None:
        remaining = [d for d in _symbols(declared, free.names) if not set(names_in(d)) <= set(chosen.dims)]
    else:
        inputs = [name for name in declared if name not in chosen.shapes] if trial.differing else []
        remaining = [d for d in _symbols(declared, inputs) if names_in(d) != [d] and d not in chosen.dims]
    found: dict[str, str] = {}
    most = max(_LARGE, sum(d.most for d in chosen.dims.values()))
    while remaining:
        own = dict.fromkeys(remaining, Dim(1, most))
        trial = attempt(_with_sizes(replace(chosen, dims={**chosen.dims, **own}), declared, found))
        following = {s: text for s in remaining if (text := _size_of(s, set(remaining), trial)) is not None}
        if not following:
            break
        found |= following
        remaining = [s for s in remaining if s not in following]
    return _with_sizes(chosen, declared, found) if found else None


def _symbols(declared: Mapping[str, Declared], inputs: Iterable[str]) -> list[str]:
    """Names and expressions in the shapes of `inputs`."""
    return list(dict.fromkeys(d for name in inputs for d in declared[name] or () if isinstance(d, str)))


def _with_sizes(chosen: ModelInputs, declared: Mapping[str, Declared], sizes: Mapping[str, str]) -> ModelInputs:
    """`chosen` with `sizes` in place of symbols in the shapes of inputs."""
    shapes = dict(chosen.shapes)
    for name, shape in declared.items():
        if shape is not None and any(d in sizes for d in shape):
            extents = [d for d in shape if d is not None]
            if len(extents) == len(shape):
                texts = (sizes.get(d, d) if isinstance(d, str) else d for d in extents)
                shapes[name] = tuple(int(d) if isinstance(d, str) and d.isdecimal() else d for d in texts)
    return replace(chosen, shapes=shapes)


def _size_of(symbol: str, unknown: Set[str], trial: Trial) -> str | None:
    """The size that `symbol` has to be, as text, by sizes that are not `unknown`; None where nothing says it."""
    pairs = [(scalar, a, b) for a, b in trial.differing if (scalar := _scalar(symbol, a, b)) is not None]
    sizes = [n for pair in pairs for n in _equal_to(*pair)]
    if trial.graph is not None and not pairs:
        scalar = next((d.scalar for d in trial.graph.dimensions if d.name == symbol), None)
        sizes = [] if scalar is None else _largest(list(sizes_read(trial.graph, scalar)))
    names = ({s.name for s in scalars_of(number(n))} for n in sizes)
    return next((text_of(n) for n, used in zip(sizes, names, strict=True) if not used & unknown), None)


def _scalar(name: str, *sizes: Size) -> Scalar | None:
    return next((s for s in scalars_of(*map(number, sizes)) if s.name == name), None)


def _equal_to(scalar: Scalar, a: Size, b: Size) -> Iterator[Size]:
    """Values of `scalar` with which `a` and `b` are equal."""
    solution = without(number(a) - number(b), scalar)
    for n in (a, b) if solution is None else (solution,):
        same = (size(substitute(number(side), {scalar: number(n)})) for side in (a, b))
        if scalar not in scalars_of(number(n)) and equal(*same):
            yield n


def _largest(sizes: Sequence[Size]) -> list[Size]:
    """The one that is never less than another."""
    return [n for n in sizes if all(decide("<=", number(m), number(n)) for m in sizes)][:1]
