"""Loops and conditions as TensorFlow 1 writes them: Enter, Merge, Switch, NextIteration and Exit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import webnn_compile
from tensorflow_graphs import (
    Sizes,
    Type,
    Writer,
)
from tensorflow_models import REAL, real
from webnn_compile.errors import UnsupportedError
from webnn_compile.frontends.importers import describe_model, import_model


class Frame:
    """Nodes of a loop as TensorFlow 1 has it, which compute in `graph`."""

    def __init__(self, graph: Writer, name: str) -> None:
        self._graph, self._name, self._count = graph, name, 0

    def same(self, value: str) -> str:
        """A value that the loop does not change."""
        self._count += 1
        at = f"{self._name}/{self._count}"
        return self._graph.node("Enter", [value], at, frame_name=self._name, is_constant=True)

    def variable(self, value: str) -> str:
        """The value in an iteration, which is result 1 of a Switch where the body reads it."""
        self._count += 1
        at = f"{self._name}/{self._count}"
        self._graph.node("Enter", [value], f"{at}/enter", frame_name=self._name)
        return self._graph.node("Merge", [f"{at}/enter", f"{at}/next"], at, N=2)

    def goes_on(self, condition: str, variables: list[str]) -> list[str]:
        """The variables as the body reads them."""
        self._graph.node("LoopCond", [condition], f"{self._name}/goes_on")
        return [f"{self._graph.node('Switch', [v, f'{self._name}/goes_on'], f'{v}/switch')}:1" for v in variables]

    def next(self, variable: str, value: str) -> str:
        """The variable's value behind the loop."""
        self._graph.node("NextIteration", [value], f"{variable}/next")
        return self._graph.node("Exit", [f"{variable}/switch"], f"{variable}/exit")


def test_loops_of_tensorflow_1(tmp_path: Path) -> None:
    """One in another: the total grows by three times step * x, and the step by itself, until i reaches a bound that
    runs are given."""
    graph, number = Writer(), Type("int32")
    x, bound = graph.placeholder("x", "float32", [2, 3]), graph.placeholder("bound", "int32", [])
    zero, one, three = (graph.constant(n, f"n{n}", "int32") for n in (0, 1, 3))
    two, zeros = graph.constant(2.0, "two"), graph.node("ZerosLike", [x], "zeros", T=REAL)
    outer, inner = Frame(graph, "outer"), Frame(graph, "inner")
    i, total, step = (outer.variable(v) for v in (zero, zeros, two))
    one_outside, x_outside = outer.same(one), outer.same(x)
    graph.node("Less", [i, outer.same(bound)], "less", T=number)
    i_now, total_now, step_now = outer.goes_on("less", [i, total, step])
    k, part = inner.variable(outer.same(zero)), inner.variable(total_now)
    one_inside, step_inside, x_inside = (inner.same(v) for v in (one_outside, step_now, x_outside))
    graph.node("Less", [k, inner.same(outer.same(three))], "less_1", T=number)
    k_now, part_now = inner.goes_on("less_1", [k, part])
    graph.node("Mul", [step_inside, x_inside], "scaled", T=REAL)
    inner.next(k, graph.node("AddV2", [k_now, one_inside], "next_k", T=number))
    sums = inner.next(part, graph.node("AddV2", [part_now, "scaled"], "sum", T=REAL))
    outer.next(i, graph.node("AddV2", [i_now, one_outside], "next_i", T=number))
    outer.next(step, graph.node("Add", [step_now, step_now], "doubled", T=REAL))
    graph.node("Identity", [outer.next(total, sums)], "result", T=REAL)
    (tmp_path / "net.pb").write_bytes(graph.bytes())
    model = webnn_compile.compile(tmp_path / "net.pb")
    data = real(2, 3)
    for rounds in (0, 1, 4):
        got = model.run({"x": data, "bound": np.asarray(rounds, np.int32)})["result"]
        np.testing.assert_allclose(got, 3 * data * (2 ** (rounds + 1) - 2), rtol=1e-6)


