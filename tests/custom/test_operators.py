"""Operators of the user's in models: tables apart from each other, functions, branches, folding, types, few bits."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from cli.command import run
from drivers import need_driver
from onnx import TensorProto, helper
from onnx_models import assert_close, model, node, onnxruntime_results, random
from webnn_compile.custom import (
    F32,
    I32,
    Call,
    CustomOperator,
    Tensor,
    apply,
    apply_all,
    compute,
    operator,
    pointwise,
    reduce_axes,
    select,
)
from webnn_compile.custom.table import table_of
from webnn_compile.driver.options import Options
from webnn_compile.frontends.importers import import_model
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.graph.evaluate import evaluate_graph
from webnn_compile.tune.problem import Problem

DOMAIN = "com.example"
Array = np.ndarray[Any, np.dtype[Any]]


def times(factor: float, since: int = 1, reference: Callable[..., Any] | None = None) -> CustomOperator:
    """An operator `Scale` that multiplies by a number."""

    @operator(DOMAIN, "Scale", since=since, reference=reference)
    def scale(call: Call) -> Tensor:
        return pointwise(call, lambda x: x * factor, call.input(0))

    return scale


def using(nodes: list[onnx.NodeProto], outputs: list[str], version: int = 1, **options: Any) -> onnx.ModelProto:
    """A model of x with shape [3, 5]."""
    imports = [helper.make_opsetid(DOMAIN, version)]
    return model(nodes, {"x": options.pop("shape", [3, 5])}, outputs, imports=imports, **options)


def a_scale(version: int = 1) -> onnx.ModelProto:
    return using([node("Scale", ["x"], ["s"], "scale", domain=DOMAIN), node("Relu", ["s"], ["y"])], ["y"], version)


def test_two_tables_in_one_process() -> None:
    """With one cache of kernels, and models that are compiled in turn."""
    x = random((3, 5))
    for factor in (2.0, 3.0, 2.0):
        compiled = webnn_compile.compile(a_scale(), operators=times(factor))
        assert_close(compiled.run({"x": x}), {"y": np.maximum(x * np.float32(factor), 0)})
    with pytest.raises(webnn_compile.UnsupportedError, match=r"com\.example\.Scale"):
        webnn_compile.compile(a_scale())


def test_the_latest_version_that_the_model_has() -> None:
    x, table = random((3, 5)), [times(5.0, 4), times(2.0, 1), times(3.0, 2)]
    for version, factor in ((1, 2), (2, 3), (3, 3), (4, 5), (9, 5)):
        compiled = webnn_compile.compile(a_scale(version), operators=table)
        assert_close(compiled.run({"x": x}), {"y": np.maximum(x * np.float32(factor), 0)})


def test_an_operator_of_com_microsoft_that_the_compiler_lacks() -> None:
    @operator("com.microsoft", "Mine")
    def mine(call: Call) -> Tensor:
        return pointwise(call, lambda x: x + 3, call.input(0))

    imports = [helper.make_opsetid("com.microsoft", 1)]
    proto = model([node("Mine", ["x"], ["y"], domain="com.microsoft")], {"x": [3]}, ["y"], imports=imports)
    x = random((3,))
    assert_close(webnn_compile.compile(proto, operators=mine).run({"x": x}), {"y": x + 3})


def test_an_operator_that_onnx_defines_by_others_gives_way() -> None:
    """Outside of ai.onnx, where the compiler lacks it."""

    @operator("ai.onnx.preview", "FlexAttention")
    def twice_the_values(call: Call) -> Tensor:
        return pointwise(call, lambda v: v * 2, call.input(2))

    imports = [helper.make_opsetid("ai.onnx.preview", 1)]
    nodes = [node("FlexAttention", ["q", "k", "v"], ["y"], domain="ai.onnx.preview")]
    proto = model(nodes, {name: [1, 2, 3, 4] for name in "qkv"}, ["y"], imports=imports, opset=23)
    feeds = {name: random((1, 2, 3, 4), i) for i, name in enumerate("qkv")}
    assert_close(webnn_compile.compile(proto, operators=twice_the_values).run(feeds), {"y": 2 * feeds["v"]})


def test_a_function_of_the_model_gives_way() -> None:
    """And functions that call the operator are inlined, with the version of the domain that they have."""
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 2)]
    half = helper.make_function(DOMAIN, "Scale", ["a"], ["b"], [node("Neg", ["a"], ["b"])], imports[:1])
    calls = [node("Scale", ["a"], ["c"], domain=DOMAIN), node("Exp", ["c"], ["b"])]
    outer = helper.make_function("com.other", "Outer", ["a"], ["b"], calls, imports)
    proto = model([node("Outer", ["x"], ["y"], domain="com.other")], {"x": [3]}, ["y"], functions=[half, outer])
    proto.opset_import.append(helper.make_opsetid("com.other", 1))
    proto.opset_import.append(helper.make_opsetid(DOMAIN, 2))
    x = random((3,))
    assert_close(webnn_compile.compile(proto).run({"x": x}), {"y": np.exp(-x)})
    given = webnn_compile.compile(proto, operators=[times(4.0, 2), times(9.0, 3)])
    assert_close(given.run({"x": x}), {"y": np.exp(4 * x)})


def test_the_interpreter_folds_it_and_evaluates_it() -> None:
    nodes = [node("Scale", ["w"], ["s"], domain=DOMAIN), node("Add", ["x", "s"], ["a"])]
    nodes += [node("Scale", ["a"], ["y"], domain=DOMAIN)]
    w, x = random((5,), 1), random((3, 5))
    graph = import_model(using(nodes, ["y"], weights={"w": w}), model_inputs(operators=table_of([times(2.0)])))
    assert [n.op for n in graph.nodes] == ["Add", "com.example.Scale"]
    assert_close(evaluate_graph(graph, {"x": x}), {"y": 2 * (x + 2 * w)})


def test_in_branches_and_loops() -> None:
    """Inside of an If whose condition a run computes."""
    branches = {
        name: helper.make_graph(
            [node(op, ["x"], [name], domain=domain)], name, [], [helper.make_empty_tensor_value_info(name)]
        )
        for name, op, domain in (("then", "Scale", DOMAIN), ("otherwise", "Neg", ""))
    }
    nodes = [
        node("ReduceMax", ["x"], ["m"], keepdims=0),
        node("Greater", ["m", "zero"], ["c"]),
        node("If", ["c"], ["y"], then_branch=branches["then"], else_branch=branches["otherwise"]),
    ]
    proto = using(nodes, ["y"], weights={"zero": np.zeros((), np.float32)})
    compiled = webnn_compile.compile(proto, operators=times(2.0))
    x = np.abs(random((3, 5)))
    assert_close(compiled.run({"x": x}), {"y": 2 * x})
    assert_close(compiled.run({"x": -x}), {"y": x})


@operator(DOMAIN, "Extremes")
def extremes(call: Call) -> tuple[Tensor, Tensor, Tensor]:
    """Largest element of each row; its place, as int32; and x itself."""
    x = call.input(0)
    call.check_dtypes((0,), F32)
    most = reduce_axes(f"{call.name}.most", "max_nan", x.shape, (1,), (x,), lambda *i: x[i])
    first = reduce_axes(
        f"{call.name}.first", "min", x.shape, (1,), (x, most), lambda i, j: select(x[i, j].eq(most[i]), j, 1 << 20)
    )
    return most, first, x


@pytest.mark.parametrize("target", ["native", "wasm", "webgl"])
def test_outputs(target: str) -> None:
    """Several, of other types; some unnamed; an input as an output."""
    need_driver(target)
    x = random((3, 5))
    for names in (["a", "b", "c"], ["", "b", "c"], ["a"]):
        proto = using([node("Extremes", ["x"], names, domain=DOMAIN)], [n for n in names if n])
        got = webnn_compile.compile(proto, target, operators=extremes).run({"x": x})
        want = {"a": x.max(1), "b": x.argmax(1).astype(np.int32), "c": x}
        assert_close(got, {n: want[n] for n in names if n})


@operator(DOMAIN, "Neighbours", ignored=("comment",))
def neighbours(call: Call) -> Tensor:
    """Sum of both neighbours in a row, 0 beyond its ends, and of the two largest elements of the row, by TopK."""
    x = call.input(0)
    columns = call.fixed(x, (1,))[0]
    around = compute(
        f"{call.name}.around",
        x.shape,
        (x,),
        lambda i, j: x.read((i, j - 1), j.cast(I32) > 0) + x.read((i, j + 1), j < columns - 1),
    )
    values, _ = apply_all(call, "TopK", x, np.array([2]), outputs=2, axis=1)
    largest = apply(call, "ReduceSum", values, np.array([1]), keepdims=True)
    return apply(call, "Add", around, largest)


@pytest.mark.parametrize("target", ["native", "wasm", "webgl"])
def test_guards_and_operators_inside(target: str) -> None:
    """Twice in a model, with rows that vary."""
    need_driver(target)
    nodes = [node("Neighbours", ["x"], ["n"], "first", domain=DOMAIN, comment="two")]
    nodes += [node("Neighbours", ["n"], ["y"], "second", domain=DOMAIN)]
    compiled = webnn_compile.compile(
        using(nodes, ["y"], shape=["rows", 6]), target, dims={"rows": (1, 9)}, operators=neighbours
    )

    def by_numpy(x: Array) -> Array:
        wide = np.pad(x, ((0, 0), (1, 1)))
        return wide[:, :-2] + wide[:, 2:] + np.sort(x, 1)[:, -2:].sum(1, keepdims=True)

    for rows in (1, 4, 9):
        x = random((rows, 6), rows)
        assert_close(compiled.run({"x": x}), {"y": by_numpy(by_numpy(x))})


def test_float16() -> None:
    """Definitions compute in float32, as built-in operators do."""
    proto = using([node("Scale", ["x"], ["y"], domain=DOMAIN)], ["y"], dtype=TensorProto.FLOAT16)
    x = random((3, 5), dtype=np.float16)
    assert_close(webnn_compile.compile(proto, operators=times(2.0)).run({"x": x}), {"y": 2 * x})


def test_free_sizes_get_suggestions() -> None:
    """Which are tried with the user's operators."""
    proto = using([node("Scale", ["x"], ["y"], domain=DOMAIN)], ["y"], shape=["batch", 5])
    with pytest.raises(webnn_compile.InputError, match=r"--dim batch=1\n"):
        webnn_compile.compile(proto, operators=times(2.0))


