"""What every part of a build is given: the options, the cache, and whom to tell."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..graph.ir import Graph
from ..graph.printer import print_graph
from ..ir.nodes import Kernel
from ..ir.printer import print_kernel
from ..system.cache import Cache
from .options import Options

Phase = Callable[[str], None]
"""Told of each phase as it begins."""


@dataclass(frozen=True, slots=True)
class Work:
    """`name` is the model's, printable. `emit` takes dumps; `seconds` collects times by phase."""

    name: str
    options: Options
    known: Cache
    phase: Phase
    emit: Callable[[str], None]
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, name: str, detail: str = "") -> Iterator[None]:
        self.phase(f"{name} ({detail})" if detail else name)
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def observe(self, stage: str, result: Graph | Kernel) -> None:
        """Dumps `result` if it is of the stage that the options name."""
        if stage == self.options.dump:
            self.emit(print_graph(result) if isinstance(result, Graph) else print_kernel(result))

    def quiet(self, stage: str, result: Graph | Kernel) -> None:
        """Dumps nothing."""
