"""The host/device partition: operations that a GPU cannot express run on the host, in few segments and readbacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
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
    around them. `reasons` has the reason for each group on the host. `on_host` and `on_device` are the tensors (owners
    of their memory) that either side ever holds: an input of the model may be in both, or in none. `results` are those
    that the host alone computes; the model's outputs among them are read there."""

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


def partition_host(model: Lowered, cannot: Mapping[int, str], *, host: bool = True) -> HostPartition:
    """`cannot` has the reasons of groups that the device cannot run, by number. The host also runs small kernels

    - between its own: they depend on one of them, and another on them;
    - next to its own only: all their producers and readers are on the host, or inputs and outputs;
    - that read no tensor, and whose result is a size alone, which need not be read back then, or has quotients of
      floats, which GPUs round otherwise: coordinates of nearest elements, say.

    Without a `host` sizes are read back, and no kernel moves for its neighbours: what is left there is refused then.
    Kernels are ordered for the fewest switches between host and device; in loops, and in branches that tensors decide,
    they keep their order.
    """
    links = _Links(model)
    reasons = {**_of_sizes_alone(model, links, host=host), **cannot}
    if host:
        reasons = _with_small_neighbours(model, links, reasons)
    candidates = [_divide(model, links, reasons, host_first=first) for first in (True, False)]
    return min(candidates, key=lambda d: (d.readbacks, len(d.segments)))


class _Links:
    """Producers and readers of groups, and all that share a memory, by its owner."""

    def __init__(self, model: Lowered) -> None:
        self._aliases = model.aliases
        self.states = {before for before, _ in model.tensors.state_tensors}
        self.inputs = {t for _, t in model.tensors.inputs} - self.states
        self.outputs = {self.owner(t) for _, t in model.tensors.outputs}
        self.computed = [self.owner(g.output) for g in model.groups]
        self.writers: dict[Tensor, list[int]] = {}
        for i, t in enumerate(self.computed):
            self.writers.setdefault(t, []).append(i)
        self.reads = [tuple(dict.fromkeys(self.owner(t) for t in g.reads if not t.is_constant)) for g in model.groups]
        sources = model.sources  # a walk over all groups
        self.scalars = [frozenset(map(self.owner, sources.get(g.output, ()))) for g in model.groups]
        place = {i: at for at, i in enumerate(leaves(model.steps))}
        self.before = [self._due(i, place) for i in range(len(self.computed))]
        after: list[set[int]] = [set() for _ in self.computed]
        for i, makers in enumerate(self.before):
            for m in makers:
                after[m].add(i)
        self.after = [frozenset(a) for a in after]

    def owner(self, t: Tensor) -> Tensor:
        return owner_of(t, self._aliases)

    def _due(self, i: int, place: Mapping[int, int]) -> frozenset[int]:
        """The groups that group `i` waits for: those that write what it reads, and of a state, whose memory the run
        before has written, too, those that stand before it, with those that read what it writes over."""
        read = {*self.reads[i], *self.scalars[i]}
        due = {w for t in read for w in self.writers.get(t, ()) if t not in self.states or place[w] < place[i]}
        written = self.computed[i]
        if written in self.states:
            due |= {r for r, reads in enumerate(self.reads) if written in reads and place[r] < place[i]}
            due |= {w for w in self.writers[written] if place[w] < place[i]}
        return frozenset(due)


def _of_sizes_alone(model: Lowered, links: _Links, *, host: bool) -> dict[int, str]:
    """The reasons of small kernels that read no tensor."""
    read = {t for reads in links.reads for t in reads}
    sizes = {links.owner(t) for t in model.measured.values()} - read
    reasons: dict[int, str] = {}
    for i, group in enumerate(model.groups):
        if not group.reads and _is_small(model, links, i):
            if host and links.computed[i] in sizes:
                reasons[i] = "a size that is made of sizes"
            elif _divides(model.kernels[i].body):
                reasons[i] = "GPUs round quotients otherwise"
    return reasons


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
    reached: set[int] = set()
    stack = list(start)
    while stack:
        new = links[stack.pop()] - reached
        reached |= new
        stack.extend(new)
    return reached


def _trips(n: Node, times: int = 1) -> int:
    """The total number of iterations of the innermost loops."""
    if isinstance(n, For):
        times *= n.var.extent
    inner = [c for c in children(n) if not isinstance(c, Expr)]
    return sum(_trips(c, times) for c in inner) if inner else times


