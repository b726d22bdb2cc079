"""The context of every part of a build: options, cache, progress and dumps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..system.cache import Cache
from ..system.run_passes import Observer, ignore
from .options import Options

Phase = Callable[[str], None]
"""Called with the name of each phase as it begins."""


@dataclass(frozen=True, slots=True)
class Work:
    """`name` is the model's, printable. `dump` observes stages common to all targets; `seconds` are times by phase."""

    name: str
    options: Options
    cache: Cache
    phase: Phase
    dump: Observer = ignore
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, name: str, detail: str = "") -> Iterator[None]:
        self.phase(f"{name} ({detail})" if detail else name)
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def observer(self, *targets: str) -> Observer:
        """The observer of these targets: it dumps if `--dump` names one of them."""
        dumped = self.options.dumped
        return self.dump if dumped is not None and dumped[0] in targets else ignore
