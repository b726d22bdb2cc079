"""A model of ONNX that grows node by node, with the types and shapes of its values, for `webnn_operators`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from op_table import IR_VERSION, Array
from ort_web import DTYPES

OPSET = 23


class Growing:
    """The model. Values are names; a node's outputs are named by their number."""

    def __init__(self, inputs: Mapping[str, Array], constants: Mapping[str, Array]) -> None:
        self.inputs = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for name, a in inputs.items()
        ]
        self.constants = [numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()]
        self.operands = {name: name for name in (*inputs, *constants)}  # by WebNN's names the values
        self.nodes: list[onnx.NodeProto] = []
        self.names = 0
        self.types: dict[str, onnx.TypeProto.Tensor] = {i.name: i.type.tensor_type for i in self.inputs}
        for name, a in constants.items():
            kind = helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            self.types[name] = kind.tensor_type

    def new_name(self) -> str:
        self.names += 1
        return f"made {self.names}"

    def nodes_outputs(self, op: str, inputs: Sequence[str], count: int, **attributes: Any) -> list[str]:
        """The outputs of a node."""
        names = [self.new_name() for _ in range(count)]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        return names

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        """The output of a node with one."""
        return self.nodes_outputs(op, inputs, 1, **attributes)[0]

    def constant(self, data: Any, dtype: Any = np.int64) -> str:
        """A constant of its own; `dtype` is of NumPy."""
        name, array = self.new_name(), np.asarray(data).astype(dtype)
        self.constants.append(numpy_helper.from_array(array, name))
        self.types[name] = helper.make_tensor_type_proto(
            helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        ).tensor_type
        return name

    def filled(self, value: float, shape: Sequence[int], like: str) -> str:
        """A constant of one number, of another value's type."""
        return self.constant(np.full(shape, value), self.dtype(like))

    def cast(self, name: str, dtype: Any) -> str:
        """A value as one of a type of NumPy or WebNN."""
        return self.node("Cast", name, to=helper.np_dtype_to_tensor_dtype(dtype_of(dtype)))

    def transpose(self, name: str, perm: Sequence[int]) -> str:
        return name if list(perm) == list(range(len(perm))) else self.node("Transpose", name, perm=list(perm))

    def reshape(self, name: str, shape: Sequence[int]) -> str:
        # allowzero, since WebNN has no size that stands for the input's.
        return self.node("Reshape", name, self.constant(list(shape)), allowzero=1)

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(d.dim_value for d in self.type(name).shape.dim)

    def dtype(self, name: str) -> np.dtype[Any]:
        return np.dtype(helper.tensor_dtype_to_np_dtype(self.type(name).elem_type))

    def type(self, name: str) -> onnx.TypeProto.Tensor:
        """Type and shape of a value, by ONNX's inference where they are those of a node."""
        if name not in self.types:
            inferred = onnx.shape_inference.infer_shapes(self.model([]), strict_mode=True, data_prop=True)
            self.types |= {v.name: v.type.tensor_type for v in inferred.graph.value_info}
        return self.types[name]

    def model(self, outputs: Sequence[onnx.ValueInfoProto]) -> onnx.ModelProto:
        """The model as it is."""
        graph = helper.make_graph(self.nodes, "webnn", self.inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)


def output_of(name: str, array: Array) -> onnx.ValueInfoProto:
    """The declaration of an output."""
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def dtype_of(name: Any) -> np.dtype[Any]:
    """The dtype of a type of WebNN."""
    return np.dtype(DTYPES.get(name, name))
