"""The host/device partition: operations that a GPU cannot express run on the host, in few segments and readbacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from ..ir.nodes import Expr, For, Node, Origin
from ..ir.rewrite import children
from ..pipeline.lowered import Lowered
from ..program.live_ranges import owner_of
from ..tensor import Tensor

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
    """`steps` are groups for the device, by number, and segments for the host, in order. `reasons` has the reason for
    each group on the host. `on_host` and `on_device` are the tensors (owners of their memory) that either side ever
    holds: an input of the model may be in both, or in none. `results` are those that the host computes; the model's
    outputs among them are read there."""

    steps: tuple[int | Segment, ...]
    reasons: Mapping[int, str]
    on_host: frozenset[Tensor]
    on_device: frozenset[Tensor]
    results: frozenset[Tensor]

    @property
    def groups(self) -> tuple[int, ...]:
        """The groups for the device, in order."""
        return tuple(s for s in self.steps if isinstance(s, int))

    @property
    def segments(self) -> tuple[Segment, ...]:
        return tuple(s for s in self.steps if isinstance(s, Segment))

    @property
    def readbacks(self) -> int:
        """How many segments of a run wait for values from the device."""
        return sum(1 for s in self.segments if s.reads)


def partition_host(model: Lowered, cannot: Mapping[int, str]) -> HostPartition:
    """`cannot` has the reasons of groups that the device cannot run, by number. The host also runs small kernels

    - between its own: they depend on one of them, and another on them;
    - next to its own only: all their producers and readers are on the host, or inputs and outputs.

    Kernels are ordered for the fewest switches between host and device.
    """
    links = _Links(model)
    reasons = _with_small_neighbours(model, links, cannot)
    candidates = [_divide(model, links, reasons, host_first) for host_first in (True, False)]
    return min(candidates, key=lambda d: (d.readbacks, len(d.segments)))


class _Links:
    """Producers and readers of groups; aliases count as their owners."""

    def __init__(self, model: Lowered) -> None:
        self._aliases = model.aliases
        self.inputs = {t for _, t in model.tensors.inputs}
        self.outputs = {self.owner(t) for _, t in model.tensors.outputs}
        self.made = [g.output for g in model.groups]
        self.reads = [tuple(dict.fromkeys(self.owner(t) for t in g.reads if not t.is_constant)) for g in model.groups]
        maker = {t: i for i, t in enumerate(self.made)}
        self.before = [frozenset(maker[t] for t in reads if t in maker) for reads in self.reads]
        after: list[set[int]] = [set() for _ in self.made]
        for i, makers in enumerate(self.before):
            for m in makers:
                after[m].add(i)
        self.after = [frozenset(a) for a in after]

    def owner(self, t: Tensor) -> Tensor:
        return owner_of(t, self._aliases)


def _with_small_neighbours(model: Lowered, links: _Links, cannot: Mapping[int, str]) -> dict[int, str]:
    reasons = dict(cannot)
    small = [
        i
        for i, k in enumerate(model.kernels)
        if i not in reasons and _trips(k.body) + sum(prod(t.shape) for t in links.reads[i]) <= SMALL
    ]
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


def _divide(model: Lowered, links: _Links, reasons: Mapping[int, str], host_first: bool) -> HostPartition:
    made_there = {links.made[i] for i in reasons}
    wanted = {t for i, reads in enumerate(links.reads) if i not in reasons for t in reads}
    held = links.inputs & {t for i in reasons for t in links.reads[i]}
    steps: list[int | Segment] = []
    first = 0
    for groups in _turns(links, reasons, host_first):
        if groups[0] not in reasons:
            steps.extend(groups)
            continue
        reads = [t for i in groups for t in links.reads[i] if t not in made_there and t not in held]
        writes = [links.made[i] for i in groups if links.made[i] in wanted]
        held.update(reads)
        origin = sum((model.groups[i].origin for i in groups), Origin())
        reason = "; ".join(dict.fromkeys(reasons[i] for i in groups))
        unique = tuple(dict.fromkeys(reads))
        steps.append(Segment(tuple(groups), first, first + len(groups), unique, tuple(writes), origin, reason))
        first += len(groups)
    fixed = {t for t in links.outputs if t not in made_there}
    device = wanted | fixed | {t for i, t in enumerate(links.made) if i not in reasons}
    there = frozenset(made_there)
    return HostPartition(tuple(steps), reasons, there | held, frozenset(device), there)


def _turns(links: _Links, reasons: Mapping[int, str], host_first: bool) -> list[list[int]]:
    """Host and device in turn, each as far as possible: no other order has fewer switches."""
    turns: list[list[int]] = []
    done: set[int] = set()
    host = host_first
    while len(done) < len(links.made):
        turn: list[int] = []
        for i, before in enumerate(links.before):
            if i not in done and (i in reasons) == host and before <= done:
                turn.append(i)
                done.add(i)
        if turn:
            turns.append(turn)
        host = not host
    return turns