def test_lists_in_a_loop_of_tensorflow_1(tmp_path: Path) -> None:
    """As a TensorFlow.js model of a map over pictures has it: the list that is read is a variable that stays."""
    graph, number, list_of = Writer(), Type("int32"), {"element_dtype": REAL}
    x = graph.placeholder("x", "float32", [4, 3])
    zero, one, four = (graph.constant(n, f"n{n}", "int32") for n in (0, 1, 4))
    sizes = graph.constant([3], "sizes", "int32")
    graph.node("TensorListFromTensor", [x, sizes], "rows", **list_of)
    graph.node("TensorListReserve", [sizes, four], "results", **list_of)
    loop = Frame(graph, "map")
    i, rows, results = (loop.variable(v) for v in (zero, "rows", "results"))
    graph.node("Less", [i, loop.same(four)], "less", T=number)
    i_now, rows_now, results_now = loop.goes_on("less", [i, rows, results])
    graph.node("TensorListGetItem", [rows_now, i_now, loop.same(sizes)], "row", **list_of)
    graph.node("Exp", ["row"], "exp", T=REAL)
    set_ = graph.node("TensorListSetItem", [results_now, i_now, "exp"], "set", **list_of)
    graph.node("NextIteration", [rows_now], f"{rows}/next")
    loop.next(i, graph.node("AddV2", [i_now, loop.same(one)], "next_i", T=number))
    graph.node("TensorListStack", [loop.next(results, set_), sizes], "y", **list_of)
    (tmp_path / "net.pb").write_bytes(graph.bytes())
    data = real(4, 3)
    got = webnn_compile.compile(tmp_path / "net.pb").run({"x": data})["y"]
    np.testing.assert_allclose(got, np.exp(data), rtol=1e-6)
    assert describe_model(tmp_path / "net.pb").unsupported == ()


@pytest.mark.parametrize("backwards", [False, True])
def test_arrays_in_a_loop_of_tensorflow_1(backwards: bool, tmp_path: Path) -> None:
    """As tf.map_fn of TensorFlow 1 has it: rows are scattered into an array, in any order, and results gathered."""
    graph, number = Writer(), Type("int32")
    x = graph.placeholder("x", "float32", [4, 3])
    zero, one, four = (graph.constant(n, f"n{n}", "int32") for n in (0, 1, 4))
    order = graph.constant([3, 2, 1, 0] if backwards else [0, 1, 2, 3], "order", "int32")
    graph.node("TensorArrayV3", [four], "read", dtype=REAL)
    graph.node("TensorArrayV3", [four], "written", dtype=REAL, element_shape=Sizes([3]))
    graph.node("TensorArrayScatterV3", ["read", order, x, "read:1"], "rows", T=REAL)
    loop = Frame(graph, "map")
    i, results = loop.variable(zero), loop.variable("written:1")
    graph.node("Less", [i, loop.same(four)], "less", T=number)
    i_now, results_now = loop.goes_on("less", [i, results])
    graph.node("TensorArrayReadV3", [loop.same("read"), i_now, loop.same("rows")], "row", dtype=REAL)
    graph.node("Exp", ["row"], "exp", T=REAL)
    graph.node("TensorArrayWriteV3", [loop.same("written"), i_now, "exp", results_now], "set", T=REAL)
    loop.next(i, graph.node("AddV2", [i_now, loop.same(one)], "next_i", T=number))
    flow = loop.next(results, "set")
    graph.node("TensorArraySizeV3", ["written", flow], "size")
    graph.node("Range", [zero, "size", one], "all", Tidx=number)
    graph.node("TensorArrayGatherV3", ["written", "all", flow], "y", dtype=REAL)
    (tmp_path / "net.pb").write_bytes(graph.bytes())
    data = real(4, 3)
    got = webnn_compile.compile(tmp_path / "net.pb").run({"x": data})["y"]
    np.testing.assert_allclose(got, np.exp(data[::-1] if backwards else data), rtol=1e-6)


