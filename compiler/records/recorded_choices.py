"""The choices of a build, from records: of each kernel and layer the best that was measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, log
from typing import Any, Protocol

from ..choices import DEFAULT, VERSION, Choices, Replay
from ..ir.nodes import Kernel
from ..tensor import Tensor
from .keys import key_of_kernel, key_of_layer
from .tuning_record import TuningRecord


@dataclass(frozen=True, slots=True)
class Best:
    """The best record of a key: `choices`, their time on `devices`, in units of the default's, and `base`
    milliseconds of all launches of a run by default. `whole` has by model what its records brought together, in the
    same unit."""

    choices: Mapping[str, Any]
    ratio: float
    base: float
    devices: tuple[str, ...]
    kernel: str
    whole: Mapping[str, float | None]


class TargetChoices(Protocol):
    """The choices of all kernels and layers that are compiled for a target."""

    def kernels(self, naive: Kernel, placements: Sequence[object] = ()) -> Choices: ...
    def layers(self, t: Tensor) -> Choices: ...


@dataclass(frozen=True, slots=True)
class RecordedChoices:
    """The choices of a target's kernels and layers, by their keys. `outdated` has the kernels of records that are of
    another version of the choices."""

    best: Mapping[str, Best]
    outdated: tuple[str, ...] = ()

    def kernels(self, naive: Kernel, placements: Sequence[object] = ()) -> Choices:
        best = self.best.get(key_of_kernel(naive, placements)) if self.best else None
        return DEFAULT if best is None else Replay(best.choices)

    def layers(self, t: Tensor) -> Choices:
        best = self.best.get(key_of_layer(t)) if self.best else None
        return DEFAULT if best is None else Replay(best.choices, lenient=True)


def choose_from_records(records: Iterable[TuningRecord], target: str, device: str | None = None) -> RecordedChoices:
    """By key the chosen candidate of the smallest geometric mean of its ratios over all devices that have records of
    that key. A device on which it was not measured counts as 1; one that failed on any of them is not chosen. Only of
    `device`, a device's name or part of it, where that is given."""
    own = [r for r in records if r.target == target and is_of(r, device)]
    by_key: dict[str, list[TuningRecord]] = {}
    for r in own:
        if r.space == VERSION:
            by_key.setdefault(r.key, []).append(r)
    best_by_key = {key: best for key, of in by_key.items() if (best := _best(of)) is not None}
    outdated = {r.key: r.kernel for r in own if r.space != VERSION and r.kind == "chosen"}
    return RecordedChoices(best_by_key, tuple(outdated.values()))


def is_of(record: TuningRecord, device: str | None) -> bool:
    """Whether `device` is the name of the record's device, or part of it."""
    return device is None or device.casefold() in record.device.casefold()


def _best(records: Sequence[TuningRecord]) -> Best | None:
    """None where no candidate is better than the default."""
    devices = sorted({r.device for r in records})
    failed = {r.candidate for r in records if r.failure is not None}
    candidates = {r.candidate: r.choices for r in records if r.kind == "chosen" and r.candidate not in failed}
    ratios: dict[str, dict[str, float]] = {c: {} for c in candidates}
    for r in sorted(records, key=lambda r: r.kind == "chosen"):  # those of whole models come last, and count
        if r.candidate in ratios and r.ratio is not None:
            ratios[r.candidate][r.device] = r.ratio
    means = {c: exp(fsum(log(max(on.get(d, 1.0), 1e-9)) for d in devices) / len(devices)) for c, on in ratios.items()}
    if not means:
        return None
    winner = min(means, key=lambda c: means[c])
    if means[winner] >= 1 or not candidates[winner]:
        return None
    own = [r for r in records if r.candidate == winner and r.base is not None]
    base = max((r.base * r.launches for r in own if r.base is not None), default=0.0)
    of = tuple(d for d in devices if d in ratios[winner])
    whole = {r.model: r.whole for r in records if r.kind == "chosen"}
    return Best(candidates[winner], means[winner], base, of, own[0].kernel if own else "", whole)
