"""The decoder of examples/writer is what its folder says: small, and as good as recorded."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import webnn_compile
from drivers import need_driver

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "writer"
MODEL = EXAMPLE / "writer.onnx"
CONTEXT = 256
BEGINNING = "The try statement"


@pytest.fixture(scope="module")
def text() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE / "text.py"))


class Reference:
    """onnxruntime, through which the caches are passed."""

    def __init__(self) -> None:
        self._session = onnxruntime.InferenceSession(str(MODEL), providers=["CPUExecutionProvider"])
        self._caches = [i for i in self._session.get_inputs() if i.name != "input_ids"]
        self.reset()

    def reset(self) -> None:
        self._past = {i.name: np.zeros((1, i.shape[1], 0, i.shape[3]), np.float32) for i in self._caches}

    def logits(self, ids: list[int]) -> np.ndarray:
        """Logits behind each of the ids, float32 [length, vocabulary]."""
        logits, *present = self._session.run(None, {"input_ids": np.array([ids]), **self._past})
        self._past = dict(zip(self._past, present, strict=True))
        return np.asarray(logits)[0]


@pytest.fixture(scope="module")
def reference() -> Reference:
    return Reference()


def test_file_is_small_and_has_its_vocabulary(text: dict[str, Any]) -> None:
    assert MODEL.stat().st_size < 1_500_000
    assert {p.key: p.value for p in onnx.load(MODEL).metadata_props} == {"characters": text["CHARACTERS"]}


def test_recorded_loss_is_measured_again(text: dict[str, Any], reference: Reference) -> None:
    record = json.loads((EXAMPLE / "losses.json").read_text())
    train, held_out = text["load_text"]()
    if text["digest"](train + held_out) != record["digest"]:
        pytest.skip("this version of Python has another text")
    ids = text["encode"](held_out)
    assert (len(train), len(ids)) == (record["characters_trained_on"], record["characters_held_out"])
    losses = []
    for at in range(0, len(ids) - CONTEXT, CONTEXT):
        reference.reset()
        logits = reference.logits(ids[at : at + CONTEXT]).astype(np.float64)
        logits -= logits.max(1, keepdims=True)
        chosen = logits[np.arange(CONTEXT), ids[at + 1 : at + CONTEXT + 1]]
        losses.append(np.log(np.exp(logits).sum(1)) - chosen)
    assert np.mean(losses) == pytest.approx(record["held_out_loss"], abs=1e-3)
    assert record["held_out_loss"] < 1.6


@pytest.mark.parametrize("target", ["native", "wasm", "webgl", "webgpu"])
def test_tokens_are_those_of_onnxruntime(target: str, text: dict[str, Any], reference: Reference) -> None:
    need_driver(target)
    dims = {"sequence_length": (1, 64), "past_sequence_length": (0, CONTEXT - 1)}
    made = webnn_compile.compile(MODEL, target, generate=True, dims=dims)
    prompt = text["encode"](BEGINNING)
    reference.reset()
    tokens, ids = [], prompt
    for _ in range(150):
        ids = [int(reference.logits(ids)[-1].argmax())]
        tokens += ids
    assert list(made.generate(prompt, max_tokens=150)) == tokens
