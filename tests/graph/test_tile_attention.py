"""Attention with large scores, in strips of queries: the graph, and its numbers on every target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from graph_checks import check_pass, feeds_of, ops
from onnx import helper
from onnx.reference import ReferenceEvaluator
from onnx_models import assert_close, model, node, onnxruntime_results, random
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph import tile_attention as module
from webnn_compile.graph.ir import Graph
from webnn_compile.graph.tile_attention import tile_attention
from webnn_compile.program.steps import Loop

SCALE = {"scale": np.float32(0.25), "zero": np.float32(0), "none": np.float32(-np.inf)}
BATCH, HEADS, SIZE = 2, 3, 5
CONTRIB: Mapping[str, Any] = {"imports": [helper.make_opsetid("com.microsoft", 1)]}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores of 2 kB are large, and strips of a query take more than they may."""
    monkeypatch.setattr(module, "WHOLE", 2_000)
    monkeypatch.setattr(module, "VARYING", 2_000)
    monkeypatch.setattr(module, "STRIP", 100)


def attention(
    queries: int | str,
    keys: int | str,
    before: Sequence[onnx.NodeProto] = (),
    scores: str = "scores",
    after: Sequence[onnx.NodeProto] = (),
    weights: str = "weights",
    inputs: Mapping[str, Sequence[int | str]] | None = None,
    outputs: Sequence[str] = ("y",),
    axis: int = -1,
) -> onnx.ModelProto:
    """softmax(q k' ...) v, with nodes before and after the softmax."""
    shape = [BATCH, HEADS]
    given = {"q": [*shape, queries, SIZE], "k": [*shape, keys, SIZE], "v": [*shape, keys, SIZE], **(inputs or {})}
    nodes = [
        node("Transpose", ["k"], ["t"], perm=[0, 1, 3, 2]),
        node("MatMul", ["q", "t"], ["scores"]),
        *before,
        node("Softmax", [scores], ["weights"], axis=axis),
        *after,
        node("MatMul", [weights, "v"], ["y"]),
    ]
    return model(nodes, given, list(outputs), SCALE)


def plain(queries: int | str, keys: int | str) -> onnx.ModelProto:
    return attention(queries, keys)


def masked(queries: int | str, keys: int | str) -> onnx.ModelProto:
    """Attention as exporters write it: a scale, a mask for each query, and zeros for what sees no key."""
    return attention(
        queries,
        keys,
        [node("Mul", ["scores", "scale"], ["scaled"]), node("Add", ["scaled", "mask"], ["added"])],
        "added",
        [node("IsNaN", ["weights"], ["wrong"]), node("Where", ["wrong", "zero", "weights"], ["right"])],
        "right",
        {"mask": [1, 1, queries, keys]},
    )


def by_keys(queries: int | str, keys: int | str) -> onnx.ModelProto:
    """A mask that is the same for all queries, and one that is a condition."""
    before = [
        node("Less", ["mask", "zero"], ["hidden"]),
        node("Where", ["hidden", "none", "scores"], ["seen"]),
        node("Add", ["bias", "seen"], ["added"]),
    ]
    inputs = {"mask": [queries, keys], "bias": [BATCH, 1, 1, keys]}
    return attention(queries, keys, before, "added", inputs=inputs)


def projected(queries: int | str, keys: int | str) -> onnx.ModelProto:
    """Attention of three dimensions by products of one input, the last of which is computed for all keys."""
    del keys
    nodes = [
        node("MatMul", ["x", "a"], ["q"]),
        node("MatMul", ["x", "b"], ["k"]),
        node("MatMul", ["x", "c"], ["v"]),
        node("Transpose", ["k"], ["t"], perm=[0, 2, 1]),
        node("MatMul", ["q", "t"], ["scores"]),
        node("Softmax", ["scores"], ["weights"], axis=2),
        node("MatMul", ["weights", "v"], ["y"]),
    ]
    return model(nodes, {"x": [BATCH, queries, 6]}, ["y"], {n: random((6, 4), i) for i, n in enumerate("abc")})


