"""Measurements in turns, on clocks that are coarse and machines that are shared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from webnn_compile.tune.device_error import DeviceError
from webnn_compile.tune.measure import MOST_ROUNDS, Measured, measure_trial

Times = Callable[[int], Sequence[float]]


class Scripted:
    """A model whose pieces take so many milliseconds in each call."""

    def __init__(self, times: Times, clock: float = 0.0) -> None:
        self._times, self._clock = times, clock
        self.repeats: list[int] = []

    def run(self, inputs: Mapping[str, Any], *, deadline: float) -> dict[str, Any]:
        return {}

    def profile(self, inputs: Mapping[str, Any], *, repeat: int, deadline: float) -> list[dict[str, Any]]:
        times = self._times(len(self.repeats))
        self.repeats.append(repeat)
        before = [{"name": name, "ms": 99.0} for name in ("in0", "c0_0_1", "c0_0_2")]
        steps = [*before, *({"name": f"c{i}_0", "ms": ms} for i, ms in enumerate(times))]
        if self._clock:
            for s in steps:
                s["ms"] = round(float(s["ms"]) * repeat / self._clock) * self._clock / repeat
        return steps

    def time(self, inputs: Mapping[str, Any], *, deadline: float) -> float:
        return sum(self._times(len(self.repeats)))

    def unload(self) -> None:
        pass


def ratios(model: Scripted, clock: float = 0.005) -> dict[int, float]:
    found = measure_trial(model, {}, lambda _: {}, clock).outcomes
    assert all(isinstance(m, Measured) for m in found.values())
    return {i: m.ratio for i, m in found.items() if isinstance(m, Measured)}


def test_drift_does_not_decide() -> None:
    """A machine that slows down by half, round by round, slows all candidates down."""
    found = ratios(Scripted(lambda call: [ms * (1 + 0.03 * call) for ms in (1.0, 0.9, 1.2)]))
    assert found == pytest.approx({0: 1.0, 1: 0.9, 2: 1.2})


def test_disturbed_rounds_say_nothing() -> None:
    """In every third round another program takes the machine while the default runs."""
    disturbed = Scripted(lambda call: [3.0 if call % 3 == 2 else 1.0, 0.95, 1.2])
    assert ratios(disturbed) == pytest.approx({0: 1.0, 1: 0.95, 2: 1.2})
    trial = measure_trial(disturbed, {}, lambda _: {}, 0.005)
    assert 0 < trial.disturbed < trial.rounds


def test_on_a_machine_that_is_always_disturbed_all_rounds_count() -> None:
    """The default was undisturbed once only: its ratio of that round would decide alone."""
    found = ratios(Scripted(lambda call: [1.0, 0.5] if call == 3 else [2.0, 1.8]))
    assert found == pytest.approx({0: 1.0, 1: 0.9})


def test_a_coarse_clock_is_read_less_often() -> None:
    """Kernels of 50 us by a clock of 100 us: launches together take a hundred times its resolution."""
    model = Scripted(lambda _: [0.05, 0.04], clock=0.1)
    assert ratios(model, clock=0.1)[1] == pytest.approx(0.8, rel=0.02)
    assert model.repeats[-1] * 0.04 >= 100 * 0.1


def test_launches_that_the_clock_does_not_show() -> None:
    """Launches of 4 us, which a clock of 100 us shows as nothing."""
    model = Scripted(lambda _: [0.004, 0.003], clock=0.1)
    assert ratios(model, clock=0.1)[1] == pytest.approx(0.75, rel=0.05)
    with pytest.raises(DeviceError, match="clock shows no time for 2000 launches"):
        ratios(Scripted(lambda _: [0.0, 0.0]))


def test_long_kernels_run_once_in_a_round() -> None:
    model = Scripted(lambda _: [900.0, 800.0])
    ratios(model)
    assert set(model.repeats) == {1}


def test_rounds_go_on_while_contenders_are_not_told_apart() -> None:
    steady = Scripted(lambda _: [1.0, 0.9, 0.91])
    noisy = Scripted(lambda call: [1.0, 0.9 + 0.1 * (call % 2), 0.95 - 0.1 * (call % 3)])
    loser = Scripted(lambda call: [1.0, 5.0 + call % 2])
    for model in (steady, noisy, loser):
        ratios(model)
    assert len(steady.repeats) == len(loser.repeats) < len(noisy.repeats) <= MOST_ROUNDS + 2


def test_wrong_results_have_no_time() -> None:
    found = measure_trial(Scripted(lambda _: [1.0, 0.1]), {}, lambda _: {1: "y errs by 2"}, 0.005).outcomes
    assert found[1] == ("wrong", "y errs by 2")
    assert isinstance(found[0], Measured)
