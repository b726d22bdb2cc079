"""Modules that multiply bytes: the integers of the others, from the same weights, on engines that take bytes so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from cli.command import run
from onnx_models import Array, model, node, onnxruntime_results
from webnn_compile.bundle import BYTE_VARIANTS
from webnn_compile.driver.build_wasm import runs_here
from webnn_compile.driver.cpu_target import CpuTarget
from webnn_compile.driver.optimise_model import import_graph, optimise_model
from webnn_compile.driver.options import Options
from webnn_compile.driver.targets import TARGETS
from webnn_compile.driver.work import Work
from webnn_compile.execution.wasm_model import WasmModel
from webnn_compile.pipeline.weights import Weights
from webnn_compile.system.cache import Cache


def network(most: int, *, unsigned: bool = False) -> onnx.ModelProto:
    """Padded convolutions of quanta with zero points, one of them between quantisers, a residual, and a product whose
    zero point is computed; weights are within `most`. `unsigned`: the same weights of integer products as uint8, which
    onnxruntime multiplies exactly on every processor: those of int8 saturate where it has AVX2 and no VNNI."""
    generator = np.random.default_rng(most)

    def integers(*shape: int) -> Array:
        return generator.integers(-most, most, shape).astype(np.int8)

    constants = {
        "w": integers(16, 3, 3, 3),
        "v": integers(16, 16, 3, 3),
        "u": integers(16, 1200),
        "s": np.float32(0.02),
        "z": np.asarray(114, np.uint8),
        "t": np.float32(0.03),
        "o": np.asarray(0, np.uint8),
        "r": np.float32(0.004),
        "n": np.asarray(0, np.int8),
    }
    if unsigned:
        constants |= {name: (constants[name].astype(np.int16) + 128).astype(np.uint8) for name in ("w", "u")}
        constants["m"] = np.asarray(128, np.uint8)
    zero = ["m"] if unsigned else []
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("ConvInteger", ["q", "w", "z", *zero], ["first"], pads=[1, 1, 1, 1]),
        node("Cast", ["first"], ["wide"], to=onnx.TensorProto.FLOAT),
        node("Mul", ["wide", "r"], ["scaled"]),
        node("Relu", ["scaled"], ["positive"]),
        node("QuantizeLinear", ["positive", "t", "o"], ["a"]),
        node("DequantizeLinear", ["a", "t", "o"], ["b"]),
        node("DequantizeLinear", ["v", "r", "n"], ["g"]),
        node("Conv", ["b", "g"], ["second"], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("ReduceMean", ["second"], ["pooled"], axes=[2, 3], keepdims=0),
        node("DynamicQuantizeLinear", ["pooled"], ["d", "e", "f"]),
        node("MatMulInteger", ["d", "u", "f", *zero], ["y"]),
    ]
    return model(nodes, {"x": [2, 3, 9, 7]}, {"y": onnx.TensorProto.INT32}, constants, opset=17)


def models_of(proto: onnx.ModelProto) -> dict[str, WasmModel]:
    """The modules that a build checks, by their names."""
    options = Options(targets=("wasm",), cache=False, verify=True)
    work = Work("network", options, Cache(None), lambda _: None)
    optimised = optimise_model(import_graph(proto, work), work)
    row = TARGETS["wasm"]
    assert isinstance(row, CpuTarget)
    build = row.bundle(row.lower(optimised, work), Weights(), work, optimised)
    return {m.backend: m for m in build.models}


@pytest.mark.parametrize("most", [64, 128])
def test_all_variants_compute_the_same(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On this processor unsigned bytes are exact where weights have seven bits, if at all."""
    if most == 64 and runs_here("narrow"):
        monkeypatch.setattr("webnn_compile.driver.build_wasm.runs_here", lambda _: True)
    proto = network(most)
    models = models_of(proto)
    names = {"wasm", "wasm-relaxed", "wasm-signed"}
    if most == 64 and runs_here("narrow"):
        names |= {"wasm-unsigned", "wasm-narrow"}
    assert {*models} == names
    x = np.random.default_rng(0).standard_normal((2, 3, 9, 7)).astype(np.float32)
    want = onnxruntime_results(network(most, unsigned=True), {"x": x})
    for name, compiled in models.items():
        got = compiled.run({"x": x})
        np.testing.assert_array_equal(got["y"], want["y"], err_msg=name)
        multiplied = {s.forms for s in compiled.program.launches if any("contraction" in f for f in s.forms)}
        bytes_ = {"wasm-signed": "int8 and int8", "wasm-unsigned": "uint8 and int8", "wasm-narrow": "uint8 and int8"}
        assert multiplied == {(f"contraction of {bytes_.get(name, 'int16 and int8')} in int32",)}, name


@pytest.mark.parametrize(("most", "variants"), [(64, BYTE_VARIANTS), (128, ("signed", "unsigned")), (0, ())])
def test_a_bundle_has_those_that_its_weights_allow(most: int, variants: tuple[str, ...], tmp_path: Path) -> None:
    """None of float32. They share the weights, of which those that are large ship once."""
    w = np.ones((16, 24), np.float32)
    floats = model([node("MatMul", ["x", "w"], ["y"])], {"x": [3, 16]}, ["y"], {"w": w})
    onnx.save(network(most) if most else floats, tmp_path / "m.onnx")
    done = run(tmp_path / "m.onnx", "--out", tmp_path / "out", "--targets", "wasm")
    assert done.exit_code == 0, done.output
    names = {p.name.split("-")[0] for p in (tmp_path / "out").glob("*.wasm")}
    assert names == {"relaxed", "plain", *variants}
    assert all(f"for {v} bytes" in done.output for v in variants)
    (shard,) = (tmp_path / "out").glob("weights-*.bin")
    constants = sum(
        np.prod(t.dims) * (4 if t.data_type == 1 else 1) for t in onnx.load(tmp_path / "m.onnx").graph.initializer
    )
    assert shard.stat().st_size < constants + 16 * 1200
