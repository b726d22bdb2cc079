"""Times of a model's kernels where they belong: in the whole model, between their neighbours."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

import numpy as np

from ..pipeline.lower_model import Lowered
from .device import DeviceError, LoadedModel
from .problem import group_of
from .session import LOAD, SearchSession, inputs_of
from .walk import Path

Array = np.ndarray
Chosen = tuple[Lowered, Mapping[str, Path]]
"""A lowered model, and the choices of its kernels by key."""

Times = Mapping[int, float]
"""Milliseconds by group."""

BATCH = 200.0
"""Milliseconds of runs in one measurement, about."""
MOST_REPEATS = 50


def time_groups(session: SearchSession, model: Chosen, rounds: int = 3) -> dict[int, float]:
    """Milliseconds of a run by group."""
    found = [times for (times,) in interleave(session, [model], rounds)]
    return {g: median(times[g] for times in found) for g in found[0]}


def interleave(session: SearchSession, models: Sequence[Chosen], rounds: int) -> list[list[Times]]:
    """By round and model, the times of its groups; models in turns. Raises DeviceError."""
    with contextlib.ExitStack() as opened:
        loaded = []
        for lowered, chosen in models:
            model = session.device.load(session.problem.whole(lowered, chosen), deadline=LOAD)
            opened.callback(_unload, model)
            loaded.append(model)
        inputs = inputs_of(models[0][0], "whole")
        longest = max(sum(_profile(m, inputs, 1).values()) for m in loaded)
        repeat = max(1, min(MOST_REPEATS, round(BATCH / max(longest, 1e-3))))
        return [[_profile(m, inputs, repeat) for m in loaded] for _ in range(rounds)]


def compare_runs(session: SearchSession, default: Chosen, tuned: Chosen, rounds: int) -> float:
    """The time of a run of the tuned model, in units of the default's: the median of ratios, of runs in turns. Raises
    DeviceError."""
    with contextlib.ExitStack() as opened:
        loaded = []
        for lowered, chosen in (default, tuned):
            model = session.device.load(session.problem.whole(lowered, chosen), deadline=LOAD)
            opened.callback(_unload, model)
            loaded.append(model)
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


def _unload(model: LoadedModel) -> None:
    with contextlib.suppress(DeviceError):
        model.unload()


def _profile(model: LoadedModel, inputs: Mapping[str, Array], repeat: int) -> dict[int, float]:
    found: dict[int, float] = {}
    for step in model.profile(inputs, repeat=repeat, deadline=LOAD):
        group = group_of(str(step["name"]))
        if group is not None:
            found[group] = found.get(group, 0.0) + float(step["ms"])
    return found
