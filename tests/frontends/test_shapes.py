"""Free dimensions and the shapes that fix them."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import model, node, random
from webnn_compile.errors import InputError
from webnn_compile.frontends.model_inputs import ModelInputs, model_inputs
from webnn_compile.frontends.onnx import import_model


def two_inputs() -> onnx.ModelProto:
    return model([node("Add", ["a", "b"], ["y"])], {"a": ["N", 3, "H"], "b": ["N", 3, None]}, ["y"])


def shapes_of(proto: onnx.ModelProto, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    graph = import_model(proto, ModelInputs(shapes))
    return {v.name: v.shape for v in (*graph.inputs, *graph.outputs)}


def test_free_dimensions_are_listed_with_the_flag_to_give() -> None:
    proto = model([node("Relu", ["image"], ["y"])], {"image": ["N", None, 3, "W"]}, ["y"])
    with pytest.raises(InputError) as caught:
        import_model(proto)
    text = str(caught.value)
    assert "image: declared [N, ?, 3, W]" in text
    assert "Fix them: --shape image=Nx3x3xW --dim N=1 --dim W=224\n" in text
    assert "(in Python: shapes={'image': ('N', 3, 3, 'W')}, dims={'N': 1, 'W': 224})" in text


def test_ranges_that_were_chosen_stay_ranges() -> None:
    proto = model([node("Add", ["a", "b"], ["y"])], {"a": ["N", "T"], "b": ["N", None]}, ["y"])
    chosen = model_inputs(dims={"N": (1, 16), "T": "8..64,multiple=8"})
    with pytest.raises(InputError) as caught:
        import_model(proto, chosen)
    text = str(caught.value)
    assert "Fix them: --shape b=Nx1 --dim N=1..16 --dim T=8..64,multiple=8\n" in text
    arguments = "shapes={'b': ('N', 1)}, dims={'N': (1, 16), 'T': '8..64,multiple=8'}"
    assert f"(in Python: {arguments})" in text
    assert "to each run" not in text
    import_model(proto, model_inputs(**eval(f"dict({arguments})")))


def test_the_flag_shown_is_one_that_works() -> None:
    proto = model([node("Add", ["a", "b"], ["y"])], {"a": ["batch", "T"], "b": ["batch", "T"]}, ["y"])
    with pytest.raises(InputError) as caught:
        import_model(proto)
    assert "Fix them: --dim batch=1 --dim T=128\n" in str(caught.value)
    assert shapes_of(proto, {"a": (1, 128)}) == {"a": (1, 128), "b": (1, 128), "y": (1, 128)}


def test_missing_shape() -> None:
    proto = model([node("Relu", ["x"], ["y"])], {"x": None}, ["y"])
    with pytest.raises(InputError, match=r"x: declared no shape\n.*--shape x=1x3x224x224"):
        import_model(proto)
    assert shapes_of(proto, {"x": (4, 5)}) == {"x": (4, 5), "y": (4, 5)}


@pytest.mark.parametrize("unknown", [0, -1])
def test_dimensions_that_exporters_write_for_unknown(unknown: int) -> None:
    proto = model([node("Relu", ["x"], ["y"])], {"x": [unknown, 3]}, ["y"])
    with pytest.raises(InputError, match=r"x: declared \[\?, 3\]"):
        import_model(proto)
    assert shapes_of(proto, {"x": (2, 3)})["y"] == (2, 3)


def test_question_marks_are_no_name() -> None:
    """Old exporters of Paddle write ? for each dimension that is free: rows and columns may differ."""
    proto = model([node("Relu", ["x"], ["y"])], {"x": ["?", 3, "?", "?"]}, ["y"])
    assert shapes_of(proto, {"x": (1, 3, 48, 192)})["y"] == (1, 3, 48, 192)
    old = model([node("Relu", ["x"], ["y"])], {"x": ["?", 3, "?", "?"]}, ["y"], opset=6)
    assert shapes_of(old, {"x": (1, 3, 48, 192)})["y"] == (1, 3, 48, 192)


def test_scalar_input_needs_no_shape() -> None:
    assert shapes_of(model([node("Relu", ["x"], ["y"])], {"x": []}, ["y"]), {}) == {"x": (), "y": ()}


def test_a_symbol_fixed_by_one_input_holds_for_others() -> None:
    proto = model([node("Add", ["a", "b"], ["y"])], {"a": ["N", 3], "b": ["N", 3]}, ["y"])
    assert shapes_of(proto, {"a": (5, 3)}) == {"a": (5, 3), "b": (5, 3), "y": (5, 3)}


def test_only_what_is_still_free_is_asked_for() -> None:
    with pytest.raises(InputError) as caught:
        import_model(two_inputs(), ModelInputs({"a": (7, 3, 2)}))
    assert "b: declared [N, 3, ?]" in str(caught.value)
    assert "Fix them: --shape a=7x3x2 --shape b=7x3x1\n" in str(caught.value)
    assert "a: declared" not in str(caught.value)


def test_symbol_with_two_values() -> None:
    with pytest.raises(InputError, match="given for input 'b' sets N = 2, but that of 'a' sets N = 1"):
        import_model(two_inputs(), ModelInputs({"a": (1, 3, 4), "b": (2, 3, 4)}))


def test_contradicts_a_fixed_dimension() -> None:
    with pytest.raises(
        InputError, match=r"shape 1x4x4 given for input 'a' has 4 in dimension 1, where the model declares \[N, 3, H\]"
    ):
        import_model(two_inputs(), ModelInputs({"a": (1, 4, 4)}))


def test_wrong_rank() -> None:
    with pytest.raises(
        InputError, match=r"shape 1x3 given for input 'a' has 2 dimensions, but the model declares \[N, 3, H\]; give 3"
    ):
        import_model(two_inputs(), ModelInputs({"a": (1, 3)}))


def test_negative_extent() -> None:
    with pytest.raises(InputError, match="shape -1x3x4 given for input 'a' has an extent that is negative or above 2"):
        import_model(two_inputs(), ModelInputs({"a": (-1, 3, 4)}))


def test_given_extent_of_zero() -> None:
    proto = model([node("Relu", ["x"], ["y"])], {"x": [0, 3]}, ["y"])
    assert shapes_of(proto, {"x": (0, 3)}) == {"x": (0, 3), "y": (0, 3)}


def refused_as_empty(proto: onnx.ModelProto, chosen: ModelInputs, message: str) -> None:
    with pytest.raises(InputError, match=f"would compute nothing: {message}; give at least 1, or a range"):
        import_model(proto, chosen)


def test_a_size_of_zero_that_empties_the_model() -> None:
    empty = "its output 'y' has no elements in any run, since "
    proto = model([node("Relu", ["x"], ["y"])], {"x": ["N", None]}, ["y"])
    named = model_inputs(dims={"N": 0}, shapes={"x": ("N", 3)})
    refused_as_empty(proto, named, f"{empty}the size 'N' is given as 0")
    refused_as_empty(proto, model_inputs(shapes={"x": (4, 0)}), f"{empty}the shape 4x0 is given for 'x'")
    # No multiple of 8 is in the range but 0.
    rounded = model_inputs(dims={"N": (0, 5, 8)}, shapes={"x": ("N", 3)})
    refused_as_empty(proto, rounded, f"{empty}the size 'N' is given as 0,multiple=8")
    mean = model([node("ReduceMean", ["x"], ["y"], axes=[0, 1], keepdims=0)], {"x": ["N", 3]}, ["y"])
    empty = "its inputs have no elements in any run, since "
    refused_as_empty(mean, model_inputs(dims={"N": 0}), f"{empty}the size 'N' is given as 0")


def test_sizes_of_zero_that_leave_something_to_compute() -> None:
    cache = model([node("Concat", ["past", "x"], ["y"], axis=0)], {"past": ["P", 3], "x": [2, 3]}, ["y"])
    assert import_model(cache, model_inputs(dims={"P": 0})).outputs[0].shape == (2, 3)
    proto = model([node("Relu", ["x"], ["y"])], {"x": ["N", 3]}, ["y"])
    (size,) = import_model(proto, model_inputs(dims={"N": (0, 5)})).dimensions
    assert size.scalar.low == 0


def test_unknown_input() -> None:
    with pytest.raises(InputError, match="given for 'c', which is no input of the model; the inputs are: 'a', 'b'"):
        import_model(two_inputs(), ModelInputs({"c": (1,)}))


def test_weight_instead_of_input() -> None:
    proto = model([node("Add", ["x", "w"], ["y"])], {"x": [2], "w": [2]}, ["y"], {"w": random((2,))})
    with pytest.raises(InputError, match="given for 'w', which is a weight, not an input; the inputs are: 'x'"):
        import_model(proto, ModelInputs({"w": (2,)}))


def test_declared_output_and_inner_shapes_may_be_stale() -> None:
    proto = model([node("Relu", ["x"], ["r"]), node("Neg", ["r"], ["y"])], {"x": ["N"]}, ["y"])
    proto.graph.value_info.append(helper.make_tensor_value_info("r", TensorProto.FLOAT, [99]))
    proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, [99]))
    assert shapes_of(proto, {"x": (4,)}) == {"x": (4,), "y": (4,)}


def test_shape_arithmetic_vanishes() -> None:
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "zero"], ["n"]),
        node("Unsqueeze", ["n", "axes"], ["n1"]),
        node("Concat", ["n1", "rest"], ["to"], axis=0),
        node("Reshape", ["x", "to"], ["y"], "reshape"),
    ]
    weights = {"zero": onnx.numpy_helper.to_array(helper.make_tensor("", TensorProto.INT64, [], [0]))}
    weights |= {"axes": weights["zero"].reshape(1), "rest": weights["zero"].reshape(1) - 1}
    graph = import_model(model(nodes, {"x": ["N", 3, 4]}, ["y"], weights), ModelInputs({"x": (2, 3, 4)}))
    assert [n.name for n in graph.nodes] == ["reshape"]
    assert graph.outputs[0].shape == (2, 12)
