"""Parameters whose shapes contradict those of the data: never read beyond their elements, and refused by name."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import webnn_compile
from onnx_models import node
from op_table import Case, evaluate_case
from webnn_compile.dtypes import F32, I32
from webnn_compile.errors import BoundsError, UnsupportedError
from webnn_compile.graph.define import define
from webnn_compile.graph.ir import Node, Value
from webnn_compile.ops import OPERATORS
from webnn_compile.ops.call import Call
from webnn_compile.tensor import Tensor, compute, constant, placeholder, reduce


def _f(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


IMAGE = _f(1, 4, 6, 6)

WRONG = [
    *(("Conv", (IMAGE, _f(8, 4, 3, 3), _f(k)), {}, f"input 2 ('x2') has shape [{k}], where [8]") for k in (1, 5, 12)),
    ("Conv", (IMAGE, _f(8, 4, 3, 3), _f(8, 1, 1, 1)), {}, "input 2 ('x2') has shape [8, 1, 1, 1], where [8]"),
    ("Conv", (IMAGE, _f(300)), {}, "input 1 ('x1') has shape [300], where [any, any, any, any]"),
    ("Conv", (IMAGE, _f(8, 4, 3, 3, 1)), {}, "input 1 ('x1') has shape [8, 4, 3, 3, 1], where"),
    ("Conv", (IMAGE, _f(8, 4, 3, 3)), {"kernel_shape": [5, 5]}, "kernel_shape is [5, 5] for weights of"),
    ("Conv", (IMAGE, _f(8, 4, 3, 3)), {"group": 0}, "in 0 groups"),
    ("ConvTranspose", (IMAGE, _f(4, 8, 3, 3), _f(5)), {}, "input 2 ('x2') has shape [5], where [8]"),
    ("ConvTranspose", (IMAGE, _f(4, 8, 3, 3)), {"kernel_shape": [2, 2]}, "kernel_shape is [2, 2] for weights of"),
    ("ConvTranspose", (IMAGE, _f(4, 8, 3, 3)), {"pads": [4, 4, 5, 5]}, "would have extent -1"),
    *(
        (
            "BatchNormalization",
            (IMAGE, *(_f(9 if i == at else 4) for i in range(1, 5))),
            {},
            f"input {at} ('x{at}') has shape [9], where [4]",
        )
        for at in range(1, 5)
    ),
    ("InstanceNormalization", (IMAGE, _f(2), _f(4)), {}, "input 1 ('x1') has shape [2], where [4]"),
    ("InstanceNormalization", (IMAGE, _f(4), _f(9)), {}, "input 2 ('x2') has shape [9], where [4]"),
    ("GroupNormalization", (IMAGE, _f(3), _f(4)), {"num_groups": 2}, "input 1 ('x1') has shape [3], where [4]"),
    ("GroupNormalization", (IMAGE, _f(4), _f(2)), {"num_groups": 2}, "input 2 ('x2') has shape [2], where [4]"),
    ("LayerNormalization", (IMAGE, _f(3)), {}, "shapes [3] and [1, 4, 6, 6] do not broadcast"),
    ("LayerNormalization", (IMAGE, _f(6), _f(9)), {}, "shapes [9] and [1, 4, 6, 6] do not broadcast"),
    ("LayerNormalization", (IMAGE, _f(2, 1, 4, 6, 6)), {}, "does not broadcast to [1, 4, 6, 6]"),
    ("RMSNormalization", (IMAGE, _f(5)), {}, "shapes [5] and [1, 4, 6, 6] do not broadcast"),
    ("Gemm", (_f(1, 4), _f(4, 10), _f(20)), {}, "shapes [20] and [1, 10] do not broadcast"),
    ("Gemm", (_f(1, 4), _f(4, 10), _f(5)), {}, "shapes [5] and [1, 10] do not broadcast"),
    ("Gemm", (_f(1, 4), _f(4, 10), _f(3, 10)), {}, "has shape [3, 10], which does not broadcast to [1, 10]"),
    ("PRelu", (IMAGE, _f(3, 1, 1)), {}, "shapes [1, 4, 6, 6] and [3, 1, 1] do not broadcast"),
    ("MaxPool", (_f(1, 2, 1, 5),), {"kernel_shape": [3, 3]}, "window spans 3 elements of an axis that has 1"),
    (
        "MaxPool",
        (IMAGE,),
        {"kernel_shape": [2**31 - 1, 3], "pads": [2**30, 0, 2**30, 0]},
        "by index arithmetic beyond int32",
    ),
    ("Resize", (_f(1, 1, 2, 2), None, np.ones((2, 2), np.float32)), {}, "input 'scales' has shape [2, 2], not one dim"),
    ("Reshape", (_f(4), np.asarray([[2, 2]])), {}, "input 'shape' has shape [1, 2], not one dimension"),
    ("Resize", (_f(1, 1, 1, 1), None, None, np.asarray([1, -1, 1, 6])), {}, "sizes [1, -1, 1, 6] do not fit 4 axes"),
    ("InstanceNormalization", (_f(3), _f(), _f()), {}, "has shape [3], without a batch and channels"),
    ("GroupNormalization", (_f(), _f(1), _f(1)), {"num_groups": 1}, "has shape [], without a batch and channels"),
    ("LRN", (IMAGE,), {"size": 0}, "attribute size=0 is less than 1"),
    ("GlobalLpPool", (IMAGE,), {"p": 0}, "p=0 is less than 1"),
    ("GatherND", (_f(2, 3), np.zeros((1, 1), np.int64)), {"batch_dims": -1}, "and batch_dims -1 do not fit"),
    ("LRN", (_f(3),), {"size": 3}, "input 0 ('x0') has shape [3], without a batch and channels"),
    ("Resize", (_f(1, 0, 2), None, None, np.asarray([1, 2, 3])), {}, "has no elements"),
]


@pytest.mark.parametrize(("op", "inputs", "attributes", "message"), WRONG)
def test_the_message_names_node_and_parameter(
    op: str, inputs: tuple[np.ndarray | None, ...], attributes: dict[str, object], message: str
) -> None:
    case = Case("", op, inputs, attributes, opset=23, constants=frozenset({3} if len(inputs) == 4 else {1, 2}))
    with pytest.raises(UnsupportedError) as raised:
        evaluate_case(case)
    assert message in str(raised.value)
    assert str(raised.value).startswith(f"{op} (node 'node'): ")
    assert "; " in str(raised.value), "says what to do"


def test_a_read_beyond_a_tensor_cannot_be_built() -> None:
    bias = placeholder("bias", (5,), F32)
    with pytest.raises(BoundsError, match=r"'y' reads elements 0 to 7 along dimension 0 of 'bias', whose shape is \[5"):
        compute("y", (8,), (bias,), lambda i: bias[i])
    with pytest.raises(BoundsError, match="'bias'"):
        compute("y", (2,), (bias,), lambda i: reduce("sum", (5,), lambda k: bias[i + k]))
    with pytest.raises(BoundsError, match="'bias'"):
        compute("y", (8,), (bias,), lambda i: bias.read([i], i < 6))
    positions = placeholder("positions", (3,), F32)
    with pytest.raises(BoundsError, match="reads elements along dimension 0 of 'bias'"):
        compute("y", (3,), (bias, positions), lambda i: bias[positions[i].cast(I32)])


def test_what_is_proved_can_be_built() -> None:
    bias = placeholder("bias", (5,), F32)
    at = constant("at", np.asarray([4, 0, 2]))
    compute("y", (8,), (bias,), lambda i: bias.read([i], i < 5))
    compute("y", (3,), (bias, at), lambda i: bias[at[i].cast(I32)])
    compute("y", (0,), (bias,), lambda i: bias[i + 9])
    compute("y", (2,), (bias,), lambda i: reduce("sum", (0,), lambda k: bias[i + k + 9]))


def test_an_operator_that_checks_nothing_is_still_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shapes that no operator's own check has seen are the model's fault, and name node and tensor."""

    def careless(call: Call) -> Tensor:
        x, bias = call.input(0), call.input(1)
        return compute(call.name, x.shape, (x, bias), lambda i: x[i] + bias[i])

    monkeypatch.setitem(OPERATORS, ("", "Careless"), careless)
    x, bias = Value("x", (8,), F32), Value("bias", (5,), F32)
    made = Node("Careless", "node", (x, bias), (None,), {}, 21)
    tensors = {v: placeholder(v.name, v.shape, v.dtype) for v in (x, bias)}
    with pytest.raises(UnsupportedError, match=r"Careless \(node 'node'\): .*of 'bias', whose shape is \[5\]; check"):
        define(made, tensors)


@pytest.mark.parametrize("opset", [9, 18])
def test_a_bias_of_one_element_is_no_broadcast(opset: int) -> None:
    """It was read as if it had 20,000: what lay behind it in memory became the result."""
    graph = onnx.helper.make_graph(
        [node("Conv", ["x", "w", "b"], ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", 1, [1, 1, 1, 1])],
        [onnx.helper.make_tensor_value_info("y", 1, None)],
        [onnx.numpy_helper.from_array(_f(20_000, 1, 1, 1), "w"), onnx.numpy_helper.from_array(_f(1), "b")],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=8)
    with pytest.raises(UnsupportedError, match=r"input 2 \('b'\) has shape \[1\], where \[20000\] is expected"):
        webnn_compile.compile(model)
