"""How a compiled model is compared with onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from onnx import TensorProto
from onnx_models import model, node, random
from webnn_compile.driver.verify import TOLERANCE, Reference, Runnable, largest_error, tolerance_of
from webnn_compile.dtypes import BOOL, F16, F32, I64
from webnn_compile.errors import InputError
from webnn_compile.values.draw_inputs import random_input

Array = np.ndarray[Any, np.dtype[Any]]


class Fake:
    """Computes what it is told to, from what the real model computes."""

    backend = "fake"

    def __init__(self, real: Runnable, change: Any) -> None:
        self.program = real.program
        self._real = real
        self._change = change

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        return {name: self._change(a) for name, a in self._real.run(inputs).items()}


def setting(proto: onnx.ModelProto, folder: Path) -> tuple[Reference, Runnable]:
    path = folder / "model.onnx"
    onnx.save(proto, path)
    compiled = webnn_compile.compile(path)
    return Reference(path, compiled.program.inputs), compiled


def test_sizes_that_vary_and_constants(tmp_path: Path) -> None:
    """Compared at the largest sizes and at others; an error that only these show is found."""
    path = tmp_path / "model.onnx"
    nodes = [node("Add", ["x", "bias"], ["s"]), node("Softmax", ["s"], ["y"])]
    onnx.save(model(nodes, {"x": ["batch", "length"], "bias": [1]}, ["y"]), path)
    constants = {"bias": np.asarray(3)}
    compiled = webnn_compile.compile(path, dims={"batch": 2, "length": (4, 64, 4)}, constants=constants)
    dimensions = compiled.program.dimensions
    reference = Reference(path, compiled.program.inputs, dimensions=dimensions, constants=constants)
    lengths = [run.inputs["x"].shape[1] for run in reference.runs]
    assert lengths[0] == 64 > lengths[1]
    assert lengths[1] % 4 == 0
    assert reference.compare(compiled).ok
    assert not reference.compare(Fake(compiled, lambda a: a if a.shape[1] == 64 else a + np.float32(0.1))).ok


def test_an_input_that_is_a_size(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    count = onnx.helper.make_tensor_value_info("n", TensorProto.INT64, [])
    proto = model([node("Range", ["zero", "n", "one"], ["y"])], {}, ["y"], {"zero": np.int64(0), "one": np.int64(1)})
    proto.graph.input.append(count)
    onnx.save(proto, path)
    compiled = webnn_compile.compile(path, dims={"n": (1, 9)})
    reference = Reference(path, compiled.program.inputs, dimensions=compiled.program.dimensions)
    assert reference.runs[0].inputs["n"] == 9
    assert reference.compare(compiled).ok


def test_tolerances_grow_with_what_rounds_more() -> None:
    assert TOLERANCE == tolerance_of(halves=False, winograd=False) < tolerance_of(halves=False, winograd=True)
    assert tolerance_of(halves=False, winograd=True) < tolerance_of(halves=True, winograd=False)
    assert tolerance_of(halves=True, winograd=False) == tolerance_of(halves=True, winograd=True)


def test_right_and_wrong_results(tmp_path: Path) -> None:
    nodes = [node("Exp", ["x"], ["y"]), node("Neg", ["x"], ["z"])]
    reference, right = setting(model(nodes, {"x": [2, 9]}, ["y", "z"]), tmp_path)
    found = reference.compare(right)
    assert (found.backend, found.ok, found.tolerance) == ("native", True, TOLERANCE)
    assert found.error < 1e-6
    wrong = reference.compare(Fake(right, lambda a: a + np.float32(0.1)))
    assert not wrong.ok
    assert wrong.error > TOLERANCE
    assert not reference.compare(Fake(right, lambda a: a * np.float32(np.nan))).ok
    assert not reference.compare(Fake(right, lambda a: a[:1])).ok


def test_the_worst_output_is_named(tmp_path: Path) -> None:
    nodes = [node("Exp", ["x"], ["y"]), node("Neg", ["x"], ["z"])]
    reference, right = setting(model(nodes, {"x": [2, 9]}, ["y", "z"]), tmp_path)
    wrong = Fake(right, lambda a: np.where(a < 0, a + np.float32(0.1), a))  # Exp is never negative
    assert reference.compare(wrong).output == "z"


def test_a_model_that_amplifies_rounding_is_given_more(tmp_path: Path) -> None:
    nodes = [node("Mul", ["x", "w"], ["m"]), node("Sin", ["m"], ["y"])]
    reference, right = setting(model(nodes, {"x": [64]}, ["y"], {"w": np.float32(3000)}), tmp_path)
    found = reference.compare(right)
    assert TOLERANCE < found.tolerance < 0.1
    assert not reference.compare(Fake(right, lambda a: -a)).ok


def test_integers_are_compared_too(tmp_path: Path) -> None:
    proto = model([node("Add", ["x", "x"], ["y"])], {"x": [64]}, ["y"], dtype=TensorProto.INT32)
    reference, right = setting(proto, tmp_path)
    assert reference.compare(right).error == 0
    assert not reference.compare(Fake(right, lambda a: a + 1)).ok


def test_model_that_onnxruntime_cannot_run(tmp_path: Path) -> None:
    (tmp_path / "bad.onnx").write_bytes(b"?")
    with pytest.raises(InputError, match=r"--verify: onnxruntime cannot run bad\.onnx: "):
        Reference(tmp_path / "bad.onnx", ())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([1, 2, 4], 0.0),
        ([1, 2, 4.4], 0.1),
        ([1, 2], np.inf),
        ([1, 2, np.nan], np.inf),
        ([1, 2, np.inf], np.inf),
    ],
)
def test_largest_error(value: list[float], expected: float) -> None:
    assert largest_error(np.array(value), np.array([1.0, 2, 4])) == pytest.approx(expected)


def test_largest_error_where_the_reference_is_not_finite() -> None:
    reference = np.array([np.nan, np.inf, -np.inf, 1])
    assert largest_error(reference, reference) == 0
    assert largest_error(-reference, reference) == np.inf
    assert largest_error(reference[:3], reference[:3]) == 0
    assert largest_error(np.zeros((0, 2)), np.zeros((0, 2))) == 0


def test_random_inputs_are_of_their_dtype_and_repeatable() -> None:
    for dtype in (F32, F16, I64, BOOL):
        first, second = (random_input(dtype, (3, 50), np.random.default_rng(0)) for _ in range(2))
        assert (first.dtype, first.shape) == (dtype.numpy, (3, 50))
        np.testing.assert_array_equal(first, second)
        assert len(np.unique(first)) > 1


def test_float16_inputs(tmp_path: Path) -> None:
    weights = {"w": random((8, 4)).astype(np.float16)}
    proto = model([node("MatMul", ["x", "w"], ["y"])], {"x": [3, 8]}, ["y"], weights, dtype=TensorProto.FLOAT16)
    reference, right = setting(proto, tmp_path)
    assert reference.compare(right).ok


def quantised(layers: int) -> onnx.ModelProto:
    """Convolutions between QuantizeLinear and DequantizeLinear, whose sums lie between two quanta here and there."""
    generator, nodes, weights, last = np.random.default_rng(0), [], {"zero": np.int8(0)}, "x"
    for i in range(layers + 1):
        weights[f"s{i}"] = np.float32(0.02 * (1 + i))
        nodes.append(node("QuantizeLinear", [last, f"s{i}", "zero"], [f"q{i}"]))
        nodes.append(node("DequantizeLinear", [f"q{i}", f"s{i}", "zero"], [f"d{i}"]))
        if i < layers:
            weights |= {
                f"w{i}": generator.integers(-127, 127, (8, 8, 3, 3)).astype(np.int8),
                f"ws{i}": np.float32(0.003),
            }
            nodes.append(node("DequantizeLinear", [f"w{i}", f"ws{i}", "zero"], [f"f{i}"]))
            nodes.append(node("Conv", [f"d{i}", f"f{i}"], [f"c{i}"], pads=[1, 1, 1, 1]))
            last = f"c{i}"
    return model(nodes, {"x": [1, 8, 12, 12]}, [f"d{layers}"], weights)


def test_a_quantum_is_no_error(tmp_path: Path) -> None:
    """Sums in another order fall to the next quantum now and then; onnxruntime's own, in int8 where it optimises, may
    even saturate, and say nothing of ours."""
    reference, compiled = setting(quantised(5), tmp_path)
    assert reference.compare(compiled).ok
    assert not reference.compare(Fake(compiled, lambda a: a * np.float32(1.2))).ok
