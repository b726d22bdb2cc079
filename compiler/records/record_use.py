"""The use of a target's records in a build: which were met, taken or refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import fsum

from ..choices import Replay
from ..errors import ScheduleError
from ..pipeline.plan_kernels import KernelPlan
from ..tensor.layer_choices import LayerDecision
from .keys import key_of_kernel, key_of_layer
from .recorded_choices import Best, RecordedChoices


@dataclass(frozen=True, slots=True)
class RecordUse:
    """The records of `recorded` by the keys of a build: `refusals` has the keys that it `met`, and why the record of
    that key does not apply, None where it does or there is none."""

    recorded: RecordedChoices
    refusals: Mapping[str, str | None]

    @property
    def used(self) -> dict[str, Best]:
        """The records that apply."""
        best = self.recorded.best
        return {key: best[key] for key, reason in self.refusals.items() if key in best and reason is None}

    @property
    def refused(self) -> dict[str, str]:
        """The reasons why others do not."""
        return {key: reason for key, reason in self.refusals.items() if reason is not None}

    def count(self, kind: str) -> tuple[int, int]:
        """The number of this build's kernels or layers that records cover, and of all."""
        return tuple(sum(key.startswith(kind) for key in keys) for keys in (self.used, self.refusals))  # type: ignore[return-value]

    def estimate(self) -> float:
        """The time of the covered kernels, in units of that by default."""
        used = self.used.values()
        base = fsum(b.base for b in used)
        return fsum(b.base * b.ratio for b in used) / base if base else 1.0

    def missing(self, model: str) -> list[Best]:
        """Records of this model whose kernel or layer it does not have any more, or has by other options."""
        return [b for key, b in self.recorded.best.items() if key not in self.refusals and model in b.whole]


def use_of_records(recorded: RecordedChoices, decisions: Iterable[LayerDecision], plan: KernelPlan) -> RecordUse:
    """The use of records in a build that made these `decisions` about layers, and has the kernels of `plan`."""
    refusals: dict[str, str | None] = {}
    if recorded.best:
        for key, reason in (*_of_layers(recorded, decisions), *_of_kernels(plan)):
            refusals[key] = refusals.get(key) or reason
    return RecordUse(recorded, refusals)


def _of_layers(recorded: RecordedChoices, decisions: Iterable[LayerDecision]) -> Iterator[tuple[str, str | None]]:
    """A layer's recorded decisions apply one by one."""
    for d in decisions:
        key, reason = key_of_layer(d.tensor), None
        if key in recorded.best:
            try:
                Replay(recorded.best[key].choices).choose(d.name, d.decision.options)
            except ScheduleError as error:
                reason = str(error)
        yield key, reason


def _of_kernels(plan: KernelPlan) -> Iterator[tuple[str, str | None]]:
    for k in plan.values():
        yield key_of_kernel(k.naive, k.placements), k.refusal