def test_in_few_bits() -> None:
    """Weights of other layers are quantised, and the node is kept."""
    nodes = [node("MatMul", ["x", "w"], ["m"], "dense"), node("Scale", ["m"], ["y"], domain=DOMAIN)]
    w, x = random((64, 64)), random((2, 64), 1)
    proto = using(nodes, ["y"], weights={"w": w}, shape=[2, 64])
    quantized = webnn_compile.quantize(proto, weights="int8", operators=times(2.0), cache=False)
    assert [(i.domain, i.version) for i in quantized.opset_import if i.domain] == [(DOMAIN, 1)]
    got = webnn_compile.compile(quantized, operators=times(2.0)).run({"x": x})
    assert_close(got, {"y": 2 * x @ w}, 1e-2)


def test_a_search_of_schedules(tmp_path: Path) -> None:
    """Other processes are given its kernels and options, not the definitions, which cannot be sent."""
    onnx.save(a_scale(), tmp_path / "model.onnx")
    problem = Problem(
        tmp_path / "model.onnx", "native", Options(model_inputs(operators=table_of([times(2.0)])), cache=False)
    )
    tasks = problem.kernel_tasks(problem.lower()[0])
    sent = pickle.loads(pickle.dumps((problem.options, [t.naive for t in tasks])))
    assert [kernel.origin.ops for kernel in sent[1]] == [("com.example.Scale", "Relu")]


