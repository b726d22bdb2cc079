"""Records decide the schedules of a build: of exactly the kernels that they are of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import onnx
import pytest
import webnn_compile
from click.testing import CliRunner
from device_json import read_program
from drivers import need_driver
from onnx_models import assert_close, model, node, onnxruntime_results, random
from webnn_compile.choices import DEFAULT, Replay
from webnn_compile.cli.command import main
from webnn_compile.cli.report import describe_records
from webnn_compile.cpu.compile_for_cpu import plan_for_cpu
from webnn_compile.driver.build import build_manifest
from webnn_compile.driver.options import Options
from webnn_compile.driver.targets import TARGETS
from webnn_compile.errors import InputError
from webnn_compile.records.record_file import RecordWriter
from webnn_compile.records.record_use import RecordUse
from webnn_compile.records.recorded_choices import Best, RecordedChoices
from webnn_compile.records.tuning_record import TuningRecord
from webnn_compile.target import WASM_PLAIN, WASM_RELAXED
from webnn_compile.tune.probe import probe
from webnn_compile.tune.problem import KernelTask, Problem
from webnn_compile.tune.propose import History, propose


def network() -> onnx.ModelProto:
    """A product and a softmax, whose kernels differ, and a convolution by Winograd's algorithm."""
    nodes = [
        node("Conv", ["x", "k"], ["c"], "conv", pads=[1, 1, 1, 1]),
        node("Flatten", ["c"], ["f"], "flatten"),
        node("MatMul", ["f", "w"], ["m"], "dense"),
        node("Softmax", ["m"], ["y"], "softmax"),
    ]
    weights = {"k": random((16, 16, 3, 3)) * 0.1, "w": random((16 * 81, 20)) * 0.01}
    return model(nodes, {"x": [1, 16, 9, 9]}, ["y"], weights)


FEEDS = {"x": random((1, 16, 9, 9), 3)}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("model") / "net.onnx"
    onnx.save(network(), made)
    return made


def plant(file: Path, *records: TuningRecord) -> Path:
    writer = RecordWriter(file)
    for r in records:
        writer.append(r)
    writer.close()
    return file


def other_candidate(task: KernelTask, target: str) -> dict[str, Any]:
    """Choices that lead to other code than the default's."""

    def run(choices: Any) -> str:
        return probe(target, Options(), task.naive, task.placements, choices)

    default = run(Replay({}))
    for path, code in propose(run, History(), 8, Random(1)).candidates:
        if code != default:
            return dict(path)
    raise AssertionError("there is one schedule alone")


def record_of(task: KernelTask, target: str, choices: dict[str, Any], **fields: Any) -> TuningRecord:
    values = {"model": "net.onnx", "kernel": task.name, "ms": 0.5, "base": 1.0, "whole": 0.9, "device": "Chrome 1"}
    return TuningRecord("chosen", target=target, choices=choices, **{"key": task.key, **values, **fields})


def task_of(path: Path, target: str, word: str) -> KernelTask:
    problem = Problem(path, target, Options())
    lowered, _ = problem.lower()
    return next(t for t in problem.kernel_tasks(lowered) if word in t.name)


def kernels_of(path: Path, target: str, records: Sequence[Path]) -> list[str]:
    """The code of each kernel."""
    manifest = build_manifest(path, Options(targets=(target,), records=tuple(records), cache=False), lambda _: None)
    (program,) = (f for f in manifest.files if f.kind == "program")
    return [json.dumps(k) for k in read_program(program.data)["kernels"]]


@pytest.mark.parametrize("target", ["webgpu", "webgl"])
def test_a_record_changes_exactly_its_kernel(path: Path, tmp_path: Path, target: str) -> None:
    task = task_of(path, target, "matmul")
    choices = other_candidate(task, target)
    records = plant(tmp_path / "r.jsonl", record_of(task, target, choices))
    default, tuned = kernels_of(path, target, []), kernels_of(path, target, [records])
    assert len(set(default) - set(tuned)) == len(set(tuned) - set(default)) == 1


@pytest.mark.parametrize("target", ["webgpu", "webgl"])
def test_a_refused_record_changes_nothing(tmp_path: Path, target: str) -> None:
    """Equal kernels are one, as they are without the record."""
    path, nodes, before = tmp_path / "net.onnx", [], "x"
    for i in range(3):
        nodes += [node("MatMul", [before, f"w{i}"], [f"m{i}"]), node("Softmax", [f"m{i}"], [f"s{i}"])]
        before = f"s{i}"
    onnx.save(model(nodes, {"x": [4, 64]}, [before], {f"w{i}": random((64, 64), i) for i in range(3)}), path)
    problem = Problem(path, target, Options())
    tasks = problem.kernel_tasks(problem.lower()[0])
    (repeated,) = (t for t in tasks if len(t.groups) > 1 and "matmul" in t.name)
    refused = record_of(repeated, target, {next(iter(other_candidate(repeated, target))): 999})
    records = plant(tmp_path / "r.jsonl", refused)
    assert kernels_of(path, target, [records]) == kernels_of(path, target, [])


