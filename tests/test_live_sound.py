"""The listener of examples/live-sound is what its folder says: small, as right as recorded; and it keeps states."""

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

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "live-sound"
MODEL = EXAMPLE / "listener.onnx"
STATES = ("context=context_next", "hidden=hidden_next")


@pytest.fixture(scope="module")
def sounds() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE / "sounds.py"))


@pytest.fixture(scope="module")
def session() -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(str(MODEL), providers=["CPUExecutionProvider"])


def heard(session: onnxruntime.InferenceSession, samples: np.ndarray) -> np.ndarray:
    """Probabilities [chunks, 3], by states that are passed on."""
    kept = {i.name: np.zeros(i.shape, np.float32) for i in session.get_inputs()[1:]}
    rows = []
    for chunk in samples:
        row, *after = session.run(None, {"samples": chunk[None], **kept})
        kept = dict(zip(kept, after, strict=True))
        rows.append(row[0])
    return np.array(rows)


def test_file_is_small_and_says_what_the_page_has_to_know(sounds: dict[str, Any]) -> None:
    assert MODEL.stat().st_size < 150_000
    said = {p.key: p.value for p in onnx.load(MODEL).metadata_props}
    assert said == {"rate": str(sounds["RATE"]), "names": ",".join(sounds["NAMES"])}
    settings = (EXAMPLE / "settings.js").read_text()
    for name, value in {"RATE": sounds["RATE"], "HOP": sounds["CHUNK"], "NAMES": list(sounds["NAMES"])}.items():
        assert f"export const {name} = {value};" in settings


def test_recorded_accuracy_is_measured_again(sounds: dict[str, Any], session: onnxruntime.InferenceSession) -> None:
    record = json.loads((EXAMPLE / "accuracy.json").read_text())
    generator = np.random.default_rng(record["held_out_seed"])
    clips = [sounds["make_clip"](generator, record["chunks_of_a_clip"]) for _ in range(record["held_out"])]
    right = [(heard(session, samples) > 0.5) == (labels > 0.5) for samples, labels in clips]
    shares = dict(zip(sounds["NAMES"], np.mean(right, (0, 1)), strict=True))
    assert shares == pytest.approx(record["right"], abs=1e-3)
    assert min(shares.values()) > 0.97


@pytest.mark.parametrize("target", ["native", "wasm"])
def test_compiled_with_states(target: str, sounds: dict[str, Any], session: onnxruntime.InferenceSession) -> None:
    need_driver(target)
    made = webnn_compile.compile(MODEL, target, states=STATES)
    samples, _ = sounds["make_clip"](np.random.default_rng(5), 64)
    for _ in range(2):
        found = [made.run({"samples": chunk[None]})["probabilities"][0] for chunk in samples]
        np.testing.assert_allclose(found, heard(session, samples), atol=1e-5)
        made.reset()