FILE = """
from webnn_compile.custom import operator, pointwise

def by_numpy(x, factor=1.0):
    return x * factor + SHIFT

@operator("com.example", "Scale", reference=by_numpy)
def scale(call):
    factor = call.attribute("factor", 1.0)
    return pointwise(call, lambda x: x * factor, call.input(0))
"""


def verify(folder: Path, proto: onnx.ModelProto, shift: float = 0.0) -> tuple[int, str]:
    onnx.save(proto, folder / "model.onnx")
    (folder / "ops.py").write_text(FILE.replace("SHIFT", str(shift)))
    done = run(
        *(str(folder / "model.onnx"), "--ops", str(folder / "ops.py"), "--verify", "--targets", "wasm", "--force"),
        *("--out", str(folder / "out"), "--report", str(folder / "report.json")),
    )
    return done.exit_code, " ".join((done.stdout + done.stderr).split())


def between() -> onnx.ModelProto:
    """Nodes of ONNX before, between and behind two of the user's; one reads a constant."""
    nodes = [
        node("Conv", ["x", "k"], ["c"]),
        node("Scale", ["c"], ["s"], "one", domain=DOMAIN, factor=0.5),
        node("Relu", ["s"], ["r"]),
        node("Scale", ["b"], ["t"], "two", domain=DOMAIN, factor=3.0),
        node("Add", ["r", "t"], ["a"]),
        node("Mul", ["a", "c"], ["y"]),
    ]
    weights = {"k": random((4, 2, 3, 3), 1), "b": random((4, 1, 1), 2)}
    return using(nodes, ["y", "r"], weights=weights, shape=[1, 2, 8, 8])


