"""States of which the newest rows stay (`state_window`), on every target: sequences of any length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from decoder_models import CAUSAL_DECODERS, MERGED_DECODERS, Decoder
from drivers import need_driver
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from webnn_compile.errors import InputError
from webnn_compile.program.states import StateFullError
from windowed_decoder import LENGTHS, MOST, NAMES, ROWS, SMALL, passed, sentence

from benchmarks.decoder_model import DecoderSize, decoder_model

Array = np.ndarray

TARGETS = ("native", "wasm", "wasm-relaxed", "webgpu", "webgl", "opencl", "cuda", "c")


def compiled(target: str = "native", model: onnx.ModelProto = SMALL, **options: Any) -> Any:
    need_driver(target)
    dims = {"batch_size": 1, "past_sequence_length": (0, ROWS), "sequence_length": (1, MOST)}
    return webnn_compile.compile(model, target, **{"dims": dims, "state_window": ROWS, **options})


def say(model: Any, ids: Sequence[int]) -> Array:
    return np.asarray(model.run({"input_ids": np.array([ids])})["logits"][0])


@pytest.mark.parametrize("target", TARGETS)
def test_a_sequence_goes_on_with_the_newest_rows(target: str) -> None:
    """Two sessions in turns, whose positions go on from all rows that there were."""
    model = compiled(target)
    sessions, references = [model, model.session()], [passed(), passed()]
    for runs in zip(sentence(0), sentence(1), strict=True):
        for one, reference, ids in zip(sessions, references, runs, strict=True):
            np.testing.assert_allclose(say(one, ids), reference.run(ids), rtol=2e-4, atol=2e-4)
            saved = one.save_state()
            assert one.position == reference.position
            there = next(iter(reference.caches.values())).shape[2]
            assert saved.pop("past_sequence_length.dropped") == one.position - there
            for name, a in saved.items():
                np.testing.assert_allclose(a, reference.caches[name], rtol=2e-4, atol=2e-4)
    assert sum(LENGTHS) > 3 * ROWS


@pytest.mark.parametrize("target", ["native", "wasm", "webgl", "webgpu"])
def test_states_are_saved_loaded_forked_rewound_and_reset(target: str) -> None:
    model, reference = compiled(target), passed()
    runs = sentence()
    for ids in runs[:9]:
        say(model, ids)
        reference.run(ids)
    saved, fork, position = model.save_state(), model.fork(), model.position
    assert position == reference.position > ROWS
    wanted = [reference.run(ids) for ids in runs[9:]]
    other = model.session()
    other.load_state(saved)
    assert (fork.position, other.position) == (position, position)
    for one in (model, fork, other):
        for ids, want in zip(runs[9:], wanted, strict=True):
            np.testing.assert_allclose(say(one, ids), want, rtol=2e-4, atol=2e-4)
    model.load_state(saved)
    say(model, [1, 2])  # within the room
    model.rewind(2)
    assert model.position == position
    np.testing.assert_allclose(say(model, runs[9]), wanted[0], rtol=2e-4, atol=2e-4)
    there = next(iter(model.save_state().values())).shape[2]
    with pytest.raises(InputError, match=rf"rewind\({there + 1}\): the states have {there} rows"):
        model.rewind(there + 1)
    model.reset()
    assert model.position == 0
    np.testing.assert_allclose(say(model, runs[0]), passed().run(runs[0]), rtol=2e-4, atol=2e-4)


def test_what_was_saved_elsewhere_has_dropped_nothing() -> None:
    model, whole = compiled(), compiled(state_window=None, dims=None)
    say(whole, [1, 2, 3])
    saved = whole.save_state()
    model.load_state(saved)
    assert model.position == 3
    np.testing.assert_allclose(say(model, [4]), say(whole, [4]), rtol=1e-5, atol=1e-5)
    for wrong in (-1, 0.5, [1, 2]):
        with pytest.raises(InputError, match=r"'past_sequence_length\.dropped' is no number of rows"):
            model.load_state({**saved, "past_sequence_length.dropped": np.array(wrong)})
    assert model.position == 4


@pytest.mark.parametrize("target", ["native", "wasm", "c"])
def test_of_more_rows_than_the_window_the_newest_stay(target: str) -> None:
    """A session has room for what a run adds, too, which may be loaded."""
    model, whole, reference = compiled(target), compiled(state_window=None, dims=None), passed()
    reference.rows += 1
    for i in range(reference.rows):
        say(whole, [i])
        reference.run([i])
    reference.rows -= 1
    model.load_state(whole.save_state())
    np.testing.assert_allclose(say(model, [2, 3]), reference.run([2, 3]), rtol=2e-4, atol=2e-4)
    assert model.position == ROWS + 3
    assert next(iter(model.save_state().values())).shape[2] == ROWS // 2 + 2


def test_no_size_needs_to_be_given() -> None:
    model = compiled(dims=None, state_window=80)
    assert {d.name: (d.span, d.window) for d in model.program.dimensions if d.dropped_of is None} == {
        "sequence_length": ("1..64,fast=1", None),
        "past_sequence_length": ("0..80", 80),
    }


def test_tokens_go_on_beyond_the_window() -> None:
    model, reference = compiled(generate=True), passed()
    tokens = list(model.generate([1, 2, 3, 4, 5, 6, 7, 8, 9], max_tokens=100))
    want, ids = [], [1, 2, 3, 4, 5, 6, 7]
    reference.run(ids)
    ids = [8, 9]
    for _ in range(100):
        ids = [int(reference.run(ids)[-1].argmax())]
        want += ids
    assert tokens == want


def test_a_table_of_positions_ends_a_sequence_all_the_same() -> None:
    """No row is dropped for a run that is refused."""
    model = compiled(model=decoder_model(DecoderSize(layers=1, heads=1, size=4, words=37, positions=30, names=NAMES)))
    for _ in range(4):
        say(model, [1] * 7)
    before = model.save_state()
    with pytest.raises(StateFullError, match="is 28 and would become 31, and the model has 30 positions"):
        say(model, [1, 2, 3])
    for name, a in model.save_state().items():
        np.testing.assert_array_equal(a, before[name])
    say(model, [1, 2])


EXPORTED = ("gpt2-optimum", "gpt2-optimum-2024", "llama-dynamo", "llama-genai-fp32", "gemma-genai-fp32")
"""Masks by comparisons and by a table, positions by an input and by the attention, which onnxruntime has to be told."""


@pytest.mark.parametrize("decoder", [d for d in CAUSAL_DECODERS if d.file in EXPORTED], ids=lambda d: d.file)
def test_decoders_as_exporters_write_them(decoder: Decoder) -> None:
    source = decoder.model
    model = webnn_compile.compile(source, dims={**decoder.dims, "past_sequence_length": (0, 40)}, state_window=40)
    reference = passed(with_positions(source), 40, decoder.head)
    for seed in range(2):
        for ids in sentence(seed, 60):
            want = reference.run(ids)
            np.testing.assert_allclose(say(model, ids), want, rtol=1e-3, atol=1e-4 * np.abs(want).max())


def with_positions(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model whose GroupQueryAttention is told positions by an input."""
    told = [n for n in model.graph.node if n.op_type == "GroupQueryAttention"]
    for node in told:
        while len(node.input) < 10:
            node.input.append("")
        node.input[9] = "position_ids"
    if told and "position_ids" not in [i.name for i in model.graph.input]:
        info = helper.make_tensor_value_info("position_ids", T.INT64, ["batch_size", "sequence_length"])
        model.graph.input.append(info)
    return model


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("whisper-optimum-decoder_model_merged", "node '.*embed_positions/Gather' .Gather. reads a table at places of"),
        (
            "whisper-optimum-decoder_model_merged-2024",
            "takes rows of '.*embed_positions.* by places of rows in the cache",
        ),
    ],
)
def test_positions_by_the_length_of_the_cache_are_refused(file: str, text: str) -> None:
    decoder = next(d for d in MERGED_DECODERS if d.file == file)
    with pytest.raises(InputError, match=text) as error:
        webnn_compile.compile(decoder.model, dims=decoder.dims, state_window=100)
    assert "export the model with position_ids as an input" in str(error.value)
    assert "or compile without a window" in str(error.value)


