"""States, which outlive a run, on every target, and sessions of them."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
import webnn_compile
from drivers import need_driver
from onnx import TensorProto as T
from onnx import helper
from state_rows import ROWS, Row
from webnn_compile.errors import InputError
from webnn_compile.program.states import StateFullError

TARGETS = ("native", "wasm", "wasm-relaxed", "webgpu", "webgl", "opencl", "cuda", "c")


def _compiled(row: Row, target: str = "native", **options: object):
    need_driver(target)
    return webnn_compile.compile(row.model, target, dims=row.dims, states=row.pairs, **options)


def _named(name: str) -> Row:
    return next(r for r in ROWS if r.name == name)


GROWING = _named("rows of four behind others, in the middle of three dimensions, and along the first")
CELL = _named("a cell")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.name)
def test_runs_find_what_those_before_have_left(row: Row, target: str) -> None:
    model = _compiled(row, target)
    for given, results, states in row.runs(12):
        got = model.run(given)
        assert got.keys() == results.keys()
        for name, want in results.items():
            np.testing.assert_allclose(got[name], want, rtol=1e-4, atol=1e-4)
        saved = model.save_state()
        assert saved.keys() == states.keys()
        for name, want in states.items():
            assert saved[name].dtype == want.dtype
            np.testing.assert_allclose(saved[name], want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("target", ["native", "wasm", "webgl", "webgpu"])
def test_memory_is_given_back_with_the_last_reference(target: str) -> None:
    """Without a collection of cycles, which may come late."""
    model = _compiled(CELL, target)
    given, _, _ = next(iter(CELL.runs(1)))
    model.run(given)
    model.fork().run(given)
    seen = weakref.ref(model)
    gc.disable()
    try:
        del model
        assert seen() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("target", ["native", "wasm", "webgl", "webgpu"])
@pytest.mark.parametrize("row", [GROWING, CELL], ids=lambda r: r.name)
def test_sessions_are_apart(row: Row, target: str) -> None:
    model = _compiled(row, target)
    sessions = [model, *(model.session() for _ in range(3))]
    every = [row.runs(6, seed) for seed in range(4)]
    for _ in range(6):
        for session, runs in zip(sessions, every, strict=True):
            given, results, _ = next(runs)
            got = session.run(given)
            for name, want in results.items():
                np.testing.assert_allclose(got[name], want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("target", ["native", "wasm", "webgl", "webgpu"])
@pytest.mark.parametrize("row", [GROWING, CELL], ids=lambda r: r.name)
def test_states_are_saved_and_loaded_forked_and_reset(row: Row, target: str) -> None:
    model = _compiled(row, target)
    runs = list(row.runs(5))
    for given, _, _ in runs[:3]:
        model.run(given)
    saved, fork, position = model.save_state(), model.fork(), model.position
    assert position
    first = [model.run(given) for given, _, _ in runs[3:]]
    model.load_state(saved)
    assert row is CELL or model.position == position
    again = [model.run(given) for given, _, _ in runs[3:]]
    forked = [fork.run(given) for given, _, _ in runs[3:]]
    other = model.session()
    other.load_state(saved)
    loaded = [other.run(given) for given, _, _ in runs[3:]]
    model.reset()
    assert model.position == 0
    for session in (again, forked, loaded):
        for one, two in zip(first, session, strict=True):
            for name in one:
                np.testing.assert_array_equal(one[name], two[name])
    for given, results, _ in runs:
        got = model.run(given)
        for name, want in results.items():
            np.testing.assert_allclose(got[name], want, rtol=1e-4, atol=1e-4)


def test_rows_are_dropped_and_come_again() -> None:
    model = _compiled(GROWING)
    given = [g for g, _, _ in GROWING.runs(4)]
    for g in given[:2]:
        model.run(g)
    here = model.position
    wanted = [model.run(g) for g in given[2:]]
    model.rewind(model.position - here)
    assert model.position == here
    for g, want in zip(given[2:], wanted, strict=True):
        for name, a in model.run(g).items():
            np.testing.assert_array_equal(a, want[name])
    with pytest.raises(InputError, match=r"the states have \d+ rows"):
        model.rewind(model.position + 1)
    with pytest.raises(InputError, match="a run does not just add rows to the end of h; save_state"):
        _compiled(CELL).rewind(1)


@pytest.mark.parametrize("target", ["native", "wasm", "webgl", "c"])
def test_a_run_beyond_the_capacity_computes_nothing(target: str) -> None:
    """Nor where the rows were loaded: a run may leave more than it may find."""
    model = _compiled(GROWING, target)
    x = np.ones((1, 3, 3, 4), np.float32)
    while model.position <= 40:
        model.run({"x": x})
    full = model.save_state()
    loaded = model.session()
    loaded.load_state(full)
    for session in (model, loaded, loaded.fork()):
        with pytest.raises(StateFullError, match="P is 42, and the model was compiled for at most 40"):
            session.run({"x": x})
        assert session.position == 42
        for name, a in session.save_state().items():
            np.testing.assert_array_equal(a, full[name])
        session.rewind(2)
        session.run({"x": x})
    more = {"p": np.zeros((1, 3, 44, 4), np.float32), "q": np.zeros((44, 1, 3, 4), np.float32)}
    with pytest.raises(InputError, match=r"load_state: 'p' has room for \[1, 3, 43, 4\], got \[1, 3, 44, 4\]"):
        loaded.load_state(more)
    assert loaded.position == 43


@pytest.mark.parametrize("target", ["native", "wasm", "webgl", "opencl", "c"])
def test_a_full_state_is_told_before_inputs_that_follow_it_are_copied(target: str) -> None:
    """Their memory has room for no more rows than the state."""
    need_driver(target)
    nodes = [
        helper.make_node("Concat", ["p", "x"], ["q"], axis=0),
        helper.make_node("Mul", ["q", "mask"], ["y"]),
        helper.make_node("Mul", ["p", "old"], ["z"]),
    ]
    shapes = {"x": (2, 3), "p": ("P", 3), "mask": ("P + 2", 1), "old": ("P", 1)}
    shapes |= dict.fromkeys("yzq", ("Q", 3))
    info = {name: helper.make_tensor_value_info(name, T.FLOAT, shape) for name, shape in shapes.items()}
    inputs, outputs = ([info[n] for n in names.split()] for names in ("x p mask old", "y z q"))
    made = helper.make_model(helper.make_graph(nodes, "g", inputs, outputs), ir_version=9)
    model = webnn_compile.compile(made, target, dims={"P": (0, 5)}, states=["p=q"])

    def run(rows: int) -> None:
        masks = {"mask": np.ones((rows + 2, 1), np.float32), "old": np.ones((rows, 1), np.float32)}
        model.run({"x": np.ones((2, 3), np.float32), **masks})

    for rows in (0, 2, 4):
        run(rows)
    with pytest.raises(StateFullError, match="P is 6, and the model was compiled for at most 5"):
        run(6)


def test_wrong_inputs_leave_the_states() -> None:
    model = _compiled(CELL)
    given = [g for g, _, _ in CELL.runs(2)]
    model.run(given[0])
    with pytest.raises(InputError, match="expected float32"):
        model.run({"x": np.zeros((3, 4), np.float32)})
    with pytest.raises(InputError, match="input 'h' is missing"):
        model.load_state({})
    with pytest.raises(InputError, match="expected float32"):
        model.load_state({"h": np.zeros((3, 4), np.float32)})
    results = list(CELL.runs(2))[1][1]
    np.testing.assert_allclose(model.run(given[1])["y"], results["y"], rtol=1e-5, atol=1e-5)


def test_a_state_that_grows_is_not_copied() -> None:
    """Launches store new rows, those of a step of one row as well as those of others, and none copies what is there."""
    program = _compiled(GROWING, cache=False).program
    assert not any("back" in launch.name or "copy" in launch.name for launch in program.launches)
    stored = [k for k in program.kernels if k.row]
    assert len(stored) == 2 * 2


def test_without_states_there_is_nothing_to_keep() -> None:
    model = webnn_compile.compile(CELL.model)
    assert [s.name for s in model.program.inputs] == ["x", "h"]
    with pytest.raises(InputError, match="compile it with states"):
        model.reset()


@pytest.mark.parametrize(
    ("pairs", "dims", "text"),
    [
        (["h"], {}, "give INPUT=OUTPUT"),
        (["h*=h2"], {}, "give INPUT=OUTPUT"),
        (["h=h2", "none"], {}, "give INPUT=OUTPUT"),
        (["k=h2"], {}, "no such input and output; inputs: ['x', 'h']; outputs: ['y', 'h2']"),
        (["h=h2", "x=h2"], {}, "the output 'h2' is that of state 'h=h2', too"),
        (["h=h2", "h=y"], {}, "the input 'h' is that of state 'h=h2', too"),
    ],
)
def test_pairs_that_are_no_states(pairs: list[str], dims: dict[str, int], text: str) -> None:
    with pytest.raises(InputError) as error:
        webnn_compile.compile(CELL.model, states=pairs, dims=dims)
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("name", "pairs", "dims", "text"),
    [
        ("rows behind others", ["p=p2"], {"S": 2, "P": (1, 9)}, "give --dim P=0..9"),
        ("rows behind others", ["p=p2"], {"S": 2, "P": 3}, "has to be a dimension of its own"),
        ("integers that count", ["n=y"], {}, "the input is int64[1], the output float32[3]"),
    ],
)
def test_states_that_do_not_fit(name: str, pairs: list[str], dims: dict[str, object], text: str) -> None:
    with pytest.raises(InputError) as error:
        webnn_compile.compile(_named(name).model, states=pairs, dims=dims)
    assert text in str(error.value)


@pytest.mark.parametrize("target", ["native", "wasm", "webgpu"])
def test_what_a_batch_has_left_is_of_that_batch(target: str) -> None:
    """A size of the states that other inputs decide, too, is what it was."""
    need_driver(target)
    row = _named("rows of four behind others, in the middle of three dimensions, and along the first")
    inputs = {n: (t, tuple("B" if i == s.index(1) else d for i, d in enumerate(s))) for n, (t, s) in row.inputs.items()}
    outputs = {n: (t, tuple(f"{n}{i}" for i in range(len(s)))) for n, (t, s) in row.outputs.items()}
    model = webnn_compile.compile(
        replace(row, inputs=inputs, outputs=outputs).model, target, dims={**row.dims, "B": (1, 3)}, states=row.pairs
    )
    x = np.random.default_rng(3).standard_normal((2, 3, 2, 4)).astype(np.float32)
    assert model.save_state()["p"].shape == (1, 3, 0, 4)
    first = model.run({"x": x})
    assert model.save_state()["q"].shape == (2, 2, 3, 4)
    with pytest.raises(InputError, match="B is 3, and the states are of runs with 2"):
        model.run({"x": np.ones((3, 3, 2, 4), np.float32)})
    saved = model.save_state()
    second = model.run({"x": x[:, :, :1]})
    whole = np.concatenate([x, x[:, :, :1]], 2)
    np.testing.assert_allclose(second["y"], np.maximum(whole, 0).mean(2, keepdims=True), rtol=1e-5, atol=1e-5)
    model.reset()
    model.run({"x": np.ones((3, 3, 2, 4), np.float32)})
    model.load_state(saved)
    np.testing.assert_array_equal(model.run({"x": x[:, :, :1]})["y"], second["y"])
    assert first["y"].shape == (2, 3, 1, 4)


def counting(rows: int, shift: int) -> Row:
    """A state that grows, of the rows that a table has at positions, which are an input, and a mask, which is one."""
    table = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)
    nodes = (
        helper.make_node("Add", ["position_ids", "shift"], ["at"], name="at"),
        helper.make_node("Gather", ["table", "at"], ["new"], name="new"),
        helper.make_node("Concat", ["past_0", "new"], ["present_0"], name="concat", axis=1),
        helper.make_node("Cast", ["attention_mask"], ["m"], name="m", to=T.FLOAT),
        helper.make_node("ReduceSum", ["m"], ["masked"], name="masked"),
        helper.make_node("Add", ["x", "new"], ["y"], name="y"),
    )
    return Row(
        "counting",
        nodes,
        {
            "x": (T.FLOAT, (1, "S", 4)),
            "position_ids": (T.INT64, (1, "S")),
            "attention_mask": (T.INT64, (1, "P + S")),
            "past_0": (T.FLOAT, (1, "P", 4)),
        },
        {"y": (T.FLOAT, (1, "S", 4)), "masked": (T.FLOAT, (1, 1)), "present_0": (T.FLOAT, (1, "P + S", 4))},
        {"past_0": "present_0"},
        lambda *_: {},
        {"table": table, "shift": np.array(shift)},
        {"S": (1, 3), "P": (0, 40)},
    )


@pytest.mark.parametrize("target", ["native", "wasm", "webgl", "webgpu"])
def test_positions_and_masks_follow_from_the_state(target: str) -> None:
    """By their usual names neither the states nor what counts is given."""
    need_driver(target)
    row = counting(30, 2)
    model = webnn_compile.compile(row.model, target, dims=row.dims)
    ports = model.program.inputs
    assert [getattr(p, "spec", p).name for p in ports] == ["x"]
    table = row.constants["table"]
    for i, rows in enumerate((2, 1, 3, 3, 3)):
        at = model.position
        got = model.run({"x": np.full((1, rows, 4), i, np.float32)})
        np.testing.assert_array_equal(got["y"][0], table[at + 2 :][:rows] + i)
        np.testing.assert_array_equal(got["masked"], [[at + rows]])


def test_the_rows_of_a_table_of_positions_end_a_state() -> None:
    row = counting(10, 2)
    model = webnn_compile.compile(row.model, dims=row.dims)
    x = np.zeros((1, 3, 4), np.float32)
    model.run({"x": x})
    model.run({"x": x})
    with pytest.raises(StateFullError, match="P is 6 and would become 9, and the model has 8 positions"):
        model.run({"x": x})
    model.run({"x": x[:, :2]})
    with pytest.raises(StateFullError, match="P is 8 and would become 9"):
        model.run({"x": x[:, :1]})
    model.rewind(3)
    model.run({"x": x})


def test_what_is_given_is_given() -> None:
    row = counting(30, 0)
    model = webnn_compile.compile(row.model, dims=row.dims, given=["position_ids", "attention_mask"])
    x, mask = np.zeros((1, 2, 4), np.float32), np.array([[1, 0]])
    got = model.run({"x": x, "position_ids": np.array([[7, 3]]), "attention_mask": mask})
    np.testing.assert_array_equal(got["y"][0], row.constants["table"][[7, 3]])
    assert got["masked"] == 1
    with pytest.raises(InputError, match=r"attention_mask.*here \[1, 4\]"):
        model.run({"x": x, "position_ids": np.array([[7, 3]]), "attention_mask": mask})
    with pytest.raises(InputError, match="given 'past_0': no such input; inputs"):
        webnn_compile.compile(row.model, dims=row.dims, given=["past_0"])


def test_a_decoder_needs_no_sizes() -> None:
    """Sizes that it leaves open have ranges: one sequence, prompts of 64, 1,023 rows before a run."""
    row = counting(3000, 0)
    model = webnn_compile.compile(row.model)
    assert {d.name: d.span for d in model.program.dimensions} == {"S": "1..64,fast=1", "P": "0..1023"}
    assert {d.name: d.limit for d in model.program.dimensions} == {"S": None, "P": 3000}
    model = webnn_compile.compile(row.model, dims={"S": 1})
    assert {d.name: d.span for d in model.program.dimensions} == {"P": "0..1023"}
    with pytest.raises(InputError, match="free dimensions"):
        webnn_compile.compile(row.model, states=())


def test_states_of_float16() -> None:
    """A model that a pass builds again: each run finds the sum of the ones before."""
    shape = [helper.make_tensor_value_info(n, T.FLOAT16, [3]) for n in ("x", "sum", "next", "y")]
    nodes = [helper.make_node("Add", ["x", "sum"], ["next"]), helper.make_node("Neg", ["next"], ["y"])]
    graph = helper.make_graph(nodes, "sums", shape[:2], shape[2:])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    model = webnn_compile.compile(proto, states=["sum=next"])
    for k in range(1, 4):
        assert model.run({"x": np.array([1, 2, 3], np.float16)})["y"].tolist() == [-k, -2 * k, -3 * k]


def test_names_alone_make_no_states() -> None:
    """A cache of a fixed length that an output is longer than is an input as any other."""
    row = counting(30, 0)
    fixed = {"x": 2, "position_ids": 2, "attention_mask": 5, "past_0": 3}
    inputs = {
        name: (dtype, tuple(n if isinstance(n, int) else fixed[name] for n in shape))
        for name, (dtype, shape) in row.inputs.items()
    }
    outputs = {
        name: (dtype, tuple(f"{name}{i}" for i in range(len(shape)))) for name, (dtype, shape) in row.outputs.items()
    }
    model = webnn_compile.compile(replace(row, inputs=inputs, outputs=outputs).model)
    assert [s.name for s in model.program.inputs] == list(row.inputs)


def test_timing_leaves_the_states() -> None:
    """Runs that are timed all begin with what there is."""
    model = _compiled(CELL, "webgl")
    runs = list(CELL.runs(3))
    model.run(runs[0][0])
    assert model.time(runs[1][0], 0.01) > 0
    np.testing.assert_allclose(model.save_state()["h"], runs[0][2]["h"], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.run(runs[1][0])["y"], runs[1][1]["y"], rtol=1e-4, atol=1e-5)
