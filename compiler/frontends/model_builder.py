"""Builds the ONNX model that another format's model is converted to. It depends on no format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ..graph.names import Names

OPSET = 21
"""The opset of ai.onnx of all that is converted: the first with int4 and with quantised int16."""

ML = "ai.onnx.ml"
"""The domain of ONNX's operators of labels and classical models."""

_ML_OPSET = 3

Shape = Sequence[int | str | None]
"""Extents, names of dimensions that are free, or None for a free one without a name."""


class ModelBuilder:
    """Collects inputs, constants and nodes by the names of their values; `model` returns the whole."""

    def __init__(self, name: str, parent: ModelBuilder | None = None) -> None:
        self._values: Names = parent._values if parent else Names()
        self._nodes: Names = parent._nodes if parent else Names()
        self._graph = onnx.GraphProto(name=name)

    def name(self, stem: str) -> str:
        """A name that no value has yet."""
        return self._values.fresh(stem or "value")

    def input(self, name: str, dtype: int, shape: Shape | None) -> str:
        """An input of an element type of ONNX."""
        own = self.name(name)
        self._graph.input.append(helper.make_tensor_value_info(own, dtype, shape))
        return own

    def constant(self, data: np.ndarray, stem: str = "constant", dtype: int | None = None) -> str:
        """`data`, or the elements of an ONNX type that NumPy lacks whose values or bits it has: int4, bfloat16."""
        own = self.name(stem)
        if dtype is None:
            tensor = numpy_helper.from_array(np.asarray(data, order="C"), own)
        elif dtype == onnx.TensorProto.INT4:
            flat = data.reshape(-1).astype(np.uint8) & 15
            pairs = np.append(flat, np.zeros(len(flat) % 2, np.uint8)).reshape(-1, 2)
            packed = (pairs[:, 0] | pairs[:, 1] << 4).astype(np.uint8)
            tensor = onnx.TensorProto(name=own, data_type=dtype, dims=data.shape, raw_data=packed.tobytes())
        else:
            tensor = onnx.TensorProto(name=own, data_type=dtype, dims=data.shape, raw_data=data.tobytes())
        self._graph.initializer.append(tensor)
        return own

    def integers(self, values: int | Sequence[int]) -> str:
        """An int64 constant: a scalar, or a vector."""
        return self.constant(np.asarray(values, np.int64), "numbers")

    def node(
        self,
        op: str,
        inputs: Sequence[str],
        stem: str,
        *,
        outputs: Sequence[str] | None = None,
        **attributes: Any,
    ) -> str:
        """The first output of a node, which is named `stem` or like it; `outputs` are the names of several, which
        no value has yet, or empty."""
        own = self._nodes.fresh(stem or op)
        names = [self.name(stem)] if outputs is None else list(outputs)
        self._graph.node.append(helper.make_node(op, list(inputs), names, own, **attributes))
        return names[0]

    def region(self, name: str) -> ModelBuilder:
        """A builder for a graph inside a node of this one, whose nodes read values of this one, too."""
        return ModelBuilder(name, self)

    def output(self, value: str, dtype: int, shape: Shape | None) -> None:
        self._graph.output.append(helper.make_tensor_value_info(value, dtype, shape))

    def graph(self) -> onnx.GraphProto:
        return self._graph

    def model(self, description: str = "") -> onnx.ModelProto:
        opsets = [helper.make_opsetid("", OPSET)]
        if any(node.domain == ML for node in self._graph.node):
            opsets.append(helper.make_opsetid(ML, _ML_OPSET))
        return helper.make_model(self._graph, opset_imports=opsets, ir_version=10, doc_string=description)
