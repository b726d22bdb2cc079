"""Models with states as search problems: each run is given what is kept, and records fit the kernels of a build."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import webnn_compile
from onnx_models import model, node, random
from webnn_compile.driver.device_target import DeviceTarget
from webnn_compile.driver.optimise_model import import_graph, optimise_model
from webnn_compile.driver.options import Options
from webnn_compile.driver.targets import TARGETS
from webnn_compile.driver.work import Work
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.pipeline.weights import Weights
from webnn_compile.records.keys import key_of_kernel
from webnn_compile.records.record_file import RecordWriter
from webnn_compile.system.cache import open_cache
from webnn_compile.tune.local_device import local_device
from webnn_compile.tune.problem import Problem
from webnn_compile.tune.serial_executor import SerialExecutor
from webnn_compile.tune.status import Settings
from webnn_compile.tune.tuner import tune

DIMS = {"S": (1, 4), "P": (0, 60)}
OPTIONS = Options(model_inputs(None, DIMS))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Attention to cached rows, and a state of fixed size."""
    nodes = [
        node("MatMul", ["x", "k"], ["n"], "keys"),
        node("Concat", ["past_0", "n"], ["present_0"], "append", axis=1),
        node("Transpose", ["present_0"], ["t"], "turn", perm=[0, 2, 1]),
        node("MatMul", ["x", "t"], ["s"], "scores"),
        node("Softmax", ["s"], ["p"], "softmax", axis=-1),
        node("MatMul", ["p", "present_0"], ["a"], "values"),
        node("ReduceMean", ["a", "axis"], ["m"], "mean"),
        node("Add", ["m", "past_1"], ["present_1"], "sum"),
        node("MatMul", ["present_1", "o"], ["y"], "out"),
    ]
    weights = {"k": random((32, 32)) / 6, "o": random((32, 48), 1) / 6, "axis": np.array([1])}
    inputs = {"x": (1, "S", 32), "past_0": (1, "P", 32), "past_1": (1, 1, 32)}
    proto = model(nodes, inputs, ["y", "present_0", "present_1"], weights, opset=18)
    made = tmp_path_factory.mktemp("model") / "decoder.onnx"
    onnx.save(proto, made)
    return made


@pytest.mark.parametrize("target", ["native", "wasm", "webgpu", "webgl"])
def test_tasks_are_kernels_of_the_build(path: Path, target: str) -> None:
    """All but those that store what a run leaves: a problem copies the rows behind others, and keeps nothing."""
    row, work = TARGETS[target], Work("decoder", OPTIONS, open_cache(enabled=True), lambda _: None)
    built = row.lower(optimise_model(import_graph(path, work), work), work)
    assert [str(s) for s in built.tensors.states] == ["past_0=present_0", "past_1=present_1"]
    kernels = [(k, ()) for k in built.kernels]
    if isinstance(row, DeviceTarget):
        kernels = [(k.naive, k.placements) for k in row.plan(built, Weights(), work).kernels.values()]
    problem = Problem(path, target, OPTIONS)
    tasks = problem.kernel_tasks(problem.lower()[0])
    keys = {key_of_kernel(*k): k[0] for k in kernels}
    assert {t.key for t in tasks} <= keys.keys()
    assert {"concat", "copy"} <= {k.name for key, k in keys.items() if key not in {t.key for t in tasks}}


def test_a_search_and_its_records(path: Path, tmp_path: Path) -> None:
    problem = Problem(path, "native", OPTIONS)
    writer = RecordWriter(tmp_path / "r.jsonl")
    settings = Settings(trials=6, batch=2)
    summary = tune(problem, local_device(problem), SerialExecutor(), settings, writer.append)
    writer.close()
    assert summary.trials == 6
    default = webnn_compile.compile(path, dims=DIMS)
    tuned = webnn_compile.compile(path, dims=DIMS, records=tmp_path / "r.jsonl")
    for seed in range(4):
        x = random((1, 1 + seed % 3, 32), seed)
        np.testing.assert_allclose(tuned.run({"x": x})["y"], default.run({"x": x})["y"], rtol=1e-4, atol=1e-4)
