"""Limits on the work and memory that a small file takes to compile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from hostile_models import call, doubling, with_functions
from onnx import TensorProto, helper
from onnx_models import assert_close, model, node, onnxruntime_results, random
from webnn_compile.errors import InputError
from webnn_compile.frontends.onnx import import_model
from webnn_compile.system.limits import CompileMemory, format_size, machine_memory, parse_size
from webnn_compile.tensor import evaluate


def test_nodes_are_counted_before_functions_are_inlined() -> None:
    assert len(import_model(with_functions(doubling(6))).nodes) == 64
    with pytest.raises(
        InputError,
        match=rf"has {2**40} nodes once its functions are inlined, most of them by F0 \(node 'root'\), and 2500",
    ):
        import_model(with_functions(doubling(40)))


def test_calls_in_a_branch_count() -> None:
    proto = with_functions(doubling(40))
    output = helper.make_tensor_value_info("o", TensorProto.FLOAT, [4])
    graph = helper.make_graph([node("F0", ["x"], ["o"], domain="my")], "branch", [], [output])
    proto.graph.node[0].CopyFrom(node("If", ["c"], ["y"], "choice", then_branch=graph, else_branch=graph))
    proto.graph.initializer.append(helper.make_tensor("c", TensorProto.BOOL, [], [True]))
    with pytest.raises(InputError, match=rf"has {2 * 2**40 + 1} nodes .* by If \(node 'choice'\)"):
        import_model(proto)


def with_constant(where: str) -> onnx.ModelProto:
    """64 copies of a constant of a MiB once functions are inlined: of a node, or of an attribute of the first call."""
    constant = onnx.numpy_helper.from_array(np.ones(2**18, np.float32), "k")
    value = node("Constant", [], ["k"], **({"value": constant} if where == "node" else {}))
    if where != "node":
        refers = onnx.AttributeProto(name="value", ref_attr_name="big", type=onnx.AttributeProto.TENSOR)
        value.attribute.append(refers)
    proto = with_functions([*doubling(6), [value, node("ReduceMax", ["k"], ["m"]), node("Add", ["a", "m"], ["b"])]])
    del proto.functions[5].node[:]
    proto.functions[5].node.extend([call(6, "a", "t"), call(6, "t", "b")])
    if where == "node":
        return proto
    passed = onnx.AttributeProto(name="big", ref_attr_name="big", type=onnx.AttributeProto.TENSOR)
    for function in proto.functions:
        function.attribute.append("big")
        for n in function.node:
            n.attribute.extend([passed] if n.domain == "my" else [])
    proto.graph.node[0].attribute.append(helper.make_attribute("big", constant))
    return proto


@pytest.mark.parametrize("where", ["node", "attribute"])
def test_what_inlining_copies_is_counted_before(where: str) -> None:
    """ONNX's inliner copies all of it in one call, which nothing interrupts."""
    proto = with_constant(where)
    assert onnx.inliner.inline_local_functions(proto).ByteSize() > 64 * 2**20
    expected = (
        r"what functions become once inlined, most of it by F0 \(node 'root'\), takes 64 MiB, which makes .* of "
        r"constants, and --compile-memory allows 60 MiB"
    )
    with pytest.raises(InputError, match=expected):
        import_model(proto, memory=CompileMemory(60 * 2**20))


@pytest.mark.parametrize(
    "bodies",
    [
        [[call(0, "a", "b")]],
        [[call(1, "a", "b")], [call(0, "a", "b")]],
        [*([call(i + 1, "a", "b")] for i in range(500)), [node("Relu", ["a"], ["b"])]],
    ],
    ids=["itself", "each other", "500 deep"],
)
def test_calls_without_end(bodies: list[list[onnx.NodeProto]]) -> None:
    with pytest.raises(InputError, match="is not a valid ONNX model"):
        import_model(with_functions(bodies))


def test_an_operator_that_onnx_defines_by_others_counts() -> None:
    nodes = [node("HannWindow", ["n"], [f"w{i}"], f"window{i}") for i in range(10_000)]
    proto = model([*nodes, node("Add", ["x", "w0"], ["y"])], {"x": [3]}, ["y"], {"n": np.asarray(3)})
    with pytest.raises(
        InputError, match=r"has 270001 nodes once its functions are inlined, 260000 of them by HannWindow"
    ):
        import_model(proto)


def filled(shape: Sequence[int]) -> onnx.ModelProto:
    """x + (1, as large as `shape`), reduced to its rows."""
    one = helper.make_tensor("value", TensorProto.FLOAT, [1], [1])
    nodes = [
        node("ConstantOfShape", ["s"], ["c"], "fill", value=one),
        node("Add", ["x", "c"], ["b"]),
        node("ReduceMax", ["b"], ["y"], axes=[1]),
    ]
    return model(nodes, {"x": [1]}, ["y"], {"s": np.asarray(shape)})