def cached(*nodes: onnx.NodeProto, present: str = "past x") -> onnx.ModelProto:
    """A cache of rows x, of which `nodes` make y, [S, 4]; `present` is what is joined."""
    every = [helper.make_node("Concat", present.split(), ["present"], name="present", axis=0), *nodes]
    infos = {"x": ("S", 4), "past": ("P", 4), "present": ("P + S", 4), "y": (None, None)}
    made = {name: helper.make_tensor_value_info(name, T.FLOAT, shape) for name, shape in infos.items()}
    numbers = {"first": 0, "one": 1, "two": 2, "end": 2**31 - 1}
    weights = [
        *(numpy_helper.from_array(np.array(n), f"c{n}") for n in range(5)),
        numpy_helper.from_array(np.arange(200, dtype=np.float32).reshape(50, 4), "table"),
        *(numpy_helper.from_array(np.array([n]), name) for name, n in numbers.items()),
    ]
    graph = helper.make_graph(every, "cached", [made["x"], made["past"]], [made["y"], made["present"]], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def node(op: str, inputs: str, output: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op, inputs.split(), [output], name=output, **attributes)


LENGTH = (node("Shape", "present", "shape"), node("Gather", "shape c0", "rows"))
PLACES = (*LENGTH, node("Range", "c0 rows c1", "places"))
SUMS = node("ReduceSum", "present first", "y")


def windowed(model: onnx.ModelProto, rows: int = 10, **options: Any) -> Any:
    return webnn_compile.compile(
        model, dims={"S": (1, 3), "P": (0, 40)}, states=["past=present"], state_window=rows, **options
    )


def test_sums_of_rows_are_those_of_the_newest() -> None:
    """Runs add two or three each."""
    model, rows = windowed(cached(SUMS)), np.zeros((0, 4), np.float32)
    generator = np.random.default_rng(0)
    for i in range(20):
        x = generator.standard_normal((2 + i % 2, 4)).astype(np.float32)
        rows = rows[-5:] if len(rows) + len(x) > 10 else rows
        rows = np.concatenate([rows, x])
        np.testing.assert_allclose(model.run({"x": x})["y"], rows.sum(0, keepdims=True), rtol=1e-5, atol=1e-5)
    assert model.position == 50


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        ((*PLACES, node("Gather", "table places", "y")), "'y' .Gather. reads a table at places of rows"),
        ((*PLACES, node("Cast", "places", "f", to=T.FLOAT), node("Cos", "f", "y")), "'y' .Cos. computes by places"),
        ((*PLACES, node("Cast", "places", "y", to=T.FLOAT)), "the output 'y' is places of rows"),
        (
            (*PLACES, node("Less", "places c4", "l"), node("Cast", "l", "y", to=T.FLOAT)),
            "'l' .Less. compares places of rows in the cache with other numbers",
        ),
        (
            (*PLACES, node("Mul", "places c3", "m"), node("Cast", "m", "y", to=T.FLOAT)),
            "'m' .Mul. multiplies places of rows",
        ),
        (
            (*PLACES, node("Sub", "c4 places", "m"), node("Cast", "m", "y", to=T.FLOAT)),
            "'m' .Sub. subtracts places of rows in the cache from other numbers",
        ),
        (
            (*PLACES, node("ReduceSum", "places", "m"), node("Cast", "m", "y", to=T.FLOAT)),
            "'m' .ReduceSum. adds up places",
        ),
        (
            (
                *LENGTH,
                node("Unsqueeze", "rows first", "length"),
                node("ConstantOfShape", "length", "ones", value=numpy_helper.from_array(np.array([1]))),
                node("CumSum", "ones c0", "sums"),
                node("Gather", "table sums", "y"),
            ),
            "'y' .Gather. reads a table at places of rows",
        ),
        (
            (*LENGTH, node("Unsqueeze", "rows first", "length"), node("Slice", "table first length", "y")),
            "'y' .Slice. takes rows of 'table' by places of rows",
        ),
        ((node("Gather", "present c0", "y"),), "'y' .Gather. reads rows of the cache by other numbers"),
        (
            (node("Cast", "x", "numbers", to=T.INT64), node("GatherElements", "present numbers", "y")),
            "'y' .GatherElements. reads rows of the cache by other numbers than their places",
        ),
        (
            (
                node("Shape", "x", "own"),
                node("Slice", "own first one", "n"),
                node("Slice", "present n end first", "s"),
                node("ReduceSum", "s first", "y"),
            ),
            "'s' .Slice. takes rows of the cache by other numbers than their places",
        ),
        (
            (
                node("ReduceMax", "x", "largest", keepdims=0),
                node("Cast", "largest", "number", to=T.INT64),
                node("Unsqueeze", "number first", "n"),
                node("Slice", "present n end first", "s"),
                node("ReduceSum", "s first", "y"),
            ),
            "'s' .Slice. takes rows of the cache by numbers that a run computes",
        ),
        (
            (node("Cast", "x", "numbers", to=T.INT64), node("ScatterElements", "present numbers x", "y")),
            "'y' .ScatterElements. writes or chooses rows of the cache by other numbers than their places",
        ),
        (
            (node("Slice", "present first end first two", "s"), node("ReduceSum", "s first", "y")),
            "'s' .Slice. takes one of 2 rows of the cache",
        ),
    ],
    ids=lambda x: x[:40] if isinstance(x, str) else "",
)
def test_graphs_that_take_rows_for_positions_are_refused(nodes: tuple[onnx.NodeProto, ...], text: str) -> None:
    with pytest.raises(InputError, match=text):
        windowed(cached(*nodes))
    webnn_compile.compile(cached(*nodes), dims={"S": (1, 3), "P": (0, 40)}, states=["past=present"])


