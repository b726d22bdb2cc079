"""Whole searches on this machine's processor, and on devices that fail."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
import pytest
from onnx_models import model, node, random
from webnn_compile.choices import Replay
from webnn_compile.driver.options import Options
from webnn_compile.errors import InputError
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.records.record_file import RecordWriter, read_records
from webnn_compile.records.tuning_record import TuningRecord
from webnn_compile.tune import tuner
from webnn_compile.tune.device_error import DeviceError, DeviceGone
from webnn_compile.tune.executors import open_executor
from webnn_compile.tune.local_device import local_device
from webnn_compile.tune.native_program import NativeDevice, NativeProgram
from webnn_compile.tune.problem import Problem
from webnn_compile.tune.search_job import find_candidates
from webnn_compile.tune.search_job import search as build_and_search
from webnn_compile.tune.serial_executor import SerialExecutor
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
    executor: Executor | None = None,
    batch: int = 3,
) -> Summary:
    problem = Problem(path, "native", Options())
    known = read_records([records]).records if records.exists() else ()
    writer = RecordWriter(records)
    try:
        return tune(
            problem,
            device or NativeDevice(problem.cache),
            executor or SerialExecutor(),
            Settings(trials=trials, batch=batch),
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


@pytest.mark.parametrize("after", [0, 4])
def test_a_search_that_is_stopped_compares_what_it_has(path: Path, after: int) -> None:
    """Candidates that are being built are still measured."""
    problem = Problem(path, "native", Options())
    made: list[TuningRecord] = []
    phases: list[str] = []

    def stopped() -> bool:
        return sum(r.kind == "trial" for r in made) >= after

    settings = Settings(trials=200, batch=2, stopped=stopped)
    device = NativeDevice(problem.cache)
    found = tune(problem, device, SerialExecutor(), settings, made.append, observe=lambda s: phases.append(s.phase))
    assert after <= found.trials <= after + 8
    assert found.trials == sum(r.kind == "trial" and r.failure != "illegal" for r in made)
    assert not found.exhausted
    assert phases[-1] == "done"
    assert "the whole model" in phases


@pytest.mark.parametrize("target", ["opencl", "cuda"])
def test_gpus_of_this_machine_are_tuned(path: Path, tmp_path: Path, target: str) -> None:
    problem = Problem(path, target, Options())
    device = local_device(problem)
    made: list[TuningRecord] = []
    found = tune(problem, device, SerialExecutor(), Settings(trials=6, batch=2), made.append)
    trials = [r for r in made if r.kind == "trial" and r.failure != "illegal"]
    assert found.trials == len(trials) == 6
    assert {(r.target, r.device, r.failure) for r in trials} == {(target, device.name, None)}
    device.close()


@pytest.mark.parametrize("target", ["native", "opencl"])
def test_kernels_of_sizes_that_vary(tmp_path: Path, target: str) -> None:
    """They are measured at the largest sizes, their results compared; a build for the same sizes finds the records."""
    path = tmp_path / "net.onnx"
    nodes = [node("MatMul", ["x", "w"], ["m"], "dense"), node("Softmax", ["m"], ["y"], "softmax")]
    onnx.save(model(nodes, {"x": ["batch", "length", 24]}, ["y"], {"w": random((24, 40))}), path)
    inputs = model_inputs(dims={"batch": (1, 3), "length": (2, 32, 2)})
    problem = Problem(path, target, Options(inputs))
    device = local_device(problem)
    made: list[TuningRecord] = []
    tune(problem, device, SerialExecutor(), Settings(trials=6, batch=2), made.append)
    device.close()
    trials = [r for r in made if r.kind == "trial" and r.failure != "illegal"]
    assert len(trials) == 6
    assert {r.failure for r in trials} == {None}
    assert {r.kernel for r in trials} <= {
        f"{op} batchxlength{more}" for op, more in (("matmul", "x40"), ("softmax", ""), ("softmax", "x40"))
    }
    keys = {task.key for task in problem.kernel_tasks(problem.lower()[0])}
    assert {r.key for r in trials} <= keys


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


@pytest.mark.parametrize("trial", [True, False])
def test_an_interrupt_waits_for_no_answer_of_the_device(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trial: bool
) -> None:
    """A device in the middle of a long run would answer after it. Before, models are unloaded as their use ends."""
    inner = local_device(Problem(path, "native", Options()))
    loaded, unloaded = [], []

    class Running:
        name, clock, variants = "running", 1e-4, ()

        def load(self, made: Any, *, deadline: float) -> Any:
            model: Any = inner.load(made, deadline=deadline)
            monkeypatch.setattr(model, "unload", lambda: unloaded.append(model))
            loaded.append(model)
            if (made.lowered.name == "trial") == trial:
                monkeypatch.setattr(model, "profile", interrupt)
            return model

        def show(self, status: Status) -> None:
            pass

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(path, tmp_path / "r", 6, Running())
    assert len(loaded) == 1 + trial
    assert unloaded == loaded[:-1]


def _candidates(made: NativeProgram) -> list[Any]:
    chosen = [k.choices for k in (made.plan or {}).values()]
    return [c.record for c in chosen if isinstance(c, Replay)]


class Faulty:
    """A device on which candidates with these choices fail, however they are loaded."""

    name, clock, variants = "faulty", 1e-4, ()

    def __init__(self, inner: NativeDevice, fails: Callable[[Any], bool], kind: str) -> None:
        self._inner, self._fails, self._kind = inner, fails, kind
        self.failed = 0

    def load(self, made: Any, *, deadline: float = 0) -> Any:
        assert isinstance(made, NativeProgram)
        if made.lowered.name == "trial" and any(map(self._fails, _candidates(made))):
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
    device = Faulty(NativeDevice(problem.cache), lambda p: p.get("rows") in (1, 2), kind)
    search(path, tmp_path / "r", 14, device)
    trials = trials_of(tmp_path / "r")
    assert device.failed
    assert any(r.failure for r in trials)
    for r in trials:
        assert (r.failure == failure) == (r.choices.get("rows") in (1, 2)), r
    assert all(r.ratio for r in trials if not r.failure)


class Dying(SerialExecutor):
    """Its process dies of building some candidates, alone or beside others, and is started again."""

    def __init__(self, dies: Callable[[Any], bool]) -> None:
        self._dies = dies

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        job = args[0]
        paths = find_candidates(job).paths if fn is build_and_search else args[1] if len(args) > 1 else ()
        if not any(map(self._dies, paths)):
            return super().submit(fn, *args, **kwargs)
        failed: Future[Any] = Future()
        failed.set_exception(BrokenProcessPool())
        return failed


@pytest.mark.parametrize("batch", [1, 3])
def test_a_process_that_dies_is_one_candidates_failure(path: Path, tmp_path: Path, batch: int) -> None:
    executor = Dying(lambda p: p.get("rows") in (1, 2))
    search(path, tmp_path / "r", 14, executor=executor, batch=batch)
    trials = trials_of(tmp_path / "r")
    assert any(r.failure for r in trials)
    for r in trials:
        assert (r.failure == "build") == (r.choices.get("rows") in (1, 2)), r
        assert (r.message == "the process that built it ended") == (r.failure == "build")


def test_processes_are_started_again() -> None:
    with open_executor(1) as executor:
        with pytest.raises(BrokenProcessPool):
            executor.submit(os._exit, 1).result(60)
        assert executor.submit(len, "abc").result(60) == 3


@pytest.mark.parametrize(
    ("options", "name"),
    [(Options(threads=2), "faulty, 2 threads"), (Options(gpu_tiles="shared"), "faulty, shared tiles")],
)
def test_records_say_what_decides_times_besides_the_device(path: Path, options: Options, name: str) -> None:
    problem = Problem(path, "native", options)
    made: list[TuningRecord] = []
    device = Faulty(NativeDevice(problem.cache), lambda _: False, "lost")
    tune(problem, device, SerialExecutor(), Settings(trials=2, batch=1), made.append)
    assert {r.device for r in made} == {name}


def test_a_device_that_is_lost_for_good_ends_the_search(path: Path, tmp_path: Path) -> None:
    problem = Problem(path, "native", Options())

    class Gone(Faulty):
        def load(self, made: Any, *, deadline: float = 0) -> Any:
            raise DeviceError("lost", "the tab is closed")

    with pytest.raises(DeviceError, match="the tab is closed"):
        search(path, tmp_path / "r", 4, Gone(NativeDevice(problem.cache), lambda _: True, "lost"))


def test_a_candidate_is_not_at_fault_for_a_reload(path: Path, tmp_path: Path) -> None:
    """The tab is lost while one candidate is measured, and comes back; it is measured then."""
    problem = Problem(path, "native", Options())
    device = Faulty(NativeDevice(problem.cache), lambda p: bool(p) and device.failed < 1, "lost")
    made: list[TuningRecord] = []
    tune(problem, device, SerialExecutor(), Settings(trials=3, batch=1), made.append)
    assert device.failed == 1
    assert [r.failure for r in made if r.kind == "trial" and r.failure != "illegal"] == [None] * 3


@pytest.mark.parametrize("kind", ["lost", "timeout"])
def test_whole_models_are_measured_again_after_a_loss(path: Path, tmp_path: Path, kind: str) -> None:
    """A tab that is reloaded while the model by default is measured, and comes back."""
    error = DeviceError(kind, "reloaded")
    twice = losing(path, error, 2)
    assert search(path, tmp_path / "r", 3, twice).trials == 3
    assert twice.lost == 2
    for device, loads in ((losing(path, error, 3), 3), (losing(path, DeviceGone("reloaded"), 9), 1)):
        with pytest.raises(DeviceError, match="reloaded"):
            search(path, tmp_path / "ended", 3, device)
        assert device.lost == loads


class Losing(Faulty):
    """A device that fails so many times to load a whole model."""

    def __init__(self, inner: NativeDevice, error: DeviceError, times: int) -> None:
        super().__init__(inner, lambda _: False, "lost")
        self._error, self._times = error, times
        self.lost = 0

    def load(self, made: Any, *, deadline: float = 0) -> Any:
        if made.lowered.name != "trial" and self.lost < self._times:
            self.lost += 1
            raise self._error
        return super().load(made, deadline=deadline)


def losing(path: Path, error: DeviceError, times: int) -> Losing:
    return Losing(NativeDevice(Problem(path, "native", Options()).cache), error, times)


def test_a_full_disk_ends_the_search(path: Path, tmp_path: Path) -> None:
    def full(_: TuningRecord) -> None:
        raise InputError("no space left")

    with pytest.raises(InputError, match="no space left"):
        search(path, tmp_path / "r", 4, write=full)


def test_builds_in_processes(path: Path, tmp_path: Path) -> None:
    problem = Problem(path, "native", Options())
    writer = RecordWriter(tmp_path / "r")
    with open_executor(1) as executor:
        found = tune(problem, NativeDevice(problem.cache), executor, Settings(trials=4, batch=2), writer.append)
    writer.close()
    assert found.trials == len(trials_of(tmp_path / "r")) == 4


def test_what_other_devices_chose_is_tried_first(tmp_path: Path) -> None:
    path, records = tmp_path / "net.onnx", tmp_path / "r.jsonl"
    # One kernel: which one of several has the first trials depends on their times.
    onnx.save(model([node("MatMul", ["x", "w"], ["y"])], {"x": [24, 96]}, ["y"], {"w": random((96, 40))}), path)
    search(path, records, 4)
    first = trials_of(records)[-1]
    other = TuningRecord("chosen", first.key, "native", "another", first.choices, ms=0.5, base=1.0)
    known = [other]
    problem = Problem(path, "native", Options())
    made: list[TuningRecord] = []
    tune(problem, NativeDevice(problem.cache), SerialExecutor(), Settings(trials=2, batch=1), made.append, known)
    assert made[0].candidate == first.candidate


def test_finalists_are_compared_in_the_whole_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A candidate that is best by itself need not be in the model; one that is never better there is dropped."""
    in_place = {"a": {1: 1.2, 2: 0.9, 3: 0.8}, "b": {1: 0.995}, "c": {1: 0.7, 2: 0.9}}
    groups = {"a": (0, 3), "b": (1,), "c": (2,)}
    compared: list[int] = []
    most, refused = 9, ()

    def interleave(_: object, models: list[tuple[str, dict[str, dict[str, int]]]], rounds: int) -> list[Any]:
        compared.append(len(models))
        if len(models) > most or any(c.get("c", {}).get("rank") in refused for _, c in models):
            raise DeviceError("device", "out of memory")
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
    most = 2  # the device has no room for more: each beside the default
    assert tuner._best_in_place(session, "lowered", found) == best  # type: ignore[arg-type]
    assert compared[1:] == [4, 2, 2, 2]
    refused = (1,)  # it cannot run the best ones of all
    again = tuner._best_in_place(session, "lowered", found)  # type: ignore[arg-type]
    assert {key: r.choices["rank"] for key, r in again.items()} == {"a": 3, "c": 2}
