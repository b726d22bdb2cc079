"""The host/device partition: operations that a GPU cannot express run on the host, in few segments and readbacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import prod

from ..ir.nodes import Binary, Expr, For, Node, Origin
from ..ir.rewrite import children, walk
from ..pipeline.lowered import Lowered
from ..program.live_ranges import owner_of
from ..tensor import Tensor
from ..tensor.steps import StepsOf, leaves, map_runs

SMALL = 1 << 14
"""Most iterations and elements read of a kernel that may run on the host to save a readback."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive kernels on the host. `groups` are numbers in the model, in order; they are the steps `first` to
    `last` (excluded) of the host's program. `reads` are read back from the device before, `writes` uploaded after:
    tensors that own their memory."""

    groups: tuple[int, ...]
    first: int
    last: int
    reads: tuple[Tensor, ...]
    writes: tuple[Tensor, ...]
    origin: Origin
    reason: str


@dataclass(frozen=True, slots=True)
class HostPartition:
    """`steps` are groups for the device, by number, and segments for the host, in order, with the loops and branches
    around them. `reasons` has the reason for
    each group on the host. `on_host` and `on_device` are the tensors (owners of their memory) that either side ever
    holds: an input of the model may be in both, or in none. `results` are those that the host computes; the model's
    outputs among them are read there."""

    steps: StepsOf[int | Segment]
    reasons: Mapping[int, str]
    on_host: frozenset[Tensor]
    on_device: frozenset[Tensor]
    results: frozenset[Tensor]

    @property
    def groups(self) -> tuple[int, ...]:
        """The groups for the device, in order."""
        return tuple(s for s in leaves(self.steps) if isinstance(s, int))

    @property
    def segments(self) -> tuple[Segment, ...]:
        return tuple(s for s in leaves(self.steps) if isinstance(s, Segment))

    @property
    def readbacks(self) -> int:
        """How many segments of a run wait for values from the device."""
        return sum(1 for s in self.segments if s.reads)


def partition_host(model: Lowered, cannot: Mapping[int, str]) -> HostPartition:
    """`cannot` has the reasons of groups that the device cannot run, by number. The host also runs small kernels

    - between its own: they depend on one of them, and another on them;
    - next to its own only: all their producers and readers are on the host, or inputs and outputs;
    - that read no tensor, and whose result is a size alone, which need not be read back then, or has quotients of
      floats, which GPUs round otherwise: coordinates of nearest elements, say.

    Kernels are ordered for the fewest switches between host and device; in loops and branches they keep their order.
    """
    links = _Links(model)
    reasons = _with_small_neighbours(model, links, {**_of_sizes_alone(model, links), **cannot})
    candidates = [_Division(model, links, reasons, host_first).partition() for host_first in (True, False)]
    return min(candidates, key=lambda d: (d.readbacks, len(d.segments)))


class _Links:
    """Producers and readers of groups, and all that share a memory, by its owner."""

    def __init__(self, model: Lowered) -> None:
        self._aliases = model.aliases
        self.inputs = {t for _, t in model.tensors.inputs}
        self.outputs = {self.owner(t) for _, t in model.tensors.outputs}
        self.made = [self.owner(g.output) for g in model.groups]
        self.writers: dict[Tensor, list[int]] = {}
        for i, t in enumerate(self.made):
            self.writers.setdefault(t, []).append(i)
        self.reads = [tuple(dict.fromkeys(self.owner(t) for t in g.reads if not t.is_constant)) for g in model.groups]
        self.scalars = [frozenset(map(self.owner, model.sources.get(g.output, ()))) for g in model.groups]
        self.before = [
            frozenset(w for t in (*reads, *scalars) for w in self.writers.get(t, ()))
            for reads, scalars in zip(self.reads, self.scalars, strict=True)
        ]
        after: list[set[int]] = [set() for _ in self.made]
        for i, makers in enumerate(self.before):
            for m in makers:
                after[m].add(i)
        self.after = [frozenset(a) for a in after]

    def owner(self, t: Tensor) -> Tensor:
        return owner_of(t, self._aliases)


def _of_sizes_alone(model: Lowered, links: _Links) -> dict[int, str]:
    """The reasons of small kernels that read no tensor."""
    read = {t for reads in links.reads for t in reads}
    sizes = {links.owner(t) for t in model.measured.values()} - read
    found: dict[int, str] = {}
    for i, group in enumerate(model.groups):
        if not group.reads and _is_small(model, links, i):
            if links.made[i] in sizes:
                found[i] = "a size that is made of sizes"
            elif _divides(model.kernels[i].body):
                found[i] = "GPUs round quotients otherwise"
    return found


def _is_small(model: Lowered, links: _Links, i: int) -> bool:
    return _trips(model.kernels[i].body) + sum(prod(t.extents) for t in links.reads[i]) <= SMALL


def _with_small_neighbours(model: Lowered, links: _Links, cannot: Mapping[int, str]) -> dict[int, str]:
    reasons = dict(cannot)
    small = [i for i in range(len(model.kernels)) if i not in reasons and _is_small(model, links, i)]
    changed = bool(reasons)
    while changed:
        changed = False
        behind = _reached(reasons, links.after)
        ahead = _reached(reasons, links.before)
        for i in small:
            near = links.before[i] | links.after[i]
            if i in reasons or not near:
                continue
            if i in behind and i in ahead:
                reasons[i] = "small, between kernels on the host"
            elif near <= reasons.keys():
                reasons[i] = "small, next to kernels on the host"
            changed = changed or i in reasons
    return reasons


def _divides(body: Node) -> bool:
    return any(isinstance(n, Binary) and n.op == "/" and n.dtype.is_float for n in walk(body))


def _reached(start: Iterable[int], links: Sequence[frozenset[int]]) -> set[int]:
    """All groups reachable from `start` along `links`."""
    found: set[int] = set()
    stack = list(start)
    while stack:
        new = links[stack.pop()] - found
        found |= new
        stack.extend(new)
    return found


def _trips(n: Node, times: int = 1) -> int:
    """The total number of iterations of the innermost loops."""
    if isinstance(n, For):
        times *= n.var.extent
    inner = [c for c in children(n) if not isinstance(c, Expr)]
    return sum(_trips(c, times) for c in inner) if inner else times


class _Division:
    """The groups of a model on the two sides. Memory that groups on both sides write is the device's: the host reads it
    back, and uploads what it writes."""

    def __init__(self, model: Lowered, links: _Links, reasons: Mapping[int, str], host_first: bool) -> None:
        self._model, self._links, self._reasons, self._host_first = model, links, reasons, host_first
        self._there = {t for t, writers in links.writers.items() if all(i in reasons for i in writers)}
        self._wanted = {t for i, reads in enumerate(links.reads) if i not in reasons for t in reads}
        self._held = links.inputs & {t for i in reasons for t in links.reads[i]}
        self._kept = set(self._held)
        """Tensors that the host holds in the region of the model: elsewhere a value may have changed."""
        self._first = 0

    def partition(self) -> HostPartition:
        links, reasons = self._links, self._reasons
        steps = map_runs(self._model.steps, self._run)
        device = self._wanted | {t for t in links.outputs if t not in self._there}
        device |= {t for i, t in enumerate(links.made) if i not in reasons}
        there = frozenset(self._there)
        return HostPartition(steps, reasons, there | self._held, frozenset(device), there)

    def _run(self, groups: Sequence[int], nested: bool) -> Iterator[int | Segment]:
        """The steps of groups that run one after the other."""
        turns = self._in_order(groups) if nested else self._turns(groups)
        for turn in turns:
            if turn[0] in self._reasons:
                for part in self._calls(turn):
                    yield self._segment(part, nested)
            else:
                yield from turn

    def _calls(self, groups: Sequence[int]) -> Iterator[list[int]]:
        """Groups of the host in parts, of which none makes a scalar that it takes: those are given to a call."""
        part: list[int] = []
        for i in groups:
            if not self._links.scalars[i].isdisjoint(self._links.made[k] for k in part):
                yield part
                part = []
            part.append(i)
        yield part

    def _segment(self, groups: Sequence[int], nested: bool) -> Segment:
        links = self._links
        held = links.inputs & self._held if nested else self._kept
        reads: dict[Tensor, None] = {}
        made: set[Tensor] = set()
        for i in groups:
            needed = (*links.reads[i], *([links.made[i]] if self._writes_part(i) else []))
            reads.update(dict.fromkeys(t for t in needed if t not in self._there | held | made))
            made.add(links.made[i])
        writes = dict.fromkeys(t for i in groups if (t := links.made[i]) in self._wanted or t not in self._there)
        held.update(t for t in reads if len(links.writers.get(t, ())) < 2)
        self._held.update(reads)
        self._held.update(made)
        origin = sum((self._model.groups[i].origin for i in groups), Origin())
        reason = "; ".join(dict.fromkeys(self._reasons[i] for i in groups))
        first = self._first
        self._first += len(groups)
        return Segment(tuple(groups), first, self._first, tuple(reads), tuple(writes), origin, reason)

    def _writes_part(self, i: int) -> bool:
        """Whether a group leaves other elements of the memory as they are."""
        return self._links.made[i].extents != self._model.groups[i].output.extents

    def _in_order(self, groups: Sequence[int]) -> list[list[int]]:
        return [list(part) for _, part in groupby(groups, self._reasons.__contains__)]

    def _turns(self, groups: Sequence[int]) -> list[list[int]]:
        """Host and device in turn, each as far as possible: no other order has fewer switches."""
        turns: list[list[int]] = []
        here, done = set(groups), set[int]()
        host = self._host_first
        while len(done) < len(groups):
            turn: list[int] = []
            for i in groups:
                waits = (self._links.before[i] & here) - done
                if i not in done and (i in self._reasons) == host and not waits:
                    turn.append(i)
                    done.add(i)
            if turn:
                turns.append(turn)
            host = not host
        return turns