@pytest.mark.parametrize(
    ("parts", "item", "want"),
    [
        ([[0, 1]], None, [1, 2, 0, 0, 0]),
        ([[0, 1]], 4, [1, 2, 0, 0, 9]),
        ([[3, 4], [0, 1]], None, [1, 2, 0, 1, 2]),
    ],
    ids=["part", "item", "two-parts"],
)
def test_an_array_of_which_parts_are_set(
    parts: list[list[int]], item: int | None, want: list[float], tmp_path: Path
) -> None:
    """Five elements, of which two rows are scattered to `parts`, and then `item` is set."""
    graph = Writer()
    x, five = graph.placeholder("x", "float32", [2, 1]), graph.constant(5, "five", "int32")
    graph.node("TensorArrayV3", [five], "array", dtype=REAL, element_shape=Sizes([1]))
    flow = "array:1"
    for i, places in enumerate(parts):
        at = graph.constant(places, f"places{i}", "int32")
        flow = graph.node("TensorArrayScatterV3", ["array", at, x, flow], f"part{i}", T=REAL)
    if item is not None:
        place, nine = graph.constant(item, "item", "int32"), graph.constant([9.0], "nine")
        flow = graph.node("TensorArrayWriteV3", ["array", place, nine, flow], "set", T=REAL)
    every = graph.constant([0, 1, 2, 3, 4], "all", "int32")
    graph.node("TensorArrayGatherV3", ["array", every, flow], "y", dtype=REAL)
    graph.node("TensorArraySizeV3", ["array", flow], "size")
    (tmp_path / "net.pb").write_bytes(graph.bytes())
    got = webnn_compile.compile(tmp_path / "net.pb").run({"x": np.asarray([[1], [2]], np.float32)})
    np.testing.assert_array_equal(got["y"], np.asarray(want, np.float32)[:, None])
    assert got["size"] == 5


def test_conditions_of_tensorflow_1(tmp_path: Path) -> None:
    """One in another, which takes a value of both branches: below zero -x, to ten x * x, else 7."""
    graph = Writer()
    x = graph.placeholder("x", "float32", [])
    zero, ten = graph.constant(0.0, "zero"), graph.constant(10.0, "ten")
    graph.node("Identity", [graph.node("Less", [x, zero], "below", T=REAL)], "pred", T=Type("bool"))
    graph.node("Switch", ["pred", "pred"], "pivot")
    graph.node("Identity", ["pivot:1"], "switch_t", T=Type("bool"))
    graph.node("Neg", [graph.node("Switch", [x, "pred"], "x_outer") + ":1"], "negative", T=REAL)
    graph.node("Switch", [ten, "pred"], "ten_outer")
    graph.node("Less", ["x_outer", "ten_outer"], "small", T=REAL)
    graph.node("Switch", ["x_outer", "small"], "x_inner")
    graph.node("Square", ["x_inner:1"], "square", T=REAL)
    seven = graph.constant(7.0, "seven")
    graph.node("Merge", [seven, "square"], "inner", N=2)
    graph.node("Merge", ["inner", "negative"], "outer", N=2)
    graph.node("Identity", ["outer"], "y", T=REAL)
    (tmp_path / "net.pb").write_bytes(graph.bytes())
    model = webnn_compile.compile(tmp_path / "net.pb")
    for given, want in ((-3, 3), (4, 16), (11, 7)):
        assert model.run({"x": np.asarray(given, np.float32)}) == {"y": want}


def _choice(graph: Writer, sides: tuple[str, str] = ("pred", "pred")) -> str:
    """-x where x is below zero, else x * x: a Merge of Switch nodes by these conditions, "pred" being a copy of
    "less"."""
    x, zero = graph.placeholder("x", "float32", []), graph.constant(0.0, "zero")
    graph.node("Identity", [graph.node("Less", [x, zero], "less", T=REAL)], "pred", T=Type("bool"))
    graph.node("Square", [graph.node("Switch", [x, sides[0]], "above", T=REAL)], "square", T=REAL)
    graph.node("Neg", [graph.node("Switch", [x, sides[1]], "below", T=REAL) + ":1"], "negative", T=REAL)
    return graph.node("Merge", ["square", "negative"], "merge", N=2)


@pytest.mark.parametrize("sides", [("less", "pred"), ("pred", "less"), ("same", "pred")])
def test_a_condition_by_its_copies(sides: tuple[str, str], tmp_path: Path) -> None:
    """Copies of a condition are one, and no output of the model."""
    graph = Writer()
    merge = _choice(graph, sides)
    graph.node("Identity", ["less"], "same", T=Type("bool"))
    graph.node("Identity", [merge], "y", T=REAL)
    (tmp_path / "net.pb").write_bytes(graph.bytes())
    model = webnn_compile.compile(tmp_path / "net.pb")
    for given, want in ((-3, 3), (4, 16)):
        got = model.run({"x": np.asarray(given, np.float32)})
        assert got == {"y": want} | ({} if "same" in sides else {"same": given < 0})


