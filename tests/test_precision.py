"""`--precision f16`: half of the bytes, results within 2e-2 of onnxruntime's, a plain word where a device cannot."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
import webnn_compile
from click.testing import CliRunner
from drivers import need_driver
from onnx_models import Array, model, node, onnxruntime_results, random
from webnn_compile.cli.command import main
from webnn_compile.driver.verify import HALF_TOLERANCE, largest_error
from webnn_compile.dtypes import F16, F32
from webnn_compile.errors import InputError
from webnn_compile.execution.device_model import DeviceModel
from webnn_compile.gpu.choose_halves import FEW

DIGITS = Path(__file__).resolve().parent.parent / "examples" / "digits" / "resnet18_digits.onnx"
TARGETS = ("native", "wasm", "webgpu", "webgl", "opencl", "cuda")


def compiled(proto: onnx.ModelProto | Path, target: str) -> webnn_compile.NativeModel:
    need_driver(target, "shader-f16")
    return webnn_compile.compile(proto, target=target, precision="f16")


@pytest.mark.parametrize("target", TARGETS)
def test_a_network(target: str) -> None:
    feeds = {"image": np.random.default_rng(0).uniform(0, 1, (1, 1, 32, 32)).astype(np.float32)}
    made = compiled(DIGITS, target)
    got, want = made.run(feeds), onnxruntime_results(onnx.load(DIGITS), feeds)
    (error,) = (largest_error(got[name], value) for name, value in want.items())
    assert 1e-6 < error <= HALF_TOLERANCE
    if isinstance(made, DeviceModel):
        kernels = {f for k in made.program.kernels for f in k.features}
        assert kernels == ({"shader-f16"} if target == "webgpu" else set())
        assert {c.dtype for c in made.program.constants} == {F16, F32}


def network(channels: int = 32) -> onnx.ModelProto:
    """Two convolutions, statistics of rows, a mask: one of the values between is large."""
    nodes = [
        node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        node("Relu", ["a"], ["b"]),
        node("Conv", ["b", "v"], ["c"]),
        node("Softmax", ["c"], ["d"], axis=-1),
        node("Add", ["d", "b"], ["y"]),
        node("ReduceMean", ["b"], ["m"], axes=[1, 2, 3]),
    ]
    weights = {"w": random((channels, 3, 3, 3), 1), "v": random((channels, channels, 1, 1), 2)}
    return model(nodes, {"x": [1, 3, 24, 24]}, ["y", "m"], weights)


@pytest.mark.parametrize("target", TARGETS)
def test_reductions_and_maps(target: str) -> None:
    feeds = {"x": random((1, 3, 24, 24), 5)}
    want = onnxruntime_results(network(), feeds)
    for name, value in compiled(network(), target).run(feeds).items():
        assert largest_error(value, want[name]) <= HALF_TOLERANCE


def test_what_the_page_gives_and_takes_is_float32() -> None:
    need_driver("webgpu", "shader-f16")
    made = webnn_compile.compile(network(), target="webgpu", precision="f16")
    assert isinstance(made, DeviceModel)
    p = made.program
    elements = [p.storages[v.storage].dtype for v in p.values]
    assert F16 in elements
    for port in (*p.inputs, *p.outputs):
        assert elements[port.value] == F32
    for v, element in zip(p.values, elements, strict=True):
        if np.prod(v.shape) <= FEW and v.name not in ("w", "v"):
            assert element == F32, v
    whole = webnn_compile.compile(network(), target="webgpu")
    assert isinstance(whole, DeviceModel)
    assert made.program.bytes < whole.program.bytes
    assert not any(k.features for k in whole.program.kernels)


def test_large_masks_stay_finite() -> None:
    """-3e38 is beyond float16: it becomes the smallest one, and no product of it a NaN."""
    mask = np.where(np.random.default_rng(0).random((1, 90, 90)) < 0.5, np.float32(-3e38), np.float32(0))
    nodes = [
        node("Where", ["hide", "low", "x"], ["b"]),
        node("Softmax", ["b"], ["y"], axis=-1),
        node("Mul", ["b", "zero"], ["z"]),
    ]
    weights = {"hide": mask < 0, "low": np.float32(-3e38), "zero": np.zeros((1, 90, 90), np.float32)}
    proto = model(nodes, {"x": [1, 90, 90]}, ["y", "z"], weights)
    feeds = {"x": random((1, 90, 90), 3)}
    want = onnxruntime_results(proto, feeds)
    for name, value in compiled(proto, "webgpu").run(feeds).items():
        assert largest_error(value, want[name]) <= HALF_TOLERANCE


def half_model() -> tuple[onnx.ModelProto, Array]:
    """y = x @ w of float16."""
    w = random((64, 80), 1, np.float16)
    return model(
        [node("MatMul", ["x", "w"], ["y"])], {"x": [2, 64]}, ["y"], {"w": w}, dtype=onnx.TensorProto.FLOAT16
    ), w


@pytest.mark.parametrize("target", TARGETS)
def test_weights_of_a_float16_model_are_shipped_as_they_are(target: str) -> None:
    """Without any option: nothing is lost."""
    need_driver(target)
    proto, w = half_model()
    x = random((2, 64), 2, np.float16)
    made = webnn_compile.compile(proto, target=target)
    if isinstance(made, DeviceModel):
        assert [c.dtype for c in made.program.constants] == [F16]
    got = made.run({"x": x})["y"]
    want = x.astype(np.float64) @ w.astype(np.float64)
    assert got.dtype == np.float16
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=2e-2)


def test_an_adapter_without_halves_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    need_driver("webgpu")
    from webnn_compile.wgsl import device

    plain = device.open_device.__wrapped__
    monkeypatch.setattr(device, "FEATURES", ())
    monkeypatch.setattr(device, "open_device", plain)
    with pytest.raises(InputError, match="the model needs shader-f16, which this machine's adapter lacks"):
        webnn_compile.compile(network(), target="webgpu", precision="f16")
    with pytest.raises(InputError, match="precision 'half' is not known for the target native; choose one of f32, f16"):
        webnn_compile.compile(network(), precision="half")


def test_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(network(64), path)
    sizes = {}
    for precision in ("f32", "f16"):
        out, report = tmp_path / precision, tmp_path / f"{precision}.json"
        options = ["--precision", precision, "--report", str(report), "--verify"]
        done = CliRunner().invoke(main, [str(path), "--out", str(out), *options])
        assert done.exit_code == 0, done.output
        data = json.loads(report.read_text())
        assert data["precision"] == precision
        sizes[precision] = data["bytes"]["weights"]
        found = {v["backend"]: v for v in data["verified"]}
        assert all(v["error"] <= v["tolerance"] for v in found.values())
        (program,) = (json.loads(f.read_text()) for f in out.glob("webgpu-*.txt"))
        assert program["features"] == (["shader-f16"] if precision == "f16" else [])
        if precision == "f16":
            assert found["native"]["tolerance"] >= HALF_TOLERANCE
            assert "webgpu" in found or "webgpu was not compared: " in done.output
            assert "; what webgpu has in memory is float16, too" in " ".join(done.output.split())
    assert sizes["f16"] < 0.6 * sizes["f32"]


@pytest.mark.parametrize("target", TARGETS)
def test_infinities_of_the_model_stay(target: str) -> None:
    """Rows that are masked as a whole: softmax gives NaN, which the model turns to zeros."""
    nodes = [
        node("MatMul", ["x", "w"], ["a"]),
        node("Where", ["mask", "a", "lowest"], ["b"]),
        node("Softmax", ["b"], ["c"], axis=-1),
        node("IsNaN", ["c"], ["n"]),
        node("Where", ["n", "zero", "c"], ["d"]),
        node("MatMul", ["d", "v"], ["y"]),
    ]
    mask = np.random.default_rng(3).uniform(size=(96, 80)) < 0.5
    mask[10] = mask[95] = False
    weights = {"w": random((64, 80), 1), "v": random((80, 64), 2), "mask": mask}
    weights |= {"lowest": np.float32(-np.inf), "zero": np.float32(0)}
    proto = model(nodes, {"x": [96, 64]}, ["y"], weights)
    feeds = {"x": random((96, 64), 4)}
    (got,), (want,) = compiled(proto, target).run(feeds).values(), onnxruntime_results(proto, feeds).values()
    assert largest_error(got, want) <= HALF_TOLERANCE
    assert not got[10].any()


@pytest.mark.parametrize("target", TARGETS)
def test_positions_stay_exact(target: str) -> None:
    nodes = [
        node("Add", ["x", "rows"], ["a"]),
        node("Cast", ["a"], ["i"], to=onnx.TensorProto.INT64),
        node("Gather", ["table", "i"], ["y"]),
    ]
    weights = {"rows": np.arange(8000, dtype=np.float32), "table": random((8001, 2), 1)}
    proto = model(nodes, {"x": [8000]}, ["y"], weights)
    feeds = {"x": np.ones(8000, np.float32)}
    (got,) = compiled(proto, target).run(feeds).values()
    assert largest_error(got, onnxruntime_results(proto, feeds)["y"]) <= HALF_TOLERANCE


def test_verify_tells_of_a_model_that_wants_float32(tmp_path: Path) -> None:
    """Near 1000 float16s are 0.5 apart."""
    nodes = [node("Add", ["x", "c"], ["a"]), node("Sub", ["a", "d"], ["y"])]
    weights = {"c": np.full((1, 300), 1000.3, np.float32), "d": np.full((1, 300), 1000, np.float32)}
    path = tmp_path / "model.onnx"
    onnx.save(model(nodes, {"x": [1, 300]}, ["y"], weights), path)
    result = CliRunner().invoke(main, [str(path), "--out", str(tmp_path / "out"), "--precision", "f16", "--verify"])
    assert result.exit_code == 2
    assert "float16 is too coarse for this model: leave --precision f16 out" in result.output
    assert not (tmp_path / "out").exists()
