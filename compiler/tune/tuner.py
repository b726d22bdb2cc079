"""The search: layers, then kernels, then what won against the default in the whole model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace

from ..pipeline.lowered import Lowered
from ..records.tuning_record import TuningRecord
from .device import Device
from .device_error import DeviceError
from .problem import Problem
from .reference import Compute, by_this_processor
from .session import SearchSession
from .status import Settings, Status, Summary
from .tune_kernels import KernelSearch
from .tune_layers import ROUNDS, LayerSearch
from .whole_model import Chosen, Times, compare_runs, interleave, ratio_of, time_groups

CONFIRMING = 15
"""Rounds in which default and tuned model are compared."""
IN_PLACE = 0.99
"""The largest ratio to the default in the whole model: the least of several measurements errs by about 1%."""


def tune(
    problem: Problem,
    device: Device,
    executor: Executor,
    settings: Settings,
    write: Callable[[TuningRecord], None],
    earlier: Iterable[TuningRecord] = (),
    observe: Callable[[Status], None] = lambda _: None,
    compute: Compute = by_this_processor,
) -> Summary:
    """Searches schedules for a model on a device. `earlier` are records of runs before, whose trials are not repeated;
    `write` receives new ones as they come. `observe` is called with the status whenever it changes. `compute` as of
    SearchSession.

    Raises DeviceError where the device is lost for good, and what `write` raises.
    """
    session = SearchSession(problem, device, executor, settings, write, earlier, observe, compute)
    session.show("the model by default")
    lowered, layers = problem.lower()
    times = time_groups(session, (lowered, {}))
    default, tasks = sum(times.values()), 0
    of_layers: dict[str, TuningRecord] = {}
    if settings.layers and layers:
        layer_search = LayerSearch(session, lowered, layers, times)
        of_layers = {r.key: r for r in layer_search.run()}
        tasks += layer_search.tasks
        if of_layers:
            lowered, _ = problem.lower({key: r.choices for key, r in of_layers.items()})
            times = time_groups(session, (lowered, {}))
    kernel_search = KernelSearch(session, lowered, times, sum(times.values()) / max(default, 1e-9))
    of_kernels = kernel_search.run()
    exhausted = session.left > 0
    chosen, whole = _confirm(session, of_layers, of_kernels)
    s = session.status
    disturbed, tasks = s.disturbed / max(1, s.rounds), tasks + kernel_search.tasks
    return Summary(chosen, whole, tasks, s.trials, s.failed, disturbed, exhausted)


def _confirm(
    session: SearchSession,
    layers: Mapping[str, TuningRecord],
    kernels: Mapping[str, Sequence[TuningRecord]],
) -> tuple[tuple[TuningRecord, ...], float | None]:
    """Records what is better than the default in the whole model, too. Returns it, and the time of the model by it."""
    session.show("the whole model")
    problem = session.problem
    tuned, _ = problem.lower({key: r.choices for key, r in layers.items()})
    kept = _best_in_place(session, tuned, kernels)
    whole: float | None = None
    records: list[TuningRecord] = []
    if layers or kept:
        default, _ = problem.lower()
        chosen = {key: r.choices for key, r in kept.items()}
        whole = compare_runs(session, (default, {}), (tuned, chosen), CONFIRMING)
        if whole < 1:
            records = [replace(r, whole=whole) for r in (*layers.values(), *kept.values())]
    for r in records:
        session.write(r)
    session.show("done", gain=whole if records else 1.0)
    return tuple(records), whole


def _beside_default(
    session: SearchSession, default: Chosen, models: Sequence[Chosen]
) -> list[list[tuple[Times, Times]]]:
    """By model, rounds of times of the default's groups and its own; none of a model that the device cannot run."""
    try:
        rounds = interleave(session, [default, *models], ROUNDS)
    except DeviceError as error:
        if error.kind != "device":
            raise
        if len(models) == 1:
            return [[]]
        # Together they may need too much memory.
        return [pair for model in models for pair in _beside_default(session, default, [model])]
    return [[(r[0], r[i]) for r in rounds] for i in range(1, len(models) + 1)]


def _best_in_place(
    session: SearchSession, lowered: Lowered, of_kernels: Mapping[str, Sequence[TuningRecord]]
) -> dict[str, TuningRecord]:
    """By key, the candidate that is best between its neighbours, where it is better than the default there. The models
    that are compared have the best candidates by themselves of all kernels, the second best, and so on."""
    if not of_kernels:
        return {}
    most = max(len(records) for records in of_kernels.values())
    ranks = [{key: records[i] for key, records in of_kernels.items() if i < len(records)} for i in range(most)]
    models = [(lowered, {key: r.choices for key, r in rank.items()}) for rank in ranks]
    pairs = _beside_default(session, (lowered, {}), models)
    groups = {t.key: t.groups for t in session.problem.kernel_tasks(lowered)}
    best: dict[str, tuple[float, TuningRecord]] = {}
    for rank, rounds in zip(ranks, pairs, strict=True):
        for key, record in rank.items():
            own = groups.get(key, ())
            ratio = ratio_of(rounds, own, own) if own and rounds else 1.0
            if ratio < best[key][0] if key in best else ratio <= IN_PLACE:
                best[key] = ratio, record
    return {key: replace(record, ms=(record.base or 0.0) * ratio) for key, (ratio, record) in best.items()}