def test_what_is_large_is_computed_at_run_time() -> None:
    assert [n.name for n in import_model(filled([4096, 4096])).nodes] == ["Add_1", "ReduceMax_2"]
    graph = import_model(filled([4096, 4097]))
    assert [n.name for n in graph.nodes] == ["fill", "Add_1", "ReduceMax_2"]
    assert sum(a.nbytes for a in graph.constants.values()) < 100
    result = webnn_compile.compile(filled([4096, 4097])).run({"x": np.asarray([2], np.float32)})["y"]
    np.testing.assert_array_equal(result, np.full((4096, 1), 3, np.float32))


def test_weights_are_folded_however_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webnn_compile.graph.builder.FOLD_BYTES", 0)
    nodes = [
        node("Cast", ["h"], ["w"], to=1),
        node("Concat", ["w", "v"], ["m"], axis=0),
        node("Add", ["x", "m"], ["y"]),
    ]
    weights = {"h": random((30,), 0, np.float16), "v": random((30,), 1)}
    assert [n.op for n in import_model(model(nodes, {"x": [60]}, ["y"], weights)).nodes] == ["Add"]
    # One operand twice counts once: else a chain of these would double without end.
    nodes[1] = node("Concat", ["w", "w"], ["m"], axis=0)
    assert [n.op for n in import_model(model(nodes, {"x": [60]}, ["y"], weights)).nodes] == ["Concat", "Add"]


def test_work_is_folded_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    proto = model(
        [node("MatMul", ["a", "a"], ["m"]), node("Add", ["x", "m"], ["y"])], {"x": [8]}, ["y"], {"a": random((8, 8))}
    )
    monkeypatch.setattr("webnn_compile.graph.builder.FOLD_STEPS", 8**3)
    assert [n.op for n in import_model(proto).nodes] == ["Add"]
    monkeypatch.setattr("webnn_compile.graph.builder.FOLD_STEPS", 8**3 - 1)
    assert [n.op for n in import_model(proto).nodes] == ["MatMul", "Add"]


