"""Where tensors lie: sharing by aliases and in place never shows in results."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx_models import Array, assert_close, model, node, random
from webnn_compile.cpu.compile_for_cpu import compile_for_cpu
from webnn_compile.execution.native_model import NativeModel
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.evaluate import evaluate_graph
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.native.jit import host_target
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.pipeline.lowered import Lowered
from webnn_compile.tensor import Tensor


def lowered(proto: onnx.ModelProto) -> Lowered:
    return lower_model(run_graph_passes(import_model(proto)))


def run_natively(proto: onnx.ModelProto, feeds: dict[str, Array]) -> dict[str, Array]:
    return NativeModel(compile_for_cpu(lowered(proto), host_target())).run(feeds)


def check(proto: onnx.ModelProto, seed: int = 0) -> None:
    graph = import_model(proto)
    feeds = {v.name: random(v.shape, seed + i) for i, v in enumerate(graph.inputs)}
    assert_close(run_natively(proto, feeds), evaluate_graph(graph, feeds), 1e-4)


def stored(low: Lowered, name: str) -> Tensor:
    return next(t for t in low.stored.owner if t.name.startswith(name))


def test_a_map_takes_the_place_of_its_operand() -> None:
    """Softmax's quotient is of the shape of its numerator, which nothing else reads."""
    low = lowered(model([node("Relu", ["x"], ["a"]), node("Softmax", ["a"], ["y"])], {"x": [4, 10]}, ["y"]))
    numerator = low.groups[-1].reads
    root = low.stored.owner[low.groups[-1].output]
    assert any(low.stored.owner[t] is root for t in numerator if t.data is None)


def test_a_graph_input_is_not_overwritten() -> None:
    proto = model([node("Relu", ["x"], ["y"]), node("Exp", ["x"], ["z"])], {"x": [4, 10]}, ["y", "z"])
    low = lowered(proto)
    offsets = [low.stored.offset[t] for _, t in (*low.tensors.inputs, *low.tensors.outputs)]
    assert len(set(offsets)) == 3
    check(proto)


def test_what_is_read_later_is_not_overwritten() -> None:
    nodes = [
        node("MatMul", ["x", "w"], ["a"]),
        node("MatMul", ["a", "w"], ["b"]),
        node("Add", ["b", "a"], ["c"]),
        node("MatMul", ["c", "w"], ["d"]),
        node("Add", ["d", "a"], ["y"]),
    ]
    proto = model(nodes, {"x": [9, 12]}, ["y"], {"w": random((12, 12))})
    low = lowered(proto)
    assert low.stored.owner[stored(low, "Add_2")] is not low.stored.owner[stored(low, "MatMul_0")]
    check(proto)


def test_an_alias_of_an_operand_that_is_read_elsewhere_is_not_overwritten() -> None:
    """Both reshapes share the memory of `h`: one is read along rows while the result would replace the other."""
    nodes = [
        node("Relu", ["x"], ["h"]),
        node("Flatten", ["h"], ["f"], axis=1),
        node("Reshape", ["h", "shape"], ["r"]),
        node("MatMul", ["r", "w"], ["a"]),
        node("MatMul", ["f", "w"], ["m"]),
        node("Add", ["m", "r"], ["o"]),
        node("MatMul", ["a", "w"], ["q"]),
    ]
    weights = {"shape": np.asarray([9, 12]), "w": random((12, 12))}
    proto = model(nodes, {"x": [9, 3, 4]}, ["o", "q"], weights)
    low = lowered(proto)
    result = next(t for name, t in low.tensors.outputs if name == "o")
    group = next(g for g in low.groups if g.output is result)
    others = [t for t in group.reads if t.data is None]
    assert len({low.stored.owner[t] for t in others}) == 1, "the operands are meant to share memory"
    assert low.stored.owner[result] is not low.stored.owner[others[0]]
    check(proto)


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs(seed: int) -> None:
    """Shapes of equal size, so that every tensor could take the place of every other one."""
    generator = np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {"x": (6, 8), "z": (6, 8)}
    forms = [(6, 8), (8, 6), (2, 3, 8), (4, 12)]
    weights: dict[str, Array] = {f"w{n}": random((n, n), n) / n for n in (6, 8, 12)}
    nodes: list[onnx.NodeProto] = []

    def add(op: str, inputs: list[str], shape: tuple[int, ...], **attributes: object) -> None:
        name = f"t{len(nodes)}"
        nodes.append(node(op, inputs, [name], **attributes))
        shapes[name] = shape

    for _ in range(int(generator.integers(5, 14))):
        a = str(generator.choice(list(shapes)))
        s = shapes[a]
        equal = [n for n, other in shapes.items() if other == s]
        match int(generator.integers(0, 6)):
            case 0:
                add("Relu", [a], s)
            case 1:
                add("Add", [a, str(generator.choice(equal))], s)
            case 2:
                form = forms[int(generator.integers(len(forms)))]
                weights[f"s{len(nodes)}"] = np.asarray(form)
                add("Reshape", [a, f"s{len(nodes)}"], form)
            case 3:
                perm = [int(p) for p in generator.permutation(len(s))]
                add("Transpose", [a], tuple(s[p] for p in perm), perm=perm)
            case 4 if s[-1] in (6, 8, 12):
                add("MatMul", [a, f"w{s[-1]}"], s)
            case _:
                add("Softmax", [a], s, axis=-1)
    made = [n for n in shapes if n.startswith("t")]
    outputs = sorted({made[-1], str(generator.choice(made))})
    used = {n for x in nodes for n in x.input}
    proto = model(nodes, {"x": [6, 8], "z": [6, 8]}, outputs, {n: w for n, w in weights.items() if n in used})
    check(proto, seed)
