"""Whole searches on this machine's processor, and on devices that fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
import pytest
from onnx_models import model, node, random
from webnn_compile.build.options import Options
from webnn_compile.errors import InputError
from webnn_compile.records.record_file import RecordWriter, read_records
from webnn_compile.records.tuning_record import TuningRecord
from webnn_compile.tune import tuner
from webnn_compile.tune.build_trial import TrialChoices
from webnn_compile.tune.device import DeviceError
from webnn_compile.tune.executors import SerialExecutor, open_executor
from webnn_compile.tune.native_program import NativeDevice, NativeProgram
from webnn_compile.tune.problem import Problem
from webnn_compile.tune.status import Settings, Status, Summary
from webnn_compile.tune.tuner import tune


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    nodes = [
        node("MatMul", ["x", "w"], ["m"], "dense"),
        node("Relu", ["m"], ["r"], "relu"),
        node("MatMul", ["r", "v"], ["y"], "second"),
    ]
    proto = model(nodes, {"x": [24, 96]}, ["y"], {"w": random((96, 200)), "v": random((200, 40))})
    made = tmp_path_factory.mktemp("model") / "net.onnx"
    onnx.save(proto, made)
    return made


def search(
    path: Path,
    records: Path,
    trials: int,
    device: Any = None,
    write: Callable[[TuningRecord], None] | None = None,
    observe: Callable[[Status], None] = lambda _: None,
) -> Summary:
    problem = Problem(path, "native", Options())
    known = read_records([records]).records if records.exists() else ()
    writer = RecordWriter(records)
    try:
        return tune(
            problem,
            device or NativeDevice(1, problem.cache),
            SerialExecutor(),
            Settings(trials=trials, batch=3),
            write or writer.append,
            known,
            observe,
        )
    finally:
        writer.close()


def trials_of(records: Path) -> list[TuningRecord]:
    return [r for r in read_records([records]).records if r.kind == "trial" and r.failure != "illegal"]


def test_a_search_ends_and_is_resumed(path: Path, tmp_path: Path) -> None:
    """No candidate is tried twice, none is lost, and trials of earlier runs count."""
    records = tmp_path / "r.jsonl"
    shown: list[tuple[str, int, float]] = []
    summary = search(path, records, 9, observe=lambda s: shown.append((s.phase, s.trials, s.gain)))
    assert summary.trials == len(trials_of(records)) == 9
    assert summary.tasks == 2
    assert shown[0][0] == "the model by default"
    assert shown[-1][0] == "done"
    assert [n for _, n, _ in shown] == sorted(n for _, n, _ in shown)
    again = search(path, records, 14)
    assert again.trials == len(trials_of(records)) == 14
    assert len({(r.key, r.candidate) for r in trials_of(records)}) == 14
    assert all(r.choices for r in trials_of(records))
    assert all(r.model == "net.onnx" and "matmul" in r.kernel for r in trials_of(records))
    for r in summary.chosen:
        assert summary.whole is not None
        assert r.whole == summary.whole < 1
        assert r.ratio is not None
        assert r.ratio < 1


def test_an_interrupted_search_goes_on(path: Path, tmp_path: Path) -> None:
    records = tmp_path / "r.jsonl"
    writer = RecordWriter(records)

    def interrupted(record: TuningRecord) -> None:
        writer.append(record)
        if len(trials_of(records)) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(path, records, 12, write=interrupted)
    writer.close()
    assert len(trials_of(records)) == 5
    assert search(path, records, 12).trials == len(trials_of(records)) == 12


class Faulty:
    """A device on which candidates with these choices fail, however they are loaded."""

    name, clock, variants = "faulty", 1e-4, ()

    def __init__(self, inner: NativeDevice, fails: Callable[[Any], bool], kind: str) -> None:
        self._inner, self._fails, self._kind = inner, fails, kind
        self.failed = 0

    def load(self, made: Any, *, deadline: float = 0) -> Any:
        assert isinstance(made, NativeProgram)
        if isinstance(made.choices, TrialChoices) and any(map(self._fails, made.choices.paths)):
            self.failed += 1
            raise DeviceError(self._kind, "planted")
        return self._inner.load(made)

    def show(self, status: Any) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.mark.parametrize(("kind", "failure"), [("timeout", "timeout"), ("lost", "lost"), ("device", "build")])
def test_the_candidate_at_fault_is_found(path: Path, tmp_path: Path, kind: str, failure: str) -> None:
    """Candidates are loaded together; one that hangs or loses the device spoils no other's measurement."""
    problem = Problem(path, "native", Options())
    device = Faulty(NativeDevice(1, problem.cache), lambda p: p.get("rows") in (1, 2), kind)
    search(path, tmp_path / "r", 14, device)
    trials = trials_of(tmp_path / "r")
    assert device.failed
    assert any(r.failure for r in trials)
    for r in trials:
        assert (r.failure == failure) == (r.choices.get("rows") in (1, 2)), r
    assert all(r.ratio for r in trials if not r.failure)