@dataclass(frozen=True, slots=True)
class _Call:
    """Groups of the host in one segment, `nested` in a loop or a branch."""

    groups: tuple[int, ...]
    nested: bool


def _divide(model: Lowered, links: _Links, reasons: Mapping[int, str], *, host_first: bool) -> HostPartition:
    """The groups of a model on the two sides. States, and memory that groups on both sides write, are the device's: the
    host reads them back, and uploads what it writes."""

    def calls(groups: Sequence[int], nested: bool) -> Iterator[int | _Call]:
        turns = _in_order(groups, reasons) if nested else _turns(groups, links, reasons, host_first)
        for turn in turns:
            yield from (_Call(c, nested) for c in _calls(turn, links)) if turn[0] in reasons else turn

    planned: StepsOf[int | _Call] = map_runs(model.steps, calls)
    computed_there = {t for t, writers in links.writers.items() if all(i in reasons for i in writers)}
    results = frozenset(computed_there - links.states)
    device_reads = frozenset(t for i, reads in enumerate(links.reads) if i not in reasons for t in reads)
    from_inputs = frozenset(links.inputs & {t for i in reasons for t in links.reads[i]})
    held, first = from_inputs, 0
    segments: dict[_Call, Segment] = {}
    for call in (s for s in leaves(planned) if isinstance(s, _Call)):
        computed = [links.computed[i] for i in call.groups]
        # What was read back is still there later in the region of the model: elsewhere a value may have changed.
        reads = _read_back(model, links, call.groups, results | (from_inputs if call.nested else held))
        if not call.nested:
            held |= {t for t in reads if len(links.writers.get(t, ())) < 2}
        writes = tuple(dict.fromkeys(t for t in computed if t in device_reads or t not in results))
        origin = sum((model.groups[i].origin for i in call.groups), Origin())
        reason = "; ".join(dict.fromkeys(reasons[i] for i in call.groups))
        last = first + len(call.groups)
        segments[call] = Segment(call.groups, first, last, reads, writes, origin, reason)
        first = last

    def carried_out(run: Sequence[int | _Call], _: bool) -> list[int | Segment]:
        return [segments[s] if isinstance(s, _Call) else s for s in run]

    steps = map_runs(planned, carried_out)  # type: ignore[arg-type]
    on_host = from_inputs.union(*(s.reads for s in segments.values()), (links.computed[i] for i in reasons))
    on_device = device_reads.union(
        links.outputs - results, links.states, (t for i, t in enumerate(links.computed) if i not in reasons)
    )
    return HostPartition(steps, reasons, on_host, on_device, results)


def _calls(groups: Sequence[int], links: _Links) -> Iterator[tuple[int, ...]]:
    """Groups of the host in parts, of which none computes a scalar that it uses: scalars are arguments of a call."""
    part: tuple[int, ...] = ()
    for i in groups:
        if not links.scalars[i].isdisjoint(links.computed[k] for k in part):
            yield part
            part = ()
        part = (*part, i)
    yield part


def _read_back(model: Lowered, links: _Links, groups: Sequence[int], held: Set[Tensor]) -> tuple[Tensor, ...]:
    """The tensors that a segment reads back from the device: those that its groups read, and where they write a row,
    the other rows, which stay as they are."""
    reads: dict[Tensor, None] = {}
    computed: set[Tensor] = set()
    for i in groups:
        needed = (*links.reads[i], *([links.computed[i]] if model.kernels[i].row else []))
        reads.update(dict.fromkeys(t for t in needed if t not in held and t not in computed))
        computed.add(links.computed[i])
    return tuple(reads)


def _in_order(groups: Sequence[int], reasons: Mapping[int, str]) -> list[list[int]]:
    return [list(part) for _, part in groupby(groups, reasons.__contains__)]


def _turns(groups: Sequence[int], links: _Links, reasons: Mapping[int, str], host: bool) -> list[list[int]]:
    """Host and device in turn, each as far as possible: no other order has fewer switches. `host`: the host first."""
    turns: list[list[int]] = []
    here, done = set(groups), set[int]()
    while len(done) < len(groups):
        turn: list[int] = []
        for i in groups:
            waits = (links.before[i] & here) - done
            if i not in done and (i in reasons) == host and not waits:
                turn.append(i)
                done.add(i)
        if turn:
            turns.append(turn)
        host = not host
    return turns