@pytest.mark.parametrize(("limit", "calls"), [(10**6, 1), (8 * 12, 5), (16, 30), (8, 60), (7, 60)])
def test_a_long_reduction_is_folded_in_slices(limit: int, calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices of 5 x 12 elements for each of 8 results: a row or more, parts of a row, single elements."""
    counted: list[object] = []

    def counting(*arguments: Any) -> Any:
        counted.append(arguments)
        return collapse(*arguments)

    collapse = evaluate._collapse
    monkeypatch.setattr(evaluate, "GRID_LIMIT", limit)
    monkeypatch.setattr(evaluate, "_collapse", counting)
    a = random((5, 8, 12))
    proto = model(
        [node("ReduceSum", ["a", "axes"], ["s"], keepdims=0), node("Add", ["x", "s"], ["y"])],
        {"x": [8]},
        ["y"],
        {"a": a, "axes": np.asarray([0, 2])},
    )
    folded = {v.name: data for v, data in import_model(proto).constants.items()}["s"]
    np.testing.assert_allclose(folded, a.astype(np.float64).sum((0, 2)), rtol=1e-6)
    assert len(counted) == calls


@pytest.mark.parametrize("target", webnn_compile.TARGETS)
def test_targets_compute_what_is_not_folded(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    need_driver(target)
    monkeypatch.setattr("webnn_compile.graph.builder.FOLD_BYTES", 16)
    nodes = [
        node("ConstantOfShape", ["s"], ["c"], value=helper.make_tensor("v", TensorProto.FLOAT, [1], [3])),
        node("Range", ["a", "b", "d"], ["r"]),
        node("Cast", ["r"], ["f"], to=1),
        node("Add", ["c", "f"], ["k"]),
        node("Softmax", ["k"], ["p"]),
        node("MatMul", ["x", "p"], ["y"]),
        node("Expand", ["e", "s"], ["z"]),
    ]
    weights = {"s": np.asarray([5, 6]), "e": np.asarray([[7]], np.float32)}
    weights |= {"a": np.asarray(0), "b": np.asarray(6), "d": np.asarray(1)}
    proto = model(nodes, {"x": [2, 5]}, ["y", "z"], weights)
    kept = {n.op for n in import_model(proto).nodes}
    assert kept >= {"ConstantOfShape", "Range", "Softmax", "Expand"}
    x = {"x": random((2, 5))}
    assert_close(webnn_compile.compile(proto, target).run(x), onnxruntime_results(proto, x))


def test_constants_fit_the_memory_for_compiling() -> None:
    proto = model([node("Add", ["x", "w"], ["y"])], {"x": [1000]}, ["y"], {"w": random((1000,))})
    import_model(proto, memory=CompileMemory(20_000))
    kept = r"keeps 3\.906 KiB of constants, the largest 'w' of 3\.906 KiB; .* --compile-memory allows 19\.53 KiB:"
    with pytest.raises(InputError, match=kept):
        import_model(proto, memory=CompileMemory(19_999))
    with pytest.raises(InputError, match=r"tensor 'w' takes 3\.906 KiB, which makes .* --compile-memory allows"):
        import_model(proto, memory=CompileMemory(3_999))
    with pytest.raises(InputError, match="--compile-memory"):
        webnn_compile.compile(proto, compile_memory=19_999)


def test_what_is_folded_away_is_counted_once() -> None:
    """Each of a chain of copies takes memory while importing; the model keeps the last."""
    nodes = [node("Neg", [f"w{i}"], [f"w{i + 1}"]) for i in range(6)]
    proto = model([*nodes, node("Add", ["x", "w6"], ["y"])], {"x": [1000]}, ["y"], {"w0": random((1000,))})
    import_model(proto, memory=CompileMemory(28_000))
    with pytest.raises(InputError, match=r"Neg \(node 'Neg_5'\): its result takes 3\.906 KiB"):
        import_model(proto, memory=CompileMemory(27_999))


def test_folding_fits_the_memory_for_compiling() -> None:
    with pytest.raises(InputError, match=r"ConstantOfShape \(node 'fill'\): its result takes 3\.815 MiB"):
        import_model(filled([1000, 1000]), memory=CompileMemory(3 * 2**20))


def test_a_sparse_tensor_fits_the_memory_for_compiling() -> None:
    proto = model([node("Add", ["x", "w"], ["y"])], {"x": [1]}, ["y"])
    values = helper.make_tensor("w", TensorProto.FLOAT, [1], [9])
    indices = helper.make_tensor("i", TensorProto.INT64, [1], [2])
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2**40]))
    with pytest.raises(InputError, match=r"sparse tensor 'w' of shape \[1099511627776\] takes 4 TiB"):
        import_model(proto)


@pytest.mark.parametrize(
    "error", [MemoryError("4 TiB"), ValueError("array is too big; `arr.size * arr.dtype.itemsize` is larger than ...")]
)
def test_memory_that_lacks_while_folding_names_the_node(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("webnn_compile.graph.evaluate_folded.evaluate", fail)
    with pytest.raises(InputError, match=r"ConstantOfShape \(node 'fill'\): memory runs out while its constants are"):
        import_model(filled([10, 10]))


def test_ranges_are_not_listed() -> None:
    """ONNX's inference would hold each of the elements of a Range."""
    nodes = [node("Range", ["a", "b", "d"], ["r"], "range"), node("Add", ["x", "r"], ["y"])]
    ends = {"a": np.asarray(0), "b": np.asarray(2 * 10**9), "d": np.asarray(1)}
    graph = import_model(model(nodes, {"x": [1]}, ["y"], ends, dtype=TensorProto.INT64))
    assert [n.name for n in graph.nodes] == ["range", "Add_1"]


def test_initialiser_whose_dims_overflow() -> None:
    proto = model([node("Mul", ["w", "x"], ["y"])], {"x": [1]}, ["y"])
    proto.graph.initializer.append(onnx.TensorProto(name="w", data_type=1, dims=[2**32, 2**32]))
    with pytest.raises(InputError, match=r"tensor 'w' of shape \[4294967296, 4294967296\] is damaged"):
        import_model(proto)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4GiB", 4 * 2**30),
        ("4gb", 4 * 10**9),
        ("2G", 2 * 2**30),
        ("1.5 MiB", 3 * 2**19),
        ("500", 500),
        ("7B", 7),
        ("9" * 400, int("9" * 400)),
        ("0", None),
        *((t, None) for t in ("", "x", "-3", "4bb", "GiB", "4 EiB", "٣")),
    ],
)
def test_sizes(text: str, size: int | None) -> None:
    assert parse_size(text) == size


def test_a_container_may_have_less_memory_than_its_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit, other = tmp_path / "memory.max", tmp_path / "none"
    limit.write_text("1000\n")
    monkeypatch.setattr("webnn_compile.system.limits._CGROUP_LIMITS", (str(other), str(limit)))
    assert machine_memory() == 1000
    limit.write_text("max\n")
    assert machine_memory() > 2**30
    assert format_size(machine_memory()).endswith("iB")
