"""Silero's voice activity detector (LSTM and If), whose state the caller hands back, over 200 chunks of sound."""

from __future__ import annotations

import numpy as np
import onnxruntime as ort
import pytest
import webnn_compile
from drivers import need_driver
from silero import CHUNKS, RATE, SHAPES, chunks, model_path


@pytest.mark.parametrize("target", ["native", "wasm", "webgl", "webgpu"])
def test_agrees_with_onnxruntime_chunk_after_chunk(target: str) -> None:
    need_driver(target)
    path = model_path()
    compiled = webnn_compile.compile(path, target, shapes=SHAPES, constants={"sr": RATE})
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    expected = given = np.zeros(SHAPES["state"], np.float32)
    for sound in chunks(CHUNKS):
        rate = np.asarray(RATE, np.int64)
        voice, expected = session.run(["output", "stateN"], {"input": sound, "state": expected, "sr": rate})
        found = compiled.run({"input": sound, "state": given})
        given = found["stateN"]
        np.testing.assert_allclose(found["output"], voice, rtol=0, atol=1e-4)
        np.testing.assert_allclose(given, expected, rtol=0, atol=1e-4 * max(1, abs(expected).max()))


def test_the_batch_may_vary() -> None:
    path = model_path()
    dims = {"batch": (1, 3), "sequence": 576}
    compiled = webnn_compile.compile(path, dims=dims, constants={"sr": RATE})
    sounds = np.concatenate(list(chunks(3)))
    together = compiled.run({"input": sounds, "state": np.zeros((2, 3, 128), np.float32)})
    for i, sound in enumerate(sounds):
        alone = compiled.run({"input": sound[None], "state": np.zeros((2, 1, 128), np.float32)})
        np.testing.assert_allclose(alone["output"], together["output"][i : i + 1], rtol=0, atol=1e-5)
        np.testing.assert_allclose(alone["stateN"], together["stateN"][:, i : i + 1], rtol=0, atol=1e-5)