def test_which_input_a_merge_has(tmp_path: Path) -> None:
    graph = Writer()
    merge = _choice(graph)
    graph.node("Identity", [merge], "y", T=REAL)
    graph.node("Identity", [f"{merge}:1"], "index", T=Type("int32"))
    (tmp_path / "net.pb").write_bytes(graph.bytes())
    model = webnn_compile.compile(tmp_path / "net.pb")
    for given, want in ((-3, {"y": 3, "index": 1}), (4, {"y": 16, "index": 0})):
        assert model.run({"x": np.asarray(given, np.float32)}) == want


def test_only_a_merge_of_another_form_is_refused(tmp_path: Path) -> None:
    graph = Writer()
    merge = _choice(graph)
    graph.node("Merge", [graph.constant(1.0, "one"), graph.constant(2.0, "two")], "odd", N=2)
    graph.node("AddV2", [merge, "odd"], "y", T=REAL)
    (tmp_path / "net.pb").write_bytes(graph.bytes())
    with pytest.raises(UnsupportedError, match=r"1 in all:\n  Merge: 1 operator 'odd'; it is control flow"):
        import_model(tmp_path / "net.pb")


@pytest.mark.parametrize("training", [False, True])
def test_a_condition_that_is_known_leaves_one_branch(training: bool, tmp_path: Path) -> None:
    """As networks of TensorFlow 1 have it that normalise by the batch where they are trained."""
    graph = Writer()
    graph.placeholder("x", "float32", [2])
    default = graph.constant(np.asarray(training), "default")
    graph.node("PlaceholderWithDefault", [default], "training", dtype=Type("bool"))
    graph.node("Switch", ["x", "training"], "switch")
    graph.node("Neg", ["switch:1"], "trained", T=REAL)
    graph.node("Exp", ["switch"], "used", T=REAL)
    graph.node("Identity", [graph.node("Merge", ["used", "trained"], "merge", N=2)], "y", T=REAL)
    (tmp_path / "net.pb").write_bytes(graph.bytes())
    kinds = {n.op for n in import_model(tmp_path / "net.pb").nodes}
    assert kinds - {"Identity"} == ({"Neg"} if training else {"Exp"})


def test_a_condition_in_a_loop_of_tensorflow_1(tmp_path: Path) -> None:
    """Steps of Collatz's sequence: n is halved, or tripled and increased."""
    graph, number = Writer(), Type("int32")
    n = graph.placeholder("n", "int32", [])
    zero, one, two, three = (graph.constant(k, f"n{k}", "int32") for k in (0, 1, 2, 3))
    loop = Frame(graph, "steps")
    count, value = loop.variable(zero), loop.variable(n)
    graph.node("Less", [loop.same(one), value], "more", T=number)
    count_now, value_now = loop.goes_on("more", [count, value])
    one_inside, two_inside, three_inside = (loop.same(k) for k in (one, two, three))
    graph.node("FloorMod", [value_now, two_inside], "rest", T=number)
    graph.node("Equal", ["rest", one_inside], "odd", T=number)
    for name, read in (("v", value_now), ("one", one_inside), ("two", two_inside), ("three", three_inside)):
        graph.node("Switch", [read, "odd"], name, T=number)
    graph.node("FloorDiv", ["v", "two"], "half", T=number)
    graph.node("AddV2", [graph.node("Mul", ["v:1", "three:1"], "tripled", T=number), "one:1"], "grown", T=number)
    loop.next(value, graph.node("Merge", ["half", "grown"], "next", N=2))
    steps = loop.next(count, graph.node("AddV2", [count_now, one_inside], "counted", T=number))
    graph.node("Identity", [steps], "y", T=number)
    (tmp_path / "net.pb").write_bytes(graph.bytes())
    assert webnn_compile.compile(tmp_path / "net.pb").run({"n": np.asarray(6, np.int32)})["y"] == 8


def test_a_loop_that_is_not_whole(tmp_path: Path) -> None:
    graph = Writer()
    graph.node("Enter", [graph.placeholder("x", "float32", [2])], "enter", frame_name="loop")
    graph.node("Merge", ["enter", "enter"], "merge", N=2)
    graph.node("LoopCond", ["merge"], "goes_on")
    graph.node("Switch", ["merge", "goes_on"], "switch")
    (tmp_path / "net.pb").write_bytes(graph.bytes())
    with pytest.raises(UnsupportedError, match="Switch: 1 operator 'switch'; it is control flow of TensorFlow 1"):
        import_model(tmp_path / "net.pb")
