"""How a compiled model is compared with onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from decoder_models import CAUSAL_DECODERS, MERGED_DECODERS, STEPS
from drivers import need_driver
from onnx import TensorProto
from onnx_models import model, node, random
from state_rows import ROWS, Row
from webnn_compile.custom import Call, Tensor, operator, pointwise
from webnn_compile.custom.load_operators import OperatorsLike, operators_of
from webnn_compile.driver.draw_runs import kept_of
from webnn_compile.driver.verify import TOLERANCE, Comparison, Reference, Runnable, largest_error, tolerance_of
from webnn_compile.dtypes import BOOL, F16, F32, I64
from webnn_compile.errors import InputError
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.keep_states import keep_states
from webnn_compile.program.program import TensorSpec
from webnn_compile.program.states import StateFullError
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


def reference_of(
    proto: onnx.ModelProto,
    dims: Mapping[str, Any],
    pairs: list[str] | None,
    folder: Path,
    operators: OperatorsLike = (),
) -> Reference:
    """Runs of a model with states."""
    path = folder / "model.onnx"
    onnx.save(proto, path)
    custom = operators_of(operators)
    graph = keep_states(import_model(path, model_inputs(None, dims, operators=custom)), pairs, ())
    names = {s.before for s in graph.states}
    given = [TensorSpec(v.name, v.dtype, v.shape, 0) for v in graph.inputs if v.name not in names]
    return Reference(path, given, dimensions=graph.dimensions, kept=kept_of(graph), custom=custom)


@pytest.mark.parametrize("target", ["native", "webgl"])
@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.name)
def test_runs_of_models_with_states(row: Row, target: str, tmp_path: Path) -> None:
    """Several, in each of which onnxruntime is given what it left in the one before."""
    need_driver(target)
    reference = reference_of(row.model, row.dims, row.pairs, tmp_path)
    compiled: Any = webnn_compile.compile(row.model, target, dims=row.dims, states=row.pairs)
    assert len(reference.runs) > 3
    assert reference.compare(compiled).ok


def test_wrong_states_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = next(r for r in ROWS if r.name == "rows behind others")
    reference = reference_of(row.model, row.dims, row.pairs, tmp_path)
    compiled: Any = webnn_compile.compile(row.model, dims=row.dims, states=row.pairs)
    save = compiled.save_state

    def found(change: Callable[[Array], Array]) -> Comparison:
        monkeypatch.setattr(compiled, "save_state", lambda: {name: change(a) for name, a in save().items()})
        return reference.compare(compiled)

    assert found(lambda a: a).ok
    shorter = found(lambda a: a[:, :-1])
    assert (shorter.ok, shorter.output) == (False, "p2")
    assert not found(lambda a: a + np.float32(0.1)).ok


def test_inputs_that_the_model_makes_are_those_of_the_source(tmp_path: Path) -> None:
    """A mask of all rows, and positions behind them, of which the results are made."""
    nodes = [
        node("Concat", ["past_key_0", "x"], ["present_key_0"], axis=1),
        node("Cast", ["position_ids"], ["at"], to=TensorProto.FLOAT),
        node("Cast", ["attention_mask"], ["seen"], to=TensorProto.FLOAT),
        node("ReduceSum", ["seen"], ["count"], keepdims=0),
        node("Add", ["at", "count"], ["y"]),
    ]
    inputs = {"x": (1, "S", 3), "past_key_0": (1, "P", 3)}
    proto = model(nodes, inputs, ["y", "present_key_0"])
    for name, shape in (("position_ids", (1, "S")), ("attention_mask", (1, "P + S"))):
        proto.graph.input.append(onnx.helper.make_tensor_value_info(name, TensorProto.INT64, shape))
    dims = {"S": (1, 3), "P": (0, 20)}
    reference = reference_of(proto, dims, None, tmp_path)
    assert [run.inputs.keys() for run in reference.runs] == [{"x"}] * len(reference.runs)
    assert reference.compare(webnn_compile.compile(proto, dims=dims)).ok
    assert reference.runs[-1].outputs["y"].max() > 35


def test_runs_of_a_sequence_are_of_one_batch(tmp_path: Path) -> None:
    nodes = [node("Add", ["x", "h"], ["s"]), node("Tanh", ["s"], ["h2"]), node("Neg", ["h"], ["y"])]
    proto = model(nodes, {"x": ("B", 3), "h": ("B", 3)}, ["y", "h2"])
    reference = reference_of(proto, {"B": (1, 5)}, ["h=h2"], tmp_path)
    assert len(reference.runs) == 4
    assert len({run.inputs["x"].shape for run in reference.runs}) == 1
    assert reference.compare(webnn_compile.compile(proto, dims={"B": (1, 5)}, states=["h=h2"])).ok


@operator("com.example", "Half")
def half(call: Call) -> Tensor:
    return pointwise(call, lambda x: x * 0.5, call.input(0))


def test_custom_operators_of_models_with_states(tmp_path: Path) -> None:
    """They are computed between segments of onnxruntime, through which the states are passed."""
    nodes = [node("Add", ["x", "h"], ["s"]), node("Half", ["s"], ["h2"], domain="com.example")]
    imports = [onnx.helper.make_opsetid("com.example", 1)]
    proto = model([*nodes, node("Neg", ["h2"], ["y"])], {"x": [2, 3], "h": [2, 3]}, ["y", "h2"], imports=imports)
    reference = reference_of(proto, {}, ["h=h2"], tmp_path, [half])
    assert set(reference.by) == {"com.example.Half"}
    assert reference.compare(webnn_compile.compile(proto, operators=[half], states=["h=h2"])).ok


def test_sequences_end_where_the_model_has_no_more_positions(tmp_path: Path) -> None:
    """A table of nine positions: onnxruntime refuses what is beyond it."""
    nodes = [
        node("Gather", ["table", "position_ids"], ["rows"]),
        node("Add", ["x", "rows"], ["new"]),
        node("Concat", ["past_0", "new"], ["present_0"], axis=1),
        node("ReduceSum", ["present_0"], ["y"], keepdims=0),
    ]
    proto = model(nodes, {"x": (1, "S", 4), "past_0": (1, "P", 4)}, ["y", "present_0"], {"table": random((9, 4))})
    proto.graph.input.append(onnx.helper.make_tensor_value_info("position_ids", TensorProto.INT64, (1, "S")))
    dims = {"S": (1, 4), "P": (0, 20)}
    reference = reference_of(proto, dims, None, tmp_path)
    rows = [run.inputs["x"].shape[1] for run in reference.runs]
    assert rows[0] == 1
    assert sum(rows[:-1]) <= 9
    nearly_full = reference.runs[-1].states
    assert nearly_full is not None
    assert (nearly_full["past_0"].shape[1], rows[-1]) == (5, 4)
    assert reference.compare(webnn_compile.compile(proto, dims=dims)).ok


def test_states_of_float16(tmp_path: Path) -> None:
    """Arrays of float16 for onnxruntime are float32 in the compiled model."""
    nodes = [node("Concat", ["p", "x"], ["p2"], axis=0), node("ReduceSum", ["p2", "axes"], ["y"])]
    weights = {"axes": np.array([0])}
    proto = model(nodes, {"x": ["S", 3], "p": ["P", 3]}, ["y", "p2"], weights, dtype=TensorProto.FLOAT16)
    dims = {"S": (1, 3), "P": (0, 9)}
    reference = reference_of(proto, dims, ["p=p2"], tmp_path)
    assert reference.runs[0].outputs["p2"].dtype == np.float16
    assert reference.compare(webnn_compile.compile(proto, dims=dims, states=["p=p2"])).error < 2e-3


VERIFIED = (
    *("gpt2-torchscript", "llama-genai-int4", "whisper-optimum-decoder_with_past_model"),
    "whisper-optimum-decoder_model_merged",
)


@pytest.mark.parametrize("name", VERIFIED)
def test_decoders_of_exporters(name: str, tmp_path: Path) -> None:
    """Four runs from the start on, and one of caches that are nearly full. Where onnxruntime has no more positions, the
    sequence ends: of tables at positions, and of GroupQueryAttention's angles, the compiled model knows the end."""
    decoder = next(d for d in (*CAUSAL_DECODERS, *STEPS, *MERGED_DECODERS) if d.file == name)
    reference = reference_of(decoder.model, decoder.dims, None, tmp_path)
    assert len(reference.runs) >= 4
    compiled: Any = webnn_compile.compile(decoder.model, dims=decoder.dims)
    assert reference.compare(compiled).ok
    limits = {d.limit for d in compiled.program.dimensions if d.limit is not None}
    assert limits == ({256} if decoder in CAUSAL_DECODERS else set())


def test_positions_of_rotary_embeddings_end_a_state() -> None:
    nodes = [
        node("RotaryEmbedding", ["x", "position_ids", "cos", "sin"], ["n"], domain="com.microsoft", num_heads=1),
        node("Concat", ["past_0", "n"], ["present_0"], axis=1),
        node("ReduceSum", ["present_0"], ["y"], keepdims=0),
    ]
    weights = {"cos": random((7, 2)), "sin": random((7, 2), 1)}
    imports = [onnx.helper.make_opsetid("com.microsoft", 1)]
    inputs = {"x": (1, "S", 4), "past_0": (1, "P", 4)}
    proto = model(nodes, inputs, ["y", "present_0"], weights, imports=imports)
    proto.graph.input.append(onnx.helper.make_tensor_value_info("position_ids", TensorProto.INT64, (1, "S")))
    compiled: Any = webnn_compile.compile(proto, dims={"S": (1, 4), "P": (0, 20)})
    compiled.run({"x": random((1, 4, 4))})
    with pytest.raises(StateFullError, match="would become 8, and the model has 7 positions"):
        compiled.run({"x": random((1, 4, 4))})
    compiled.run({"x": random((1, 3, 4))})
