"""The data that a page shows of a build. Sizes are in bytes, times in milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class Peak:
    """Billions of operations and of bytes in a second: `measured` on this machine, or given."""

    gflops: float
    gbytes: float
    measured: bool = False

    def least_ms(self, operations: int, size: int) -> float:
        """The time that so many operations on so many bytes take at least."""
        return max(operations / self.gflops, size / self.gbytes) / 1e6

    @property
    def ridge(self) -> float:
        """Operations on a byte from which on arithmetic is the limit, not memory."""
        return self.gflops / self.gbytes


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision of a schedule, and how many options it had."""

    name: str
    chosen: str
    options: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """A distinct kernel. `operations` and `bytes` are those of one launch, at the largest sizes, None where they were
    not counted. `steps` are the launches in a run, by number: none of a kernel that runs at load. `form` is the kind of
    its result, `extent` how a GPU is launched. `refusal`: why recorded choices do not apply. `without_canary`: why it
    has no canary, empty where it has one, and None on a processor, whose kernels never have any."""

    name: str
    form: str
    operations: int | None
    bytes: int | None
    extent: str
    decisions: tuple[Decided, ...]
    refusal: str | None
    source: str
    steps: tuple[int, ...]
    without_canary: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A launch of a kernel, by its number, or a part of the run on the host (kernel None), with the reason `host`.
    `result` is the type and the shape of its result, `layout` the order in memory. `before` are the steps that it reads
    results of. `ms` is the time of all `count` repetitions in a profile."""

    name: str
    kernel: int | None
    nodes: tuple[str, ...]
    ops: tuple[str, ...]
    forms: tuple[str, ...]
    result: str
    layout: str
    before: tuple[int, ...]
    host: str = ""
    ms: float | None = None
    count: int = 1


@dataclass(frozen=True, slots=True)
class Block:
    """Memory of a value, from byte `at` on, that keeps its contents from step `first` to step `last`."""

    name: str
    bytes: int
    at: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Memory:
    """`total` bytes hold the `blocks` over a run, whose steps have these `labels`; `fixed` are those of constants, by
    what they are, `states` those of what a session keeps from run to run."""

    total: int
    labels: tuple[str, ...]
    blocks: tuple[Block, ...]
    fixed: tuple[tuple[str, int], ...]
    states: int = 0

    @property
    def live(self) -> tuple[int, ...]:
        """Bytes in use, by step."""
        changes = [0] * (max(len(self.labels), 1) + 1)
        for b in self.blocks:
            changes[b.first] += b.bytes
            changes[b.last + 1] -= b.bytes
        return tuple(accumulate(changes[:-1]))

    @property
    def peak(self) -> int:
        """The step at which most bytes are in use."""
        live = self.live
        return max(range(len(live)), key=live.__getitem__, default=0)

    def at(self, step: int) -> tuple[Block, ...]:
        """Blocks that are live at a step, the largest first."""
        found = (b for b in self.blocks if b.first <= step <= b.last)
        return tuple(sorted(found, key=lambda b: (-b.bytes, b.at, b.name)))


@dataclass(frozen=True, slots=True)
class Note:
    """Where parts of the model run, or how, and the reason, which is the same for all of them."""

    what: tuple[str, ...]
    where: str
    why: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """A tensor computed at load."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Target:
    """The program for a target, its kernels in `language`."""

    name: str
    about: str
    language: str
    kernels: tuple[Kernel, ...]
    steps: tuple[Step, ...]
    memory: Memory
    code: int
    prepared: tuple[Prepared, ...]
    notes: tuple[Note, ...]
    peak: Peak | None

    @property
    def operations(self) -> int:
        """Operations of a run, in which each step is taken once."""
        return self._sum([k.operations for k in self.kernels])

    @property
    def bytes(self) -> int:
        return self._sum([k.bytes for k in self.kernels])

    def _sum(self, counts: Sequence[int | None]) -> int:
        return sum((count or 0) * len(k.steps) for k, count in zip(self.kernels, counts, strict=True))

    @property
    def ms(self) -> float | None:
        """The time of all steps, where there is a profile."""
        times = [s.ms for s in self.steps if s.ms is not None]
        return sum(times) if times else None

    def kernel_ms(self, kernel: Kernel) -> float | None:
        """The time of all launches of a kernel, where there is a profile."""
        times = [ms for s in kernel.steps if (ms := self.steps[s].ms) is not None]
        return sum(times) if times else None


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the model as imported. `before` are those that it reads results of, by number; `inner` counts the nodes
    of its regions. `kept`: it is in the graph after the graph passes, too."""

    name: str
    op: str
    before: tuple[int, ...]
    inner: int
    kept: bool


@dataclass(frozen=True, slots=True)
class File:
    name: str
    bytes: int
    kind: str


@dataclass(frozen=True, slots=True)
class Page:
    """`facts` are lines about the model, by label; `nodes` its graph before fusion, `optimised` how many remain."""

    model: str
    facts: tuple[tuple[str, str], ...]
    nodes: tuple[Node, ...]
    optimised: int
    targets: tuple[Target, ...]
    notes: tuple[Note, ...]
    files: tuple[File, ...]
