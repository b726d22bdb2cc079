"""States in float16 under `--precision f16`: which, what they take, and what is rounded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from cli.command import run
from drivers import need_driver
from half_states import DIMS, MOST, PAIRS, WIDTH, attention, drawn, results
from webnn_compile.dtypes import F16, F32
from webnn_compile.execution.device_model import DeviceModel

STORED = {"webgpu": F16, "opencl": F16, "cuda": F16, "webgl": F32}
"""Element types of the rows of caches in the memory of GPUs."""


def compiled(target: str, precision: str = "f16", model: onnx.ModelProto | None = None, **options: Any) -> Any:
    need_driver(target, "shader-f16")
    given = {"dims": DIMS, "states": PAIRS, **options}
    return webnn_compile.compile(model or attention(), target, precision=precision, **given)


@pytest.mark.parametrize("target", STORED)
def test_planned_bytes(target: str) -> None:
    """Rows that are added are halved; a running sum, and rows that move up, are not."""
    stored = []
    for precision in ("f32", "f16"):
        program = compiled(target, precision).program
        storages = {p.spec.name: program.storages[program.values[p.value].storage] for p in program.states}
        assert {p.spec.dtype for p in program.states} == {F32}
        assert program.state_bytes == sum(s.bytes for s in storages.values())
        stored.append({name: (s.dtype, s.bytes) for name, s in storages.items()})
    halved = {name for name, (dtype, _) in stored[1].items() if dtype == F16}
    assert halved == ({"k", "v"} if STORED[target] == F16 else set())
    for name, (dtype, size) in stored[0].items():
        assert dtype == F32
        assert stored[1][name][1] == (size // 2 if name in halved else size)
    if target != "webgl":
        assert stored[0]["k"][1] == 4 * WIDTH * MOST


@pytest.mark.parametrize("target", [*STORED, "native", "wasm"])
def test_runs_find_rows_that_were_rounded_once(target: str) -> None:
    """The steps of the sum are exact in float16, and the sum is not."""
    model, runs = compiled(target), drawn(24)
    wanted = list(results(runs))
    for inputs, (outputs, _) in zip(runs, wanted, strict=True):
        np.testing.assert_allclose(model.run(inputs)["y"], outputs["y"], rtol=4e-3, atol=4e-3)
    saved, (_, states) = model.save_state(), wanted[-1]
    for name, want in states.items():
        assert (saved[name].shape, saved[name].dtype) == (want.shape, np.float32)
    np.testing.assert_allclose(saved["total"], states["total"], rtol=1e-6)
    np.testing.assert_allclose(saved["last"], states["last"], rtol=1e-6)
    for name in ("k", "v"):
        np.testing.assert_allclose(saved[name], states[name], rtol=2**-10, atol=1e-5)
        rounded = saved[name].astype(np.float16).astype(np.float32)
        assert np.array_equal(saved[name], rounded) == (STORED.get(target) == F16)


def test_saved_states_go_from_one_target_and_precision_to_another() -> None:
    targets = [("native", "f32"), ("webgpu", "f16"), ("webgl", "f16"), ("opencl", "f16"), ("webgpu", "f32")]
    models = [compiled(target, precision) for target, precision in targets]
    runs = drawn(2 * len(models))
    saved: dict[str, np.ndarray] = {}
    for i, (inputs, (outputs, states)) in enumerate(zip(runs, results(runs), strict=True)):
        model = models[i % len(models)]
        if i:
            model.load_state(saved)
        np.testing.assert_allclose(model.run(inputs)["y"], outputs["y"], rtol=4e-3, atol=4e-3)
        saved = model.save_state()
        assert {name: a.dtype for name, a in saved.items()} == dict.fromkeys(states, np.dtype(np.float32))
        assert model.position == states["k"].shape[1]


def test_what_is_beyond_float16_is_loaded_as_its_largest() -> None:
    """As kernels store it. What is not finite stays."""
    model, odd = compiled("webgpu"), np.array([1e6, -1e6, np.inf, -np.inf, np.nan, 1e-9, 1 / 3], np.float32)
    inputs = drawn(1)[0]
    model.run(inputs)
    saved = model.save_state()
    saved["k"][0, 0, : len(odd)] = odd
    model.load_state(saved)
    found = model.fork()
    found.run(inputs)
    rows = found.save_state()["k"][0, 0, : len(odd)]
    np.testing.assert_array_equal(rows, [65504, -65504, np.inf, -np.inf, np.nan, 0, np.float16(1 / 3)])


def test_the_model_own_halves_are_kept() -> None:
    """A cache that is float16 in the model loses nothing in memory of float16."""
    nodes = [
        onnx.helper.make_node("Concat", ["k", "x"], ["k2"], axis=1),
        onnx.helper.make_node("ReduceSum", ["k2"], ["y"]),
    ]
    half, whole = onnx.TensorProto.FLOAT16, onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        nodes,
        "halves",
        [whole("x", half, [1, "S", WIDTH]), whole("k", half, [1, "P", WIDTH])],
        [whole("y", half, [1, 1, 1]), whole("k2", half, [1, "PS", WIDTH])],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    made = compiled("webgpu", model=model, states=["k=k2"])
    assert isinstance(made, DeviceModel)
    rows = np.random.default_rng(0).normal(size=(1, 30, WIDTH)).astype(np.float16)
    for at in range(0, 30, 3):
        made.run({"x": rows[:, at : at + 3]})
    np.testing.assert_array_equal(made.save_state()["k"], rows)
    assert {made.program.storages[made.program.values[p.value].storage].dtype for p in made.program.states} == {F16}


def test_the_table_and_the_card_say_how_much(tmp_path: Path) -> None:
    onnx.save(attention(), tmp_path / "model.onnx")
    sizes = [f"--dim={name}={a}..{b}" for name, (a, b) in DIMS.items()]
    options = [*sizes, *(f"--state={pair}" for pair in PAIRS), "--targets", "wasm,webgpu", "--verify"]
    report = tmp_path / "report.json"
    done = run(
        *(tmp_path / "model.onnx", "--out", tmp_path / "bundle", "--report", report, "--precision", "f16"), *options
    )
    assert done.exit_code == 0, done.output
    data = json.loads(report.read_text())
    device = data["targets"]["webgpu"]["bytes"]["states"]
    assert device == data["states"]["bytes"] - 2 * 2 * WIDTH * MOST
    said = " ".join(done.output.split())
    text = f"{data['states']['bytes'] / 1000:.1f} kB, {device / 1000:.1f} kB on webgpu"
    assert text in said
    assert f"{device / 1000:.1f} kB of it for the states of a session" in said
    assert f"{data['states']['bytes'] / 1000:.1f} kB for each session, {device / 1000:.1f} kB on webgpu" in (
        tmp_path / "bundle" / "index.html"
    ).read_text(encoding="utf-8")