def test_verify_computes_what_stands_between(tmp_path: Path) -> None:
    code, text = verify(tmp_path, between())
    assert code == 0, text
    assert "verified native: largest error" in text
    assert "com.example.Scale, which onnxruntime lacks, is computed by by_numpy of ops.py" in text
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["references"] == {"com.example.Scale": "by by_numpy of ops.py"}
    launches = report["targets"]["wasm"]["launches"]
    assert {op for launch in launches for op in launch["operators"]} >= {"Conv", "com.example.Scale"}


def test_verify_inlines_functions(tmp_path: Path) -> None:
    """One calls the operator, of a version that it alone says; another one is of the operator's name."""
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 2)]
    calls = [node("Scale", ["a"], ["c"], domain=DOMAIN, factor=2.0), node("Exp", ["c"], ["b"])]
    outer = helper.make_function("com.other", "Outer", ["a"], ["b"], calls, imports)
    shadowed = helper.make_function(DOMAIN, "Scale", ["a"], ["b"], [node("Neg", ["a"], ["b"])], imports[:1], ["factor"])
    nodes = [node("Relu", ["x"], ["r"]), node("Outer", ["r"], ["y"], domain="com.other")]
    proto = model(nodes, {"x": [3]}, ["y"], functions=[outer, shadowed])
    proto.opset_import.extend([helper.make_opsetid("com.other", 1), helper.make_opsetid(DOMAIN, 2)])
    code, text = verify(tmp_path, proto)
    assert code == 0, text
    assert "com.example.Scale, which onnxruntime lacks, is computed by by_numpy" in text


def test_verify_finds_a_definition_that_is_not_its_reference(tmp_path: Path) -> None:
    code, text = verify(tmp_path, between(), 0.25)
    assert code == 2
    assert "ops.py:7: output 0 by the reference of com.example.Scale (node 'one') differs from that by the" in text
    assert not (tmp_path / "out").exists()


def test_verify_needs_the_operator_outside_of_branches(tmp_path: Path) -> None:
    inner = helper.make_graph(
        [node("Scale", ["x"], ["t"], "inner", domain=DOMAIN)], "g", [], [helper.make_empty_tensor_value_info("t")]
    )
    nodes = [node("ReduceMax", ["x"], ["m"], keepdims=0), node("Cast", ["m"], ["c"], to=TensorProto.BOOL)]
    nodes += [node("If", ["c"], ["y"], "if", then_branch=inner, else_branch=inner)]
    code, text = verify(tmp_path, using(nodes, ["y"]))
    assert code == 2
    assert "--verify: com.example.Scale (node 'inner') stands inside of If (node 'if')" in text


def test_the_same_results_as_the_operators_that_it_is_made_of() -> None:
    """A definition that applies ONNX's operators gives what a model of these gives in onnxruntime."""

    @operator(DOMAIN, "Scale")
    def softplus_of_softmax(call: Call) -> Tensor:
        return apply(call, "Softplus", apply(call, "Softmax", call.input(0), axis=0))

    x = random((3, 5))
    plain = model([node("Softmax", ["x"], ["s"], axis=0), node("Softplus", ["s"], ["y"])], {"x": [3, 5]}, ["y"])
    proto = using([node("Scale", ["x"], ["y"], domain=DOMAIN)], ["y"])
    assert_close(
        webnn_compile.compile(proto, operators=softplus_of_softmax).run({"x": x}), onnxruntime_results(plain, {"x": x})
    )
