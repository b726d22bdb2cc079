"""Operands that ONNX's inference reads as shapes: neither do they cost memory, nor does hiding them cost checks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import assert_close, model, node, onnxruntime_results, random
from webnn_compile.errors import InputError, UnsupportedError
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.evaluate import evaluate_graph

IMPORT = """
import resource, sys
from pathlib import Path
from webnn_compile.frontends.onnx import import_model
resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
for path in sorted(Path(sys.argv[1]).iterdir()):
    try:
        import_model(path)
    except Exception as error:
        print(path.stem, type(error).__name__)
"""


def lengths_as_ranks() -> dict[str, onnx.ModelProto]:
    """Models in which an operand declares or computes a shape of 2**31 - 1 extents."""
    huge = 2**31 - 1
    stored = onnx.TensorProto(name="s", data_type=TensorProto.INT64, dims=[huge], raw_data=bytes(24))
    fill = node("ConstantOfShape", ["n"], ["s"], value=helper.make_tensor("", TensorProto.INT64, [1], [1]))
    sparse = helper.make_sparse_tensor(
        helper.make_tensor("", TensorProto.INT64, [1], [2]), helper.make_tensor("", TensorProto.INT64, [1], [0]), [huge]
    )
    output = helper.make_tensor_value_info("b", TensorProto.FLOAT, None)
    branch = helper.make_graph([node("Expand", ["x", "s"], ["b"])], "branch", [], [output])
    opsets = [helper.make_opsetid("", 15), helper.make_opsetid("my", 1)]
    expand = helper.make_function("my", "F", ["a", "s"], ["b"], [node("Expand", ["a", "s"], ["b"])], opsets)
    relu = helper.make_function("my", "F", ["a", "s"], ["b"], [node("Relu", ["a"], ["b"])], opsets)
    call = node("F", ["x", "s"], ["y"], domain="my")
    size = {"n": np.asarray([huge])}

    def of_input(nodes: list[onnx.NodeProto], **changes: Any) -> onnx.ModelProto:
        proto = model(nodes, {"x": [1, 1, 2, 2]}, ["y"], opset=20, **changes)
        proto.graph.input.append(helper.make_tensor_value_info("s", TensorProto.INT64, [huge]))
        return proto

    def of_node(nodes: list[onnx.NodeProto], weights: dict[str, Any] | None = None) -> onnx.ModelProto:
        return model(nodes, {"x": [1, 1, 2, 2]}, ["y"], weights, opset=20)

    of_initialiser = of_node([node("Reshape", ["x", "s"], ["y"])])
    of_initialiser.graph.initializer.append(stored)
    of_branch = of_input([node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)])
    of_branch.graph.initializer.append(helper.make_tensor("c", TensorProto.BOOL, [], [True]))
    casts = [node("Identity", ["s"], ["t"]), node("Cast", ["t"], ["u"], to=TensorProto.INT64)]
    return {
        "Reshape": of_input([node("Reshape", ["x", "s"], ["y"])]),
        "Expand": of_input([node("Expand", ["x", "s"], ["y"])]),
        "Resize": of_input([node("Resize", ["x", "", "", "s"], ["y"])]),
        "ConstantOfShape": of_input([node("ConstantOfShape", ["s"], ["y"])]),
        "AffineGrid": of_input([node("AffineGrid", ["x", "s"], ["y"])]),
        "initialiser": of_initialiser,
        "through others": of_input([*casts, node("Expand", ["x", "u"], ["y"])]),
        "computed": of_node([fill, node("Expand", ["x", "s"], ["y"])], size),
        "constant": of_node([node("Constant", [], ["s"], value=stored), node("Expand", ["x", "s"], ["y"])]),
        "sparse": of_node([node("Constant", [], ["s"], sparse_value=sparse), node("Expand", ["x", "s"], ["y"])]),
        "branch": of_branch,
        "in a function": of_input([call], functions=[expand], imports=opsets[1:]),
        "beside a function": of_input([node("Expand", ["x", "s"], ["z"]), call], functions=[relu], imports=opsets[1:]),
        "beside a body that depends on types": of_input(
            [node("Expand", ["x", "s"], ["z"]), node("SoftmaxCrossEntropyLoss", ["z", "z"], ["y"])]
        ),
    }


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot limit the memory of a process by itself")
def test_inference_makes_no_dimensions_of_a_declared_length(tmp_path: Path) -> None:
    models = lengths_as_ranks()
    for name, proto in models.items():
        onnx.save(proto, tmp_path / f"{name}.onnx")
    done = subprocess.run(
        [sys.executable, "-c", IMPORT, str(tmp_path)], check=True, capture_output=True, text=True, timeout=300
    )
    errors = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    assert errors.keys() == models.keys()
    assert set(errors.values()) == {"InputError", "UnsupportedError"}


def test_computed_sizes_of_a_resize() -> None:
    for since, tail in ((11, ["r", "s", "t"]), (19, ["", "", "t"])):
        nodes = [node("Shape", ["like"], ["t"]), node("Resize", ["x", *tail], ["y"])]
        none = np.zeros(0, np.float32)
        proto = model(nodes, {"x": [1, 1, 2, 2], "like": [1, 1, 4, 6]}, ["y"], {"r": none, "s": none}, opset=since)
        feeds = {"x": random((1, 1, 2, 2)), "like": random((1, 1, 4, 6))}
        assert_close(evaluate_graph(import_model(proto), feeds), onnxruntime_results(proto, feeds))


def test_operands_come_back_once_functions_are_inlined() -> None:
    opsets = [helper.make_opsetid("", 15), helper.make_opsetid("my", 1)]
    function = helper.make_function("my", "F", ["a"], ["b"], [node("Relu", ["a"], ["b"])], opsets)
    nodes = [
        node("Shape", ["like"], ["t"]),
        node("Resize", ["x", "", "", "t"], ["r"]),
        node("Shape", ["flat"], ["u"]),
        node("Reshape", ["r", "u"], ["hidden"]),
        node("F", ["hidden"], ["y"], domain="my"),
    ]
    shapes = {"x": [1, 1, 2, 2], "like": [1, 1, 4, 6], "flat": [24]}
    proto = model(nodes, shapes, ["y"], opset=18, functions=[function], imports=opsets[1:])
    feeds = {name: random(shape) for name, shape in shapes.items()}
    assert_close(evaluate_graph(import_model(proto), feeds), onnxruntime_results(proto, feeds))


def test_constant_shapes_are_checked_before_anything_is_made() -> None:
    nodes = [node("Reshape", ["x", "s"], ["r"]), node("MatMul", ["r", "w"], ["y"])]
    weights = {"s": np.asarray([2, 3]), "w": random((4, 5))}
    with pytest.raises(InputError, match=r"dtypes or shapes do not fit together: .*MatMul"):
        import_model(model(nodes, {"x": [6]}, ["y"], weights))


@pytest.mark.parametrize("op", ["Expand", "Reshape", "Unsqueeze", "ConstantOfShape"])
def test_a_rank_beyond_any_use(op: str) -> None:
    weights = {"n": np.asarray([100_000]), "s": np.ones(65, np.int64)}
    value = helper.make_tensor("", TensorProto.INT64, [1], [1])
    inputs = ["s"] if op == "ConstantOfShape" else ["x", "s"]
    if op == "Unsqueeze":
        weights["s"] = np.arange(65)
    nodes = [node(op, inputs, ["z"], "rank"), node("Add", ["x", "z"], ["y"])]
    with pytest.raises(InputError, match=r"the result of 'rank' has 6[56] dimensions, and a tensor may have 64"):
        import_model(model(nodes, {"x": [1]}, ["y"], weights))
    # As many axes as a tensor has elements: the message stays short.
    nodes[0] = node(op, [*inputs[:-1], "many"], ["z"], "rank")
    with pytest.raises((InputError, UnsupportedError)) as raised:
        import_model(model([node("ConstantOfShape", ["n"], ["many"], value=value), *nodes], {"x": [1]}, ["y"], weights))
    assert len(str(raised.value)) < 2000


def test_an_input_of_a_rank_beyond_any_use() -> None:
    with pytest.raises(InputError, match="input 'x' has 65 dimensions, and a tensor may have 64"):
        import_model(model([node("Relu", ["x"], ["y"])], {"x": [1] * 65}, ["y"]))
