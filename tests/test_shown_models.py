"""Compiled models as Python shows them: what a run takes, and what it gives."""

from __future__ import annotations

from pathlib import Path

import pytest
import webnn_compile
from decoders.tiny import tiny_decoder
from onnx_models import model, node, random

DIGITS = Path(__file__).parents[1] / "examples" / "digits" / "resnet18_digits.onnx"


@pytest.fixture
def plain() -> bytes:
    proto = model([node("Relu", ["x"], ["y"])], {"x": ["N", 3, 8, 8]}, ["y"])
    return bytes(proto.SerializeToString())


def test_arrays(plain: bytes) -> None:
    made = webnn_compile.compile(plain, dims={"N": (1, 4)})
    assert repr(made) == "<model on native: x float32[N, 3, 8, 8] -> y float32[N, 3, 8, 8]>"


def test_pictures_and_answers() -> None:
    made = webnn_compile.compile(DIGITS, pictures={"image": {"colours": "grey"}}, answers=["classify,top=3"])
    assert str(made) == "<model on native: image a picture -> logits classify>"


def test_a_session_is_shown_as_its_model() -> None:
    nodes = [node("Add", ["x", "h"], ["sum"]), node("Relu", ["sum"], ["y"])]
    made = webnn_compile.compile(model(nodes, {"x": [2], "h": [2]}, ["sum", "y"]), states=["h=sum"])
    assert repr(made.session()) == repr(made) == "<model on native: x float32[2] -> y float32[2]>"  # type: ignore[union-attr]


def test_a_decoder_that_gives_tokens() -> None:
    """Without the inputs that the options of `generate` fill."""
    sizes = {"batch": 1, "past": (0, 59), "seq": (1, 5)}
    made = webnn_compile.compile(tiny_decoder(), dims=sizes, generate=True)
    assert repr(made).startswith("<model on native: input_ids int64[1, seq] -> token ")


def test_many_are_cut() -> None:
    names = [f"x{i}" for i in range(9)]
    proto = model([node("Sum", names, ["y"])], {name: [1] for name in names}, ["y"], {"unused": random((1,))})
    assert "x5 float32[1], 3 more -> y " in repr(webnn_compile.compile(proto))