def operator(queries: int | str, keys: int | str) -> onnx.ModelProto:
    """ONNX's own, of four dimensions, whose queries share heads of the keys."""
    inputs: dict[str, Sequence[int | str]] = {
        "q": [BATCH, 4, queries, SIZE],
        "k": [BATCH, 2, keys, SIZE],
        "v": [BATCH, 2, keys, SIZE],
        "mask": [queries, keys],
    }
    return model([node("Attention", ["q", "k", "v", "mask"], ["y"], softcap=2.0)], inputs, ["y"], opset=23)


def of_onnxruntime(queries: int | str, keys: int | str) -> onnx.ModelProto:
    inputs = {"q": [BATCH, queries, 8], "k": [BATCH, keys, 8], "v": [BATCH, keys, 8], "bias": [1, 1, queries, keys]}
    names = ["q", "k", "v", "", "", "bias"]
    return model(
        [node("MultiHeadAttention", names, ["y"], domain="com.microsoft", num_heads=2)], inputs, ["y"], **CONTRIB
    )


MODELS: Mapping[str, Callable[[int | str, int | str], onnx.ModelProto]] = {
    f.__name__: f for f in (plain, masked, by_keys, projected, operator, of_onnxruntime)
}
SIZES = {"divided": (48, 11), "left over": (37, 13), "few keys": (65, 5)}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("size", SIZES)
def test_the_graph(name: str, size: str) -> None:
    """A loop over strips has all of it, and rows of operands that have them."""
    queries, keys = SIZES[size]
    graph = check_pass(tile_attention, MODELS[name](queries, keys), reference=name != "operator")
    (loop,) = (n for n in graph.nodes if n.op == "Loop")
    inside, outside = ops(loop.regions[0]), ops(graph)
    whole = {"Softmax", "Attention", "com.microsoft.MultiHeadAttention"}
    assert whole & {*inside}
    assert not whole & {*outside}
    assert inside.count("Gather") == (1 if name in ("plain", "projected") else 2)
    (counter,) = loop.regions[0].inputs[0].elements or ()
    assert counter.extent == -(-queries // module.LEAST)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("target", ["native", "c", "wasm", "opencl", "cuda", "webgpu", "webgl"])
def test_numbers(target: str, name: str) -> None:
    """Results are onnxruntime's, and nothing of the run before is in them."""
    need_driver(target)
    made = MODELS[name](37, 13)
    compiled: Any = webnn_compile.compile(made, target)
    graph = import_model(made)
    given = feeds_of(graph)
    compiled.run({k: np.full_like(a, np.nan) for k, a in given.items()})
    assert_close(compiled.run(given), reference(made, graph, given), 1e-5)


def reference(made: onnx.ModelProto, graph: Graph, given: Mapping[str, Any]) -> Mapping[str, Any]:
    if any(n.op == "Attention" for n in graph.nodes):
        return {"y": ReferenceEvaluator(made).run(None, dict(given))[0]}
    return onnxruntime_results(made, given)


def test_elements_are_the_same_as_without(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last bit, also of queries that see no key."""
    made = masked(53, 17)
    given = feeds_of(import_model(made))
    given["mask"][0, 0, [3, 52]] = -np.inf
    tiled = webnn_compile.compile(made).run(given)
    monkeypatch.setattr(module, "WHOLE", 2**30)
    np.testing.assert_array_equal(tiled["y"], webnn_compile.compile(made).run(given)["y"])
    assert (tiled["y"][:, :, [3, 52]] == 0).all()


def test_keys_whose_number_varies() -> None:
    """Strips are of queries, whose number is known."""
    made = attention(40, 1, inputs={"k": [BATCH, HEADS, "N", SIZE], "v": [BATCH, HEADS, "N", SIZE]})
    compiled: Any = webnn_compile.compile(made, dims={"N": (1, 30)})
    for keys in (30, 1, 13):
        shape = (BATCH, HEADS, keys, SIZE)
        given = {"q": random((BATCH, HEADS, 40, SIZE)), "k": random(shape, 1), "v": random(shape, 2)}
        assert_close(compiled.run(given), onnxruntime_results(made, given))


@pytest.mark.parametrize("name", ["plain", "by_keys", "of_onnxruntime"])
@pytest.mark.parametrize("target", ["native", "c", "wasm", "opencl", "webgpu", "webgl"])
def test_queries_whose_number_varies(target: str, name: str) -> None:
    """Runs of as many as keys, fewer and more than a strip has, a long one before a short one."""
    need_driver(target)
    made = MODELS[name]("N", "N")
    compiled: Any = webnn_compile.compile(made, target, dims={"N": (0, 50)})
    assert any(isinstance(step, Loop) for step in compiled.program.steps)
    most = feeds_of(import_model(MODELS[name](50, 50)))
    for n in (50, 1, 8, 21, 0):
        given = {k: a[tuple(slice(n if size == 50 else None) for size in a.shape)] for k, a in most.items()}
        assert_close(compiled.run(given), onnxruntime_results(made, given))


def test_batches_that_vary_too() -> None:
    made = bare(["q", "t"], ["weights", "v"], {"q": ["B", "N", 4], "t": ["B", 4, "N"], "v": ["B", "N", 6]})
    compiled: Any = webnn_compile.compile(made, dims={"N": (1, 30), "B": (1, 3)})
    for batch, n in ((3, 30), (1, 7), (2, 16)):
        shapes = {"q": (batch, n, 4), "t": (batch, 4, n), "v": (batch, n, 6)}
        given = {name: random(shape, i) for i, (name, shape) in enumerate(shapes.items())}
        assert_close(compiled.run(given), onnxruntime_results(made, given))


def test_several_in_one_model() -> None:
    """A mask that all share is computed once, outside."""
    nodes, last = [node("Mul", ["mask", "scale"], ["shared"])], "q"
    for i in range(3):
        nodes += [
            node("MatMul", [last, "t"], [f"scores{i}"]),
            node("Add", [f"scores{i}", "shared"], [f"added{i}"]),
            node("Softmax", [f"added{i}"], [f"weights{i}"], axis=-1),
            node("MatMul", [f"weights{i}", "v"], [f"y{i}"]),
        ]
        last = f"y{i}"
    made = model(nodes, {"q": [40, 4], "t": [4, 40], "v": [40, 4], "mask": [40, 40]}, ["y2", "y0"], SCALE)
    graph = check_pass(tile_attention, made)
    assert ops(graph).count("Loop") == 3
    assert ops(graph).count("Mul") == 1


def test_scores_that_are_the_results_of_another() -> None:
    """A product is in one loop alone."""
    nodes = [
        node("MatMul", ["q", "t"], ["scores0"]),
        node("Softmax", ["scores0"], ["weights0"], axis=-1),
        node("MatMul", ["weights0", "m"], ["scores1"]),
        node("Softmax", ["scores1"], ["weights1"], axis=-1),
        node("MatMul", ["weights1", "v"], ["y"]),
    ]
    made = model(nodes, {"q": [40, 4], "t": [4, 30], "m": [30, 20], "v": [20, 5]}, ["y"])
    assert ops(check_pass(tile_attention, made)).count("Loop") == 1


def small_scores() -> onnx.ModelProto:
    return plain(9, 9)


def few_queries() -> onnx.ModelProto:
    return plain(15, 90)


def read_twice() -> onnx.ModelProto:
    """Weights that are a result, too."""
    return attention(40, 40, outputs=["y", "weights"])


def over_queries() -> onnx.ModelProto:
    """A softmax along the queries."""
    return attention(40, 40, axis=2)


def bare(first: Sequence[str], last: Sequence[str], inputs: Mapping[str, Sequence[int | str]]) -> onnx.ModelProto:
    """Two products, of these operands, and a softmax between them."""
    nodes = [
        node("MatMul", first, ["scores"]),
        node("Softmax", ["scores"], ["weights"], axis=-1),
        node("MatMul", last, ["y"]),
    ]
    return model(nodes, inputs, ["y"])


def of_their_own() -> onnx.ModelProto:
    """Weights that multiply themselves."""
    return bare(["q", "t"], ["weights", "weights"], {"q": [40, 4], "t": [4, 40]})


def one_vector_of_values() -> onnx.ModelProto:
    """Results that are numbers, in one axis less."""
    return bare(["q", "t"], ["weights", "v"], {"q": [40, 4], "t": [4, 40], "v": [40]})


def one_query() -> onnx.ModelProto:
    """A vector, whose product with each of several matrices is a row."""
    return bare(["q", "t"], ["weights", "v"], {"q": [4], "t": [40, 4, 30], "v": [30, 5]})


def one_key() -> onnx.ModelProto:
    """Scores that are products with a vector, as many as queries in as many batches."""
    return bare(["q", "t"], ["weights", "v"], {"q": [40, 40, 4], "t": [4], "v": [40, 5]})


def flattened() -> onnx.ModelProto:
    """Before opset 13 a softmax is over all axes from one on, by default the second."""
    nodes = [node("MatMul", ["q", "t"], ["s"]), node("Softmax", ["s"], ["w"]), node("MatMul", ["w", "v"], ["y"])]
    return model(nodes, {"q": [2, 40, 4], "t": [2, 4, 40], "v": [2, 40, 4]}, ["y"], opset=12)


def values_of_queries() -> onnx.ModelProto:
    """Values that are the queries: the product needs them all."""
    return bare(["x", "t"], ["weights", "x"], {"x": [40, 4], "t": [4, 40]})


def causal() -> onnx.ModelProto:
    """Whose queries depend on their places."""
    shape = {name: [1, 1, 40, 4] for name in "qkv"}
    return model([node("Attention", ["q", "k", "v"], ["y"], is_causal=1)], shape, ["y"], opset=23)


def packed() -> onnx.ModelProto:
    """Queries, keys and values in one input."""
    inputs = {"x": [1, 40, 2, 3, 4]}
    return model(
        [node("MultiHeadAttention", ["x"], ["y"], domain="com.microsoft", num_heads=2)], inputs, ["y"], **CONTRIB
    )


def with_past() -> onnx.ModelProto:
    inputs = {"q": [1, 40, 4], "k": [1, 40, 4], "v": [1, 40, 4], "pk": [1, 1, 3, 4], "pv": [1, 1, 3, 4]}
    attributes = {"domain": "com.microsoft", "num_heads": 1}
    names = ["q", "k", "v", "", "", "", "pk", "pv"]
    return model([node("MultiHeadAttention", names, ["y"], **attributes)], inputs, ["y"], **CONTRIB)


@pytest.mark.parametrize(
    "build",
    [
        small_scores,
        few_queries,
        read_twice,
        over_queries,
        of_their_own,
        one_vector_of_values,
        one_query,
        one_key,
        values_of_queries,
        flattened,
        causal,
        packed,
        with_past,
    ],
    ids=lambda f: f.__name__,
)
def test_others_stay(build: Callable[[], onnx.ModelProto]) -> None:
    graph = import_model(build())
    assert tile_attention(graph) is graph


@pytest.mark.parametrize("dims", [{"N": (1, 40), "P": (1, 40)}, {"N": "1..40,fast=1"}], ids=["others", "fast"])
def test_models_that_take_single_tokens_stay(dims: dict[str, Any]) -> None:
    """Queries that are fewer than keys, and a usual size."""
    made = attention("N", "P" if "P" in dims else "N")
    compiled: Any = webnn_compile.compile(made, dims=dims)
    assert not any(isinstance(step, Loop) for step in compiled.program.steps)


def test_memory_of_a_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the sizes that the module has: scores of 14.4 MB take 4."""
    monkeypatch.undo()
    made = attention(1001, 600)
    given = feeds_of(import_model(made))
    compiled: Any = webnn_compile.compile(made)
    scores = BATCH * HEADS * 1001 * 600 * 4
    assert scores > module.WHOLE
    assert compiled.program.arena < module.STRIP + scores // 3
    assert_close(compiled.run(given), onnxruntime_results(made, given))


def test_names_of_results() -> None:
    """The output keeps its name."""
    made = helper.make_model(masked(37, 13).graph, opset_imports=[helper.make_opsetid("", 18)])
    assert [v.name for v in tile_attention(import_model(made)).outputs] == ["y"]