def test_a_device_that_is_lost_for_good_ends_the_search(path: Path, tmp_path: Path) -> None:
    problem = Problem(path, "native", Options())

    class Gone(Faulty):
        def load(self, made: Any, *, deadline: float = 0) -> Any:
            raise DeviceError("lost", "the tab is closed")

    with pytest.raises(DeviceError, match="the tab is closed"):
        search(path, tmp_path / "r", 4, Gone(NativeDevice(1, problem.cache), lambda _: True, "lost"))


def test_a_full_disk_ends_the_search(path: Path, tmp_path: Path) -> None:
    def full(_: TuningRecord) -> None:
        raise InputError("no space left")

    with pytest.raises(InputError, match="no space left"):
        search(path, tmp_path / "r", 4, write=full)


def test_builds_in_processes(path: Path, tmp_path: Path) -> None:
    problem = Problem(path, "native", Options())
    writer = RecordWriter(tmp_path / "r")
    with open_executor(1) as executor:
        found = tune(problem, NativeDevice(1, problem.cache), executor, Settings(trials=4, batch=2), writer.append)
    writer.close()
    assert found.trials == len(trials_of(tmp_path / "r")) == 4


def test_what_other_devices_chose_is_tried_first(path: Path, tmp_path: Path) -> None:
    records = tmp_path / "r.jsonl"
    search(path, records, 4)
    first = trials_of(records)[-1]
    other = TuningRecord("chosen", first.key, "native", "another", first.choices, ms=0.5, base=1.0)
    known = [other]
    problem = Problem(path, "native", Options())
    made: list[TuningRecord] = []
    tune(problem, NativeDevice(1, problem.cache), SerialExecutor(), Settings(trials=2, batch=1), made.append, known)
    assert first.candidate in {r.candidate for r in made}


def test_finalists_are_compared_in_the_whole_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is best by itself need not be between its neighbours; what is better nowhere is dropped."""
    in_place = {"a": {1: 1.2, 2: 0.9, 3: 0.8}, "b": {1: 0.995}, "c": {1: 0.7, 2: 0.9}}
    groups = {"a": (0, 3), "b": (1,), "c": (2,)}
    compared: list[int] = []

    def interleave(_: object, models: list[tuple[str, dict[str, dict[str, int]]]], rounds: int) -> list[Any]:
        compared.append(len(models))
        times = [
            {
                g: in_place[key][chosen[key]["rank"]] if key in chosen else 1.0
                for key, own in groups.items()
                for g in own
            }
            for _, chosen in models
        ]
        return [[{g: (1 + r) * ms for g, ms in one.items()} for one in times] for r in range(rounds)]

    monkeypatch.setattr(tuner, "interleave", interleave)
    tasks = [SimpleNamespace(key=key, groups=own) for key, own in groups.items()]
    session: Any = SimpleNamespace(problem=SimpleNamespace(kernel_tasks=lambda _: tasks))
    found = {
        key: [
            TuningRecord("chosen", key, "native", "here", {"rank": i}, model="net", kernel=key, ms=1.0, base=2.0)
            for i in ratios
        ]
        for key, ratios in in_place.items()
    }
    best = tuner._best_in_place(session, "lowered", found)  # type: ignore[arg-type]
    assert {key: (r.choices["rank"], r.ms) for key, r in best.items()} == {"a": (3, 1.6), "c": (1, 1.4)}
    assert compared == [4]
    assert tuner._best_in_place(session, "lowered", {}) == {}  # type: ignore[arg-type]