@pytest.mark.parametrize("target", ["native", "wasm", "wasm-relaxed", "webgpu", "webgl"])
def test_results_by_records(path: Path, tmp_path: Path, target: str) -> None:
    need_driver(target)
    tuned_as = "wasm" if target == "wasm-relaxed" else target
    problem = Problem(path, tuned_as, Options())
    lowered, _ = problem.lower()
    tasks = problem.kernel_tasks(lowered)
    found = []
    for task in tasks:
        try:
            found.append(record_of(task, tuned_as, other_candidate(task, tuned_as)))
        except AssertionError:
            continue
    assert len(found) > 1
    records = plant(tmp_path / "r.jsonl", *found)
    made = webnn_compile.compile(path, target, records=records, cache=False)
    assert made.backend == target
    assert_close(made.run(FEEDS), onnxruntime_results(network(), FEEDS), 1e-4)


def test_both_variants_of_wasm_share_weights_by_one_record(path: Path, tmp_path: Path) -> None:
    """Decisions that one of them lacks are the default ones there."""
    task = task_of(path, "wasm", "matmul")
    for seed in range(12):
        found = propose(lambda c: probe("wasm", Options(), task.naive, (), c), History(), 1, Random(seed)).candidates
        records = plant(tmp_path / f"{seed}.jsonl", record_of(task, "wasm", dict(found[0][0])))
        manifest = build_manifest(path, Options(targets=("wasm",), records=(records,)), lambda _: None)
        assert sum(f.kind == "wasm" for f in manifest.files) == 2


def test_a_layer_by_a_record(path: Path, tmp_path: Path) -> None:
    problem = Problem(path, "wasm", Options())
    lowered, layers = problem.lower()
    (conv,) = (t for t in layers if "winograd" in t.decisions)
    by_tiles = {tuple(r.tile) for r in lowered.rewritten}
    options = [o for o in conv.decisions["winograd"].options if o is not None and tuple(o) not in by_tiles]
    wanted = options[0]
    choices = {"winograd": wanted}
    records = plant(
        tmp_path / "r",
        TuningRecord("chosen", conv.key, "wasm", "Chrome 1", choices, "net.onnx", "conv", ms=0.5, base=1.0),
    )
    tuned = Problem(path, "wasm", Options(records=(records,)))
    work_lowered = TARGETS["wasm"].lower(tuned._optimised, tuned._work)
    assert [tuple(r.tile) for r in work_lowered.rewritten] == [tuple(wanted)]
    made = webnn_compile.compile(path, "wasm", records=[records])
    assert_close(made.run(FEEDS), onnxruntime_results(network(), FEEDS), 1e-3)


# What the command line says


