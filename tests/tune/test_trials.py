"""Kernels by themselves compute what they do in the model, beside each other and on every target."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
import pytest
from cli.command import EXAMPLE
from drivers import need_driver
from onnx_models import model, node, random
from webnn_compile.choices import DEFAULT, Replay
from webnn_compile.cpu.compile_for_cpu import plan_for_cpu
from webnn_compile.driver.device_target import DeviceTarget
from webnn_compile.driver.options import Options
from webnn_compile.driver.targets import TARGETS
from webnn_compile.dtypes import I32
from webnn_compile.errors import ScheduleError
from webnn_compile.gpu.compile_for_device import compile_for_device
from webnn_compile.ir.nodes import Buffer
from webnn_compile.native.jit import host_target
from webnn_compile.pipeline.weights import Weights
from webnn_compile.records.keys import key_of_kernel
from webnn_compile.tune import build_trial as build_module
from webnn_compile.tune import probe as probe_module
from webnn_compile.tune.build_trial import TrialChoices, TrialJob, build_trial, place_as
from webnn_compile.tune.native_program import NativeProgram
from webnn_compile.tune.probe import probe
from webnn_compile.tune.problem import KernelTask, Problem
from webnn_compile.tune.propose import History, propose
from webnn_compile.tune.reference import Reference, by_this_processor, check_results, reference_of
from webnn_compile.tune.session import _random, inputs_of
from webnn_compile.tune.trial_model import WARMUP, is_measured, piece_of, trial_model

TARGETS_TUNED = ("native", "webgpu", "webgl")


def network() -> onnx.ModelProto:
    """Odd sizes, a halo, a stride, a residual, a view, indices."""
    nodes = [
        node("Conv", ["x", "k1"], ["c1"], "first", pads=[1, 1, 1, 1]),
        node("Relu", ["c1"], ["r1"], "relu"),
        node("Conv", ["r1", "k2"], ["c2"], "second", pads=[1, 1, 1, 1]),
        node("Add", ["c2", "r1"], ["s"], "add"),
        node("MaxPool", ["s"], ["p"], "pool", kernel_shape=[3, 3], strides=[2, 2]),
        node("Reshape", ["p", "shape"], ["f"], "view"),
        node("MatMul", ["f", "w"], ["m"], "dense"),
        node("Gather", ["m", "at"], ["g"], "gather", axis=1),
        node("Softmax", ["g"], ["y"], "softmax"),
    ]
    weights = {
        "k1": random((10, 3, 3, 3)),
        "k2": random((10, 10, 3, 3), 1),
        "w": random((50, 21), 2) * 0.1,
        "shape": np.array([5, 50]),
        "at": np.array([0, 5, 20, 5]),
    }
    return model(nodes, {"x": [1, 3, 11, 11]}, ["y"], weights)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Any:
    made = tmp_path_factory.mktemp("model") / "net.onnx"
    onnx.save(network(), made)
    return made


def candidates(problem: Problem, task: KernelTask, count: int) -> list[Any]:
    found = propose(
        lambda c: probe(problem.target, problem.options, task.naive, task.placements, c), History(), count, Random(2)
    )
    return [path for path, _ in found.candidates]


def run(problem: Problem, job: TrialJob, inputs: Any) -> dict[str, Any]:
    row = problem.row
    choices = TrialChoices(job.paths)
    if problem.is_local:
        plan = plan_for_cpu(job.model, [host_target()], choices.kernels)
        return NativeProgram(job.model, plan).compile(None).run(inputs)
    assert isinstance(row, DeviceTarget)
    weights = Weights()
    row = place_as(row, job.placements)
    plan = row.plan(job.model, weights, problem._with(choices))
    made = row.run(compile_for_device(job.model, plan), weights.blob())
    assert made.backend == problem.target
    results = made.run(inputs)
    made.close()
    return dict(results)


@pytest.mark.parametrize("target", TARGETS_TUNED)
def test_candidates_beside_each_other_are_right(path: Any, target: str) -> None:
    """And by themselves they are the kernels of the model, so that records of them apply there."""
    need_driver(target)
    problem = Problem(path, target, Options())
    lowered, _ = problem.lower()
    tasks = problem.kernel_tasks(lowered)
    assert len(tasks) >= 5
    assert sum(len(t.groups) for t in tasks) == len(lowered.kernels)
    for task in tasks:
        paths = ({}, *candidates(problem, task, 3))
        trial = trial_model([task.piece] * len(paths), fill_halo=problem.fills_halos)
        job = TrialJob(target, trial, paths, problem.options, task.key, task.placements)
        built = build_trial(job)
        assert built.artifact is not None
        assert not built.failures, task.name
        inputs = inputs_of(trial, task.key)
        assert any(np.any(a) for a in inputs.values())
        results, reference = run(problem, job, inputs), reference_of(task.piece, inputs, by_this_processor)
        assert reference.results
        assert len(results) == len(paths) * len(reference.results)
        assert not check_results(results, reference, 1e-4), task.name


@pytest.mark.parametrize("target", ["native", "wasm", "webgpu"])
def test_layers_by_other_tiles_are_right(path: Any, target: str) -> None:
    need_driver(target)
    problem = Problem(path, target, Options())
    lowered, layers = problem.lower()
    layer = next(t for t in layers if "winograd" in t.decisions)
    for tile in layer.decisions["winograd"].options[:4]:
        other, _ = problem.lower({layer.key: {"winograd": tile}})
        default, candidate = problem.layer_pieces(layer, lowered, other)
        trial = trial_model([default, candidate], fill_halo=problem.fills_halos)
        inputs = inputs_of(trial, "layer")
        results = NativeProgram(trial).compile(None).run(inputs)
        reference = reference_of(default, inputs, by_this_processor)
        assert {piece_of(f"c{name[0]}_0") for name in results} == {0, 1}
        assert not check_results(results, reference, 1e-3)


def test_layers_that_fuse_differently_are_compared_by_what_they_compute_together() -> None:
    """By default the second convolution of each block is split, and the sum after it a kernel of its own; Winograd's
    algorithm takes both in."""
    problem = Problem(EXAMPLE, "webgpu", Options(targets=("webgpu",)))
    lowered, layers = problem.lower()
    layer = next(t for t in layers if t.name == "/layer3/layer3.0/conv2/Conv")
    other, _ = problem.lower({layer.key: {"winograd": (2, 2)}})
    default, candidate = problem.layer_pieces(layer, lowered, other)
    names = [[name.partition("_")[2] for name, _ in p.model.tensors.outputs] for p in (default, candidate)]
    assert names[0] == names[1] == ["/layer3/layer3.0/relu_1/Relu"]


def test_wrong_results_are_noticed() -> None:
    y = np.array([1.0, -2.0, 3.0], np.float32)
    reference = Reference({"y": y}, {"y": 1e-6})
    results = {"0_y": y, "1_y": y * 1.01, "2_y": np.full(3, np.nan, np.float32)}
    wrong = check_results(results | {"3_other": np.zeros(1, np.float32)}, reference, 1e-4)
    assert set(wrong) == {1, 2, 3}
    assert wrong[1].startswith("y errs by 0.01")
    assert set(check_results(results, Reference({"y": y}, {"y": 0.003}), 1e-4)) == {2}
    assert set(check_results(results, Reference({"y": y}, {"y": np.inf}), 1e-4)) == {2}


def test_what_operands_at_random_amplify_is_not_wrong(tmp_path: Path) -> None:
    """The sum of a Softmax's exponentials is never near 0, but that of operands drawn for them may be: another order of
    the same additions changes its quotient by more than the tolerance."""
    path = tmp_path / "net.onnx"
    onnx.save(model([node("Softmax", ["x"], ["y"])], {"x": [3, 40]}, ["y"], {}), path)
    problem = Problem(path, "native", Options())
    task = next(t for t in problem.kernel_tasks(problem.lower()[0]) if "inverse" in t.piece.model.tensors.outputs[0][0])
    ((name, _),) = task.piece.model.tensors.inputs
    summands = random((3, 40))
    summands[:, 0] -= summands.sum(axis=1) - np.float32(1e-4)
    reference = reference_of(task.piece, {name: summands}, by_this_processor)
    ((result, expected),) = reference.results.items()
    backwards = 1 / np.cumsum(summands[:, ::-1], axis=1)[:, -1].reshape(expected.shape)
    assert set(check_results({f"0_{result}": backwards}, Reference(reference.results, {result: 0}), 1e-4)) == {0}
    assert not check_results({f"0_{result}": backwards}, reference, 1e-4)
    assert set(check_results({f"0_{result}": 2 * expected}, reference, 1e-4)) == {0}


def test_results_of_which_nothing_is_known_are_wrong() -> None:
    results = {"c0_y": np.ones(3), "c0_t": np.ones(3), "c1_t": np.ones(3)}
    named = {name.removeprefix("c"): value for name, value in results.items()}
    reference = Reference({"y": np.ones(3)}, {"y": 0.0})
    assert check_results(named, reference, 1e-4) == {1: "none of its results has a reference"}


def test_inputs_of_integers_are_never_zeros_alone() -> None:
    made = Buffer("at", (3,), I32, values=(0, 1))
    assert all(_random(made, np.random.default_rng(seed)).any() for seed in range(50))


def test_a_fault_of_the_compiler_is_that_of_a_candidate(path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(path, "native", Options())
    task = problem.kernel_tasks(problem.lower()[0])[0]

    def fail(*_: object) -> None:
        raise KeyError("planted")

    monkeypatch.setattr(probe_module, "schedule_cpu", fail)
    with pytest.raises(ScheduleError, match="a fault of webnn-compile: KeyError: 'planted'"):
        probe("native", Options(), task.naive, task.placements, DEFAULT)
    monkeypatch.setattr(build_module, "_build", fail)
    job = TrialJob("native", trial_model([task.piece] * 2, fill_halo=False), ({}, {"rows": 1}), Options())
    kind, message = build_trial(job).failures[1]
    assert (kind, message) == ("build", "a fault of webnn-compile: KeyError: 'planted'")


def test_the_first_piece_is_launched_before_it_is_measured(path: Any) -> None:
    """Otherwise the default, which is first, is the one whose operands come from memory."""
    problem = Problem(path, "native", Options())
    lowered, _ = problem.lower()
    task = next(t for t in problem.kernel_tasks(lowered) if "matmul" in t.name)
    names = [k.name for k in trial_model([task.piece] * 2, fill_halo=True).kernels]
    launched = [name for name in names if piece_of(name) is not None]
    assert [piece_of(name) for name in launched] == [0] * WARMUP + [0, 1]
    assert [is_measured(name) for name in launched] == [False] * WARMUP + [True, True]
    assert len(names) == len(set(names))
    assert all(names.index(name) < names.index(launched[0]) for name in names if name.startswith("in"))


def test_a_candidate_that_is_not_legal_fails_alone(path: Any) -> None:
    problem = Problem(path, "native", Options())
    lowered, _ = problem.lower()
    task = next(t for t in problem.kernel_tasks(lowered) if "matmul" in t.name)
    trial = trial_model([task.piece] * 3, fill_halo=True)
    built = build_trial(TrialJob("native", trial, ({}, {"rows": 999}, {"rows": 1}), problem.options, task.key))
    assert built.artifact is not None
    assert set(built.failures) == {1}
    kind, message = built.failures[1]
    assert kind == "illegal"
    assert "rows=999 is none of" in message


def test_another_kernel_than_in_the_model_is_no_measurement(path: Any) -> None:
    problem = Problem(path, "native", Options())
    lowered, _ = problem.lower()
    task = problem.kernel_tasks(lowered)[0]
    trial = trial_model([task.piece] * 2, fill_halo=True)
    built = build_trial(TrialJob("native", trial, ({}, {}), problem.options, "kernel-other"))
    assert built.failures[1] == ("build", "by itself it is another kernel than in the model")


def test_keys_of_pieces_are_those_of_the_model(path: Any) -> None:
    problem = Problem(path, "wasm", Options())
    lowered, _ = problem.lower()
    for task in problem.kernel_tasks(lowered):
        (own,) = task.piece.groups
        assert key_of_kernel(task.piece.model.kernels[own]) == task.key
        assert isinstance(Replay({}), Replay)


def test_targets_that_are_tuned() -> None:
    from webnn_compile.tune.problem import TUNED

    assert TUNED == ("native", "wasm", "webgpu", "webgl", "opencl", "cuda")
    assert set(TUNED) <= set(TARGETS)
