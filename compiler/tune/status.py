"""Settings, status and summary of a search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..records.tuning_record import TuningRecord
from .walk import Pick, first

BATCH = 6
"""Candidates in one trial."""


@dataclass(frozen=True, slots=True)
class Settings:
    """At most `trials` candidates, in at most `seconds`. With `layers` Winograd's tiles, bands and splits are searched,
    too. `pick` is what walks of the search start with. Once it is `stopped`, what was found is compared in the whole
    model, and nothing more is tried."""

    trials: int = 200
    seconds: float | None = None
    layers: bool = True
    seed: int = 0
    batch: int = BATCH
    pick: Pick = first
    stopped: Callable[[], bool] = lambda: False


@dataclass(slots=True)
class Status:
    """State of a search: of the `rounds` of measurements, `disturbed` ones do not count. `gain` is the estimated time
    of the model in units of the default's, `points` its history by trials, `left` the seconds left."""

    model: str
    target: str
    device: str
    phase: str = ""
    task: str = ""
    trials: int = 0
    of: int = 0
    failed: int = 0
    rounds: int = 0
    disturbed: int = 0
    gain: float = 1.0
    left: float | None = None
    points: list[tuple[int, float]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Summary:
    """`whole` is the time of the tuned model in units of the default's, in turns with it; None where nothing was
    chosen. `tasks` are kernels and layers; `trials` and `failed` count those of earlier runs, too. `disturbed` is the
    share of rounds in which another program had the processor, or it was throttled. `exhausted`: the search ended
    because no other schedule was worth a trial."""

    chosen: tuple[TuningRecord, ...]
    whole: float | None
    tasks: int
    trials: int
    failed: int
    disturbed: float
    exhausted: bool
