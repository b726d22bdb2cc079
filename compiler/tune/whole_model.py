"""Times of a model's kernels where they belong: in the whole model, between their neighbours."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import TypeVar

import numpy as np

from ..pipeline.lowered import Lowered
from .device import LoadedModel
from .device_error import DeviceError, DeviceGone
from .problem import group_of
from .session import LOAD, SearchSession, inputs_of
from .walk import Path

T = TypeVar("T")
Array = np.ndarray
Chosen = tuple[Lowered, Mapping[str, Path]]
"""A lowered model, and the choices of its kernels by key."""

Times = Mapping[int, float]
"""Milliseconds by group."""

BATCH = 200.0
"""Milliseconds of runs in one measurement, about."""
MOST_REPEATS = 50
ATTEMPTS = 3
"""To measure whole models, of which none is at fault where the device is lost: a tab was reloaded, say."""


def time_groups(session: SearchSession, model: Chosen, rounds: int = 3) -> dict[int, float]:
    """Milliseconds of a run by group."""
    rounds_of_times = [times for (times,) in interleave(session, [model], rounds)]
    return {g: median(times[g] for times in rounds_of_times) for g in rounds_of_times[0]}


def _repeated(measure: Callable[[], T]) -> T:
    """Repeats a measurement where the device was lost meanwhile or did not answer, and has come back."""
    for _ in range(ATTEMPTS - 1):
        try:
            return measure()
        except DeviceGone:
            raise
        except DeviceError as error:
            if error.kind == "device":
                raise
    return measure()


def interleave(session: SearchSession, models: Sequence[Chosen], rounds: int) -> list[list[Times]]:
    """By round and model, the times of its groups; models in turns. Raises DeviceError."""
    return _repeated(lambda: _interleave(session, models, rounds))


def _interleave(session: SearchSession, models: Sequence[Chosen], rounds: int) -> list[list[Times]]:
    with contextlib.ExitStack() as opened:
        loaded = []
        for lowered, chosen in models:
            loaded.append(opened.enter_context(session.load(session.problem.whole(lowered, chosen))))
        inputs = inputs_of(models[0][0], "whole")
        longest = max(sum(_profile(m, inputs, 1).values()) for m in loaded)
        repeat = max(1, min(MOST_REPEATS, round(BATCH / max(longest, 1e-3))))
        return [[_profile(m, inputs, repeat) for m in loaded] for _ in range(rounds)]


def compare_runs(session: SearchSession, default: Chosen, tuned: Chosen, rounds: int) -> float:
    """The time of a run of the tuned model, in units of the default's: the median of ratios, of runs in turns. Raises
    DeviceError."""
    return _repeated(lambda: _compare_runs(session, default, tuned, rounds))


def _compare_runs(session: SearchSession, default: Chosen, tuned: Chosen, rounds: int) -> float:
    with contextlib.ExitStack() as opened:
        loaded = []
        for lowered, chosen in (default, tuned):
            loaded.append(opened.enter_context(session.load(session.problem.whole(lowered, chosen))))
        inputs = inputs_of(default[0], "whole")
        for m in loaded:
            m.run(inputs, deadline=LOAD)
        before, after = loaded
        pairs = [(before.time(inputs, deadline=LOAD), after.time(inputs, deadline=LOAD)) for _ in range(rounds)]
        return median(b / a for a, b in pairs)


def ratio_of(rounds: Iterable[Sequence[Times]], before: Iterable[int], after: Iterable[int]) -> float:
    """The time of the groups `after` in the second model, in units of those `before` in the first."""
    b, a = list(before), list(after)
    pairs = [(sum(x.get(g, 0.0) for g in b), sum(y.get(g, 0.0) for g in a)) for x, y in rounds]
    return median(tuned / max(default, 1e-9) for default, tuned in pairs)


def _profile(model: LoadedModel, inputs: Mapping[str, Array], repeat: int) -> dict[int, float]:
    times: dict[int, float] = {}
    for step in model.profile(inputs, repeat=repeat, deadline=LOAD):
        group = group_of(str(step["name"]))
        if group is not None:
            times[group] = times.get(group, 0.0) + float(step["ms"])
    return times