def compile_with(path: Path, out: Path, *options: object) -> str:
    arguments = [str(path), "--out", str(out), "--targets", "wasm,webgl", *map(str, options)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


def test_the_report_says_what_became_of_records(path: Path, tmp_path: Path) -> None:
    problem = Problem(path, "wasm", Options())
    kernels = problem.kernel_tasks(problem.lower()[0])
    product, softmax = (next(t for t in kernels if word in t.name) for word in ("matmul", "softmax"))
    decision = next(iter(other_candidate(softmax, "wasm")))
    records = plant(
        tmp_path / "r.jsonl",
        record_of(product, "wasm", other_candidate(product, "wasm")),
        record_of(softmax, "wasm", {decision: 999}, kernel="the softmax"),
        TuningRecord(
            "chosen", "kernel-x", "wasm", "Chrome 1", {"rows": 1}, "net.onnx", "an old kernel", ms=0.5, base=1.0
        ),
        *(record_of(product, "webgl", {"rows": 1}, space=0, key=f"kernel-{i}", kernel=f"old {i}") for i in range(8)),
    )
    report = tmp_path / "report.json"
    said = compile_with(path, tmp_path / "out", "--records", records, "--report", report)
    assert "wasm: 1 of" in said
    assert "kernels by measurements on Chrome 1; measured 0.90 of the time by default" in said
    assert "wasm: not applied to the softmax: choices: " + decision + "=999 is none of" in said
    assert (
        "wasm: 1 records fit no kernel of this model any more, or by other options (an old kernel): tune again" in said
    )
    names = "old 0, old 1, old 2, old 3, old 4, old 5 and 2 more"
    assert f"webgl: 8 records are of another version of the choices ({names}): tune again" in said
    data = json.loads(report.read_text())["records"]
    assert data["wasm"]["kernels"] == [1, len(kernels)]
    assert data["wasm"]["devices"] == ["Chrome 1"]
    assert len(data["wasm"]["notes"]) == 3
    assert [x["kernel"] for x in data["wasm"]["dropped"]] == ["the softmax", "an old kernel"]
    assert f"{decision}=999 is none of" in data["wasm"]["dropped"][0]["reason"]
    outdated = {"kernel": "old 7", "reason": "it is of another version of the choices"}
    assert data["webgl"]["dropped"][7] == outdated


def test_a_long_list_of_refused_records_is_cut() -> None:
    best = {f"kernel-{i}": Best({}, 0.5, 1.0, ("A",), f"conv {i}", {}) for i in range(9)}
    use = RecordUse(RecordedChoices(best), dict.fromkeys(best, "no room"))
    assert list(describe_records(use, "net.onnx")) == [
        *(f"not applied to conv {i}: no room" for i in range(6)),
        "and 3 more are not applied; --report lists them",
    ]


@pytest.mark.parametrize(("layers", "said"), [(0, ""), (1, " and 1 layer"), (2, " and 2 layers")])
def test_layers_are_counted(layers: int, said: str) -> None:
    keys = ["kernel-0", *(f"layer-{i}" for i in range(layers))]
    best = {key: Best({}, 0.5, 1.0, ("A",), "conv", {"net.onnx": 0.5}) for key in keys}
    use = RecordUse(RecordedChoices(best), dict.fromkeys(best))
    (line,) = describe_records(use, "net.onnx")
    assert line == f"1 of 1 kernels{said} by measurements on A; measured 0.50 of the time by default"


def test_an_estimate_where_the_whole_was_measured_on_another_model(path: Path, tmp_path: Path) -> None:
    task = task_of(path, "wasm", "matmul")
    records = plant(tmp_path / "r", record_of(task, "wasm", other_candidate(task, "wasm"), model="other.onnx", ms=0.7))
    said = compile_with(path, tmp_path / "out", "--records", records)
    assert "estimated 0.70 of the time by default" in said


def test_an_estimate_where_records_are_of_several_devices(path: Path, tmp_path: Path) -> None:
    task = task_of(path, "wasm", "matmul")
    choices = other_candidate(task, "wasm")
    both = (record_of(task, "wasm", choices, device=device, ms=0.7, whole=0.9) for device in ("Chrome 1", "Firefox 9"))
    said = compile_with(path, tmp_path / "out", "--records", plant(tmp_path / "r", *both))
    assert "on Chrome 1, Firefox 9; estimated 0.70 of the time by default" in said


def test_records_of_other_targets_are_named(path: Path, tmp_path: Path) -> None:
    task = task_of(path, "wasm", "matmul")
    records = plant(tmp_path / "r", record_of(task, "wasm", other_candidate(task, "wasm")))
    said = compile_with(path, tmp_path / "out", "--records", records, "--targets", "webgl")
    assert "none is of a target of this bundle; they are of wasm" in said
    assert "fit no kernel" not in said
    said = compile_with(path, tmp_path / "both", "--records", records, "--targets", "webgl,wasm")
    assert "none is of a target" not in said


def test_without_records_nothing_is_said(path: Path, tmp_path: Path) -> None:
    assert "by measurements" not in compile_with(path, tmp_path / "out")


def test_records_for_a_device(path: Path, tmp_path: Path) -> None:
    task = task_of(path, "wasm", "matmul")
    choices = other_candidate(task, "wasm")
    records = plant(tmp_path / "r", record_of(task, "wasm", choices, device="Firefox 9 on Linux"))
    assert "on Firefox 9 on Linux;" in compile_with(
        path, tmp_path / "a", "--records", records, "--for-device", "firefox"
    )
    refused = CliRunner().invoke(
        main, [str(path), "--out", str(tmp_path / "b"), "--records", str(records), "--for-device", "Safari"]
    )
    assert refused.exit_code == 2
    assert (
        "--for-device Safari: the records are of Firefox 9 on Linux; name one of these, or part of it" in refused.output
    )
    assert not (tmp_path / "b").exists()


def test_options_that_cannot_work(path: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--for-device X chooses among records: give --records, too"):
        Options(for_device="X").check()
    (tmp_path / "empty").write_text("\n")
    result = CliRunner().invoke(main, [str(path), "--out", str(tmp_path / "b"), "--records", str(tmp_path / "empty")])
    assert result.exit_code == 2
    assert "/empty: the file is empty; measure with webnn-tune first, or leave it out" in result.output
    result = CliRunner().invoke(main, [str(path), "--out", str(tmp_path / "b"), "--records", str(tmp_path / "none")])
    assert result.exit_code == 2
    assert "No such file or directory; give a file of webnn-tune" in result.output


def test_a_record_that_no_variant_can_take_is_refused(path: Path) -> None:
    lowered, _ = Problem(path, "wasm", Options()).lower()
    plan = plan_for_cpu(lowered, [WASM_RELAXED, WASM_PLAIN], lambda *_: Replay({"rows": 999}))
    refused = [k for k in plan.values() if k.refusal is not None]
    assert refused
    assert all("rows=999 is none of" in str(k.refusal) for k in refused)
    assert all(k.choices == DEFAULT for k in refused)
