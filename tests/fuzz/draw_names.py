"""Models whose names mean something in other languages: of tensors, dimensions, nodes, graphs, functions, metadata."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import numpy as np
import onnx
from fuzz.case import Case
from hostile_names import NAMES
from onnx import helper, numpy_helper
from onnx_models import node
from webnn_compile.frontends.model_inputs import Dim, ModelInputs
from webnn_compile.frontends.onnx.fix_shapes import UNNAMED

MOST_BYTES = 100
"""The longest name of a file."""


@dataclass(frozen=True)
class NamedModel:
    """`file` is a name for it; `inputs` and `outputs` are those that its bundle must have."""

    model: onnx.ModelProto
    file: str
    given: ModelInputs
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def draw_names(case: Case) -> NamedModel:
    """Draws the model of a case, equal for equal cases."""
    draw = Random(zlib.crc32(case.kind.encode()) << 32 | case.seed)
    names = _names(draw)
    x, w, z = (next(names) for _ in range(3))
    d = next(name for name in names if name not in UNNAMED)  # those texts stand for no name, so --dim has none to set
    y, located, cond, total, zero = (next(names) for _ in range(5))
    function = helper.make_function(
        "local", next(names), ["a"], ["b"], [node("Tanh", ["a"], ["b"], next(names))], [helper.make_opsetid("", 18)]
    )
    call = helper.make_node(function.name, [x], [w], next(names), domain="local")
    branches = [_branch(node(op, [w], [next(names)], next(names)), next(names)) for op in ("Neg", "Exp")]
    nodes = [
        call,
        node("NonZero", [x], [located], next(names)),
        node("ReduceSum", [w], [total], next(names), keepdims=0),
        node("Less", [total, zero], [cond], next(names)),
        node("If", [cond], [y], next(names), then_branch=branches[0], else_branch=branches[1]),
        node("MatMul", [y, z], [last := next(names)], next(names)),
    ]
    values = [helper.make_tensor_value_info(x, onnx.TensorProto.FLOAT, [d, 8])]
    results = [helper.make_tensor_value_info(located, onnx.TensorProto.INT64, None)]
    results.append(helper.make_tensor_value_info(last, onnx.TensorProto.FLOAT, None))
    held = {z: np.ones((8, 8), np.float32), zero: np.zeros((), np.float32)}
    weights = [numpy_helper.from_array(a, name) for name, a in held.items()]
    graph = helper.make_graph(nodes, next(names), values, results, weights, doc_string=next(names))
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
    made = helper.make_model(graph, opset_imports=opsets, functions=[function], producer_name=next(names))
    made.ir_version = 9
    helper.set_model_props(made, {next(names): next(names)})
    file = next(names).replace("/", "").replace("\0", "").encode()[:MOST_BYTES].decode(errors="ignore")
    most = draw.randint(2, 9)
    return NamedModel(made, f"{file}.onnx", ModelInputs(dims={d: Dim(1, most)}), (x,), (located, last))


def _branch(made: onnx.NodeProto, name: str) -> onnx.GraphProto:
    out = helper.make_tensor_value_info(made.output[0], onnx.TensorProto.FLOAT, None)
    return helper.make_graph([made], name, [], [out])


def _names(draw: Random) -> Iterator[str]:
    """Without end, no two the same; some are two of NAMES."""
    seen = {""}
    while True:
        name = draw.choice(NAMES) + (draw.choice(NAMES) if draw.random() < 0.2 else "")
        while name in seen:
            name = draw.choice((name + " ", "_" + name, name + draw.choice("*/?<-\\\n")))
        seen.add(name)
        yield name
