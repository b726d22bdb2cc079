"""A graph as a list of TensorFlow.js operations, as a converter would write it: channels last, bias and activation in
the convolution or product before them. `page/tfjs.js` runs it.

In a network with convolutions, values of four dimensions lie channels last; where an operator is not known to work on
those as they are, they are transposed for it and back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from webnn_compile.errors import UnsupportedError
from webnn_compile.graph.ir import Graph, Node, Value

Array = np.ndarray[Any, np.dtype[Any]]
Step = dict[str, Any]

TO_LAST, TO_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)
BINARY = {"Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div"}
PADDING = {"NOTSET": "", "SAME_UPPER": "same", "VALID": "valid"}
UNARY = {"Relu": "relu", "Sigmoid": "sigmoid", "Erf": "erf", "Tanh": "tanh", "Sqrt": "sqrt", "Exp": "exp"}


def write_plan(graph: Graph, folder: Path) -> None:
    """Writes tfjs.json and tfjs.bin. UnsupportedError for an operator that is not mapped here."""
    planner = _Planner(graph)
    planner.plan()
    (folder / "tfjs.bin").write_bytes(bytes(planner.weights))
    described = {
        "inputs": [_port(v) | {"last": planner.is_last(v)} for v in graph.inputs],
        "outputs": [_port(v) | {"last": planner.is_last(v)} for v in graph.outputs],
        "weights": planner.described,
        "steps": planner.steps,
    }
    (folder / "tfjs.json").write_text(json.dumps(described))


def _port(v: Value) -> dict[str, Any]:
    return {"name": v.name, "shape": v.shape}


class _Planner:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.steps: list[Step] = []
        self.weights = bytearray()
        self.described: dict[str, Any] = {}
        self._vision = any(n.op == "Conv" for n in graph.nodes)
        self._users = graph.consumers()
        self._taken: set[Node] = set()

    def is_last(self, v: Value) -> bool:
        return self._vision and len(v.shape) == 4

    def plan(self) -> None:
        for node in self.graph.nodes:
            if node not in self._taken:
                self._node(node)

    def _node(self, n: Node) -> None:
        x, out = n.inputs[0], n.outputs[0]
        assert x is not None
        assert out is not None
        match n.op:
            case "Conv":
                self._convolution(n)
            case "Gemm" | "MatMul" if n.inputs[1] in self.graph.constants:
                self._linear(n)
            case "MatMul":
                self._logical("matMul", n, {})
            case op if op in BINARY:
                self._step(BINARY[op], [self._operand(v, out) for v in n.inputs], out.name)
            case op if op in UNARY:
                self._step(UNARY[op], [self._name(x)], out.name)
            case "Clip":
                low, high = (float(self._constant(v)) for v in n.inputs[1:3])
                self._step("clip", [self._name(x)], out.name, low=low, high=high)
            case "MaxPool":
                self._step("maxPool", [self._name(x)], out.name, **self._window(n))
            case "GlobalAveragePool":
                self._step("averageAll", [self._name(x)], out.name)
            case "Concat":
                axis = int(self._attribute(n, "axis", 0)) % len(out.shape)
                axis = TO_LAST.index(axis) if self.is_last(out) else axis
                self._step("concat", [self._name(v) for v in n.inputs if v is not None], out.name, axis=axis)
            case "Flatten" | "Reshape" | "Unsqueeze" | "Squeeze":
                self._logical("reshape", n, {"shape": out.shape}, operands=1)
            case "Transpose":
                order = self._attribute(n, "perm", tuple(reversed(range(len(x.shape)))))
                self._logical("transpose", n, {"order": list(order)})
            case "Gather":
                self._logical("gather", n, {"axis": int(self._attribute(n, "axis", 0))})
            case "Softmax" if int(self._attribute(n, "axis", -1)) in (-1, len(x.shape) - 1):
                self._logical("softmax", n, {})
            case "LayerNormalization":
                self._logical("normalise", n, {"epsilon": float(self._attribute(n, "epsilon", 1e-5))})
            case "Cast" if str(out.dtype) == "float32":
                self._step("cast", [self._name(x)], out.name)
            case _:
                raise UnsupportedError(f"TensorFlow.js: operator {n.op} (node {n.name}) is not mapped")

    def _convolution(self, n: Node) -> None:
        x, w, *rest = n.inputs
        weights = self._constant(w)
        group = int(self._attribute(n, "group", 1))
        depthwise = group > 1
        if depthwise and (group != weights.shape[0] or weights.shape[1] != 1):
            raise UnsupportedError(f"TensorFlow.js: a convolution of {group} groups (node {n.name}) is not mapped")
        bias = self._constant(rest[0]) if rest and rest[0] is not None else np.zeros(len(weights), np.float32)
        assert x is not None
        last, activation = self._activation(n)
        operands = [
            self._name(x),
            self._weight(f"{n.name}:w", weights.transpose(2, 3, 0, 1) if depthwise else weights.transpose(2, 3, 1, 0)),
            self._weight(f"{n.name}:b", bias),
        ]
        op = "depthwise" if depthwise else "conv"
        self._step(op, operands, last, activation=activation, **self._window(n))

    def _linear(self, n: Node) -> None:
        """A product with weights, and the addition of a vector after it."""
        x, w, *rest = n.inputs
        weights = self._constant(w)
        assert x is not None
        if n.op == "Gemm":
            plain = all(self._attribute(n, name, 1.0) == 1 for name in ("alpha", "beta"))
            if not plain or self._attribute(n, "transA", 0):
                raise UnsupportedError(f"TensorFlow.js: a scaled or transposed Gemm (node {n.name}) is not mapped")
            weights = weights.T if self._attribute(n, "transB", 0) else weights
        if weights.ndim != 2:
            raise UnsupportedError(
                f"TensorFlow.js: a product with {weights.ndim} dimensions (node {n.name}) is not mapped"
            )
        bias = self._constant(rest[0]).reshape(-1) if rest and rest[0] is not None else None
        result = n.outputs[0]
        assert result is not None
        after = self._only_user(result)
        if bias is None and after is not None and after.op == "Add":
            added = next((v for v in after.inputs if v is not result and v in self.graph.constants), None)
            if added is not None and added.shape == weights.shape[1:]:
                bias, result = self._constant(added), after.outputs[0]
                self._taken.add(after)
        assert result is not None
        operands = [self._logical_name(x), self._weight(f"{n.name}:w", weights)]
        if bias is not None:
            operands.append(self._weight(f"{n.name}:b", bias))
        self._step("linear", operands, result.name, shape=result.shape)

    def _activation(self, n: Node) -> tuple[str, str]:
        """The value that a convolution with the activation behind it makes, and that activation."""
        out = n.outputs[0]
        assert out is not None
        user = self._only_user(out)
        if user is None or user.outputs[0] is None:
            return out.name, "linear"
        activation = {"Relu": "relu", "Sigmoid": "sigmoid"}.get(user.op)
        if user.op == "Clip" and [float(self._constant(v)) for v in user.inputs[1:3]] == [0, 6]:
            activation = "relu6"
        if activation is None:
            return out.name, "linear"
        self._taken.add(user)
        return user.outputs[0].name, activation

    def _only_user(self, v: Value) -> Node | None:
        users = self._users.get(v, [])
        return users[0] if len(users) == 1 and v not in self.graph.outputs else None

    def _window(self, n: Node) -> Mapping[str, Any]:
        if any(d != 1 for d in self._attribute(n, "dilations", (1, 1))) or self._attribute(n, "ceil_mode", 0):
            raise UnsupportedError(f"TensorFlow.js: a dilated or rounded-up window (node {n.name}) is not mapped")
        named = PADDING.get(str(self._attribute(n, "auto_pad", "NOTSET")))
        if named is None:
            raise UnsupportedError(f"TensorFlow.js: padding by SAME_LOWER (node {n.name}) is not mapped")
        top, left, bottom, right = map(int, self._attribute(n, "pads", (0, 0, 0, 0)))
        pad: Any = named or top
        if not named and not top == left == bottom == right:
            pad = [[0, 0], [top, bottom], [left, right], [0, 0]]
        kernel = self._attribute(n, "kernel_shape", None)
        strides = [int(s) for s in self._attribute(n, "strides", (1, 1))]
        return {"pad": pad, "strides": strides, "kernel": None if kernel is None else [int(k) for k in kernel]}

    def _logical(self, op: str, n: Node, arguments: Mapping[str, Any], operands: int | None = None) -> None:
        """A step on values in the model's own order."""
        out = n.outputs[0]
        assert out is not None
        names = [self._logical_name(v) for v in n.inputs[:operands] if v is not None]
        if not self.is_last(out):
            self._step(op, names, out.name, **arguments)
            return
        self._step(op, names, f"{out.name}:first", **arguments)
        self._step("transpose", [f"{out.name}:first"], out.name, order=list(TO_LAST))

    def _logical_name(self, v: Value) -> str:
        name = self._name(v)
        if v in self.graph.constants or not self.is_last(v):
            return name
        self._step("transpose", [name], f"{v.name}:logical", order=list(TO_FIRST))
        return f"{v.name}:logical"

    def _operand(self, v: Value | None, out: Value) -> str:
        """An operand of an element-wise operator; constants that broadcast are laid out like the result."""
        assert v is not None
        if v not in self.graph.constants or not self.is_last(out):
            return self._name(v)
        data = self._constant(v)
        data = data.reshape((1,) * (4 - data.ndim) + data.shape).transpose(TO_LAST)
        return self._weight(f"{v.name}:last", data)

    def _name(self, v: Value) -> str:
        return self._weight(v.name, self.graph.constants[v]) if v in self.graph.constants else v.name

    def _constant(self, v: Value | None) -> Array:
        if v is None or v not in self.graph.constants:
            raise UnsupportedError("TensorFlow.js: weights and bounds that are computed are not mapped")
        return self.graph.constants[v]

    def _weight(self, name: str, data: Array) -> str:
        if name not in self.described:
            stored = np.asarray(data, np.int32 if data.dtype.kind in "iu" else np.float32, order="C")
            dtype = str(stored.dtype)
            self.described[name] = {"offset": len(self.weights), "shape": stored.shape, "dtype": dtype}
            self.weights += stored.tobytes()
        return name

    def _attribute(self, n: Node, name: str, default: Any) -> Any:
        return n.attributes.get(name, default)

    def _step(self, op: str, inputs: list[str], out: str, **arguments: Any) -> None:
        self.steps.append({"op": op, "in": inputs, "out": out, **arguments})
