"""Measures the pieces of a trial beside each other, on a device whose clock is coarse and whose machine is shared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from ..records.tuning_record import Failure
from .device import LoadedModel
from .device_error import DeviceError
from .trial_model import is_measured, piece_of

Array = np.ndarray

WARMUP = 1
RESOLUTIONS = 100
"""Length of a measurement in units of the clock's resolution, so that it errs by at most 1%, unless the batch would
exceed LONGEST or MOST_REPEATS."""
LONGEST = 400.0
"""Milliseconds of one batch of launches of all pieces together, unless single ones take longer."""
MOST_REPEATS = 2000
FEWEST_ROUNDS, MOST_ROUNDS = 3, 15
TIGHT = 0.01
"""A ratio is known when its median is known so well."""
CONTENDER = 1.05
"""Only candidates within this factor of the best one need tight ratios."""
DISTURBED = 1.5
"""A round in which the default takes so many times its least time says nothing: a throttled or shared machine."""
PATIENCE = 60.0
"""Seconds for a call beyond what it should take."""


@dataclass(frozen=True, slots=True)
class Measured:
    """`ms` of a launch of the piece and `base` of the first piece, in the same rounds."""

    ms: float
    base: float

    @property
    def ratio(self) -> float:
        return self.ms / self.base


Outcome = Measured | tuple[Failure, str]


@dataclass(frozen=True, slots=True)
class Trial:
    """Outcomes by piece, after so many `rounds`, of which so many were `disturbed`."""

    outcomes: Mapping[int, Outcome]
    rounds: int
    disturbed: int


def measure_trial(
    model: LoadedModel,
    inputs: Mapping[str, Array],
    check: Callable[[Mapping[str, Array]], Mapping[int, str]],
    clock: float,
) -> Trial:
    """The time of each piece, in turns with that of piece 0, or that its results are wrong, by `check`. `clock`
    is the resolution in milliseconds. Raises DeviceError."""
    wrong = check(model.run(inputs, deadline=PATIENCE))
    rounds, count = _rounds(model, inputs, clock)
    outcomes: dict[int, Outcome] = {}
    base = [r[0] for r in rounds]
    for piece in rounds[0]:
        if piece in wrong:
            outcomes[piece] = ("wrong", wrong[piece])
            continue
        ratio = median(r[piece] / r[0] for r in rounds)
        outcomes[piece] = Measured(median(base) * ratio, median(base))
    return Trial(outcomes, count, count - len(rounds))


def _rounds(model: LoadedModel, inputs: Mapping[str, Array], clock: float) -> tuple[list[dict[int, float]], int]:
    """Times of the pieces by round, of those rounds that were not disturbed, and how many were made. Where hardly one
    was not, all count: ratios within a round say more than nothing."""
    for _ in range(WARMUP):
        _profile(model, inputs, 1, PATIENCE)
    repeat, deadline = _batch(model, inputs, clock)
    rounds: list[dict[int, float]] = []
    kept = rounds
    while len(kept) < MOST_ROUNDS and len(rounds) - len(kept) < MOST_ROUNDS:
        rounds.append(_profile(model, inputs, repeat, deadline))
        least = min(r[0] for r in rounds)
        kept = [r for r in rounds if r[0] <= DISTURBED * least]
        if len(kept) >= FEWEST_ROUNDS and _is_settled(kept):
            break
    return kept if len(kept) >= FEWEST_ROUNDS else rounds, len(rounds)


def _batch(model: LoadedModel, inputs: Mapping[str, Array], clock: float) -> tuple[int, float]:
    """Launches in a batch, and a deadline for it in seconds. Short launches are timed in batches already, since a
    clock may show nothing of a single one. Raises DeviceError."""
    repeat = 1
    while True:
        once = _profile(model, inputs, repeat, PATIENCE)
        shortest, together = min(once.values()), sum(once.values())
        ideal = min(RESOLUTIONS * clock / max(shortest, clock / repeat), LONGEST / max(together, clock), MOST_REPEATS)
        if ideal <= 1.5 * repeat:
            break
        repeat = round(ideal)
    if shortest <= 0:
        raise DeviceError("device", f"the device's clock shows no time for {repeat} launches")
    return repeat, PATIENCE + together * repeat / 100


def _is_settled(rounds: Sequence[Mapping[int, float]]) -> bool:
    """Whether the ratios of all pieces that may be the best are known."""
    ratios = {piece: [r[piece] / r[0] for r in rounds] for piece in rounds[0]}
    best = min(median(values) for values in ratios.values())
    return all(
        _interval(values) <= TIGHT * median(values)
        for values in ratios.values()
        if median(values) - _interval(values) <= CONTENDER * best
    )


def _interval(values: Sequence[float]) -> float:
    """The standard error of the median, by the median of deviations: 1.4826 * 1.2533 of it over the root of the
    number, as of normal distributions."""
    middle = median(values)
    return float(1.858 * median(abs(v - middle) for v in values) / len(values) ** 0.5)


def _profile(model: LoadedModel, inputs: Mapping[str, Array], repeat: int, deadline: float) -> dict[int, float]:
    """Milliseconds by piece."""
    times: dict[int, float] = {}
    for step in model.profile(inputs, repeat=repeat, deadline=deadline):
        piece = piece_of(str(step["name"]))
        if piece is not None and is_measured(str(step["name"])):
            times[piece] = times.get(piece, 0.0) + float(step["ms"])
    return times