def test_rows_compared_with_each_other_are_not() -> None:
    """A mask of what is at most two rows before: the sum of these."""
    behind = (
        *PLACES,
        node("Shape", "past", "before"),
        node("Gather", "before c0", "p"),
        node("Range", "p rows c1", "own"),
        node("Unsqueeze", "own c1", "o"),
        node("Sub", "o places", "difference"),
        node("Less", "difference c3", "near"),
        node("LessOrEqual", "places o", "due"),
        node("And", "near due", "seen"),
        node("Cast", "seen", "mask", to=T.FLOAT),
        node("MatMul", "mask present", "y"),
    )
    model = windowed(cached(*behind))
    every = np.random.default_rng(0).standard_normal((50, 4)).astype(np.float32)
    at = 0
    for i in range(20):
        x = every[at : at + 2 + i % 2]
        got = model.run({"x": x})["y"]
        want = [every[max(j - 2, 0) : j + 1].sum(0) for j in range(at, at + len(x))]
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
        at += len(x)


@pytest.mark.parametrize(
    ("model", "rows", "text"),
    [
        (
            cached(SUMS, present="x past"),
            10,
            "the output 'present' .node 'present', Concat. is not 'past' with new rows",
        ),
        (cached(SUMS), 3, "more than the 3 rows that a run may add, and at most 40"),
        (cached(SUMS), 41, "at most 40, the largest P; give another one, or --dim P=0..41"),
        (cached(SUMS), 0, "give how many rows of the states stay"),
    ],
)
def test_windows_that_do_not_fit(model: onnx.ModelProto, rows: int, text: str) -> None:
    with pytest.raises(InputError, match=text):
        windowed(model, rows)


def test_what_has_an_element_for_each_row_is_not_given() -> None:
    with pytest.raises(InputError, match=r"the input 'attention_mask' of int64\[1, .*\] has an element for each row"):
        compiled(given=["attention_mask"])


def test_without_states_that_grow_there_is_no_window() -> None:
    with pytest.raises(InputError, match="one dimension of states has to grow, and the model keeps nothing"):
        compiled(states=())
