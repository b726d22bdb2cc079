"""Models with states that give answers, or take text: they keep states like any other, and so do their sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webnn_compile
from made_tokenizers import written
from onnx import TensorProto
from onnx_models import model, node, random
from webnn_compile.errors import InputError
from webnn_compile.program.states import StateFullError

NODES = [
    node("MatMul", ["x", "w"], ["a"]),
    node("Add", ["a", "h"], ["h2"]),
    node("Softmax", ["h2"], ["y"]),
]
W = random((3, 8))


def scores(rows: list[np.ndarray]) -> np.ndarray:
    h = sum(x @ W for x in rows)
    return np.exp(h - h.max()) / np.exp(h - h.max()).sum()


@pytest.fixture
def answering() -> Any:
    """A running sum of logits, with the best two classes; its state is no output that one of them could be of."""
    proto = model(NODES, {"x": (1, 3), "h": (1, 8)}, ["h2", "y"], {"w": W})
    return webnn_compile.compile(proto, answers=["classify,top=2"], states=["h=h2"])


def check(given: Any, rows: list[np.ndarray]) -> None:
    want = scores(rows).ravel()
    assert [c["index"] for c in given["y"]] == list(np.argsort(-want)[:2])
    np.testing.assert_allclose([c["score"] for c in given["y"]], sorted(want)[:-3:-1], rtol=1e-4)


def test_answers_follow_the_states(answering: Any) -> None:
    rows = [random((1, 3), seed) for seed in range(4)]
    for i, x in enumerate(rows):
        check(answering.run({"x": x}), rows[: i + 1])
    assert answering.position == 4
    np.testing.assert_allclose(answering.save_state()["h"], sum(rows) @ W, rtol=1e-4, atol=1e-5)
    answering.reset()
    assert answering.position == 0
    check(answering.run({"x": rows[2]}), rows[2:3])


def test_sessions_give_answers(answering: Any) -> None:
    rows = [random((1, 3), seed) for seed in range(5)]
    other = answering.session()
    answering.run({"x": rows[0]})
    check(other.run({"x": rows[1]}), [rows[1]])
    fork = answering.fork()
    check(answering.run({"x": rows[2]}), [rows[0], rows[2]])
    check(fork.run({"x": rows[3]}), [rows[0], rows[3]])
    other.load_state(answering.save_state())
    check(other.run({"x": rows[4]}), [rows[0], rows[2], rows[4]])
    check(fork.session().run({"x": rows[1]}), [rows[1]])


def test_without_states_there_is_nothing_to_keep() -> None:
    proto = model([node("Identity", ["x"], ["y"])], {"x": (1, 8)}, ["y"])
    with pytest.raises(InputError, match="compile it with states"):
        webnn_compile.compile(proto, answers=["classify"]).reset()  # type: ignore[union-attr]


def test_states_are_no_outputs_of_answers_and_no_inputs_of_pictures() -> None:
    proto = model(NODES, {"x": (1, 3), "h": (1, 8)}, ["h2", "y"], {"w": W})
    with pytest.raises(InputError, match="h2"):
        webnn_compile.compile(proto, answers=["h2=classify"], states=["h=h2"])
    picture = model([node("Add", ["x", "h"], ["h2"])], {"x": (1, 3, 4, 4), "h": (1, 3, 4, 4)}, ["h2"])
    with pytest.raises(InputError, match="has no such input; it has x"):
        webnn_compile.compile(picture, pictures={"h": "unit"}, states=["h=h2"])


def test_text_goes_on(tmp_path: Path) -> None:
    """The ids of one text behind those of the others; a session begins anew."""
    (tmp_path / "tokenizer.json").write_text(written("bert"))
    nodes = [
        node("Cast", ["input_ids"], ["ids"], to=TensorProto.FLOAT),
        node("Concat", ["past_0", "ids"], ["present_0"], axis=1),
        node("ReduceSum", ["present_0"], ["y"], keepdims=0),
    ]
    proto = model(nodes, {"past_0": (1, "P")}, ["y", "present_0"])
    proto.graph.input.extend(model([], {"input_ids": (1, "S")}, [], dtype=TensorProto.INT64).graph.input)
    dims = {"S": (1, 16), "P": (0, 20)}
    made: Any = webnn_compile.compile(proto, text=tmp_path / "tokenizer.json", dims=dims)
    alone = [made.session().run({"text": text})["y"] for text in ("hello", "quick brown")]
    assert made.run({"text": "hello"})["y"] == alone[0]
    assert made.run({"text": "quick brown"})["y"] == sum(alone)
    position = made.position
    made.rewind(2)
    assert made.position == position - 2
    made.load_state({"past_0": np.zeros((1, 20), np.float32)})
    made.run({"text": "hello"})
    with pytest.raises(StateFullError, match="the state is full"):
        made.run({"text": "hello"})
