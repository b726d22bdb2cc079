"""Networks that others trained: TensorFlow's form of one computes what its other forms do."""

from __future__ import annotations

import numpy as np
import pytest
import webnn_compile
from tflite_models import interpreted
from wheels import file_in_wheel

PITCH = "basic_pitch/saved_models/icassp_2022/nmp"
VARIABLES = ("variables/variables.index", "variables/variables.data-00000-of-00001")


def test_basic_pitch_in_three_formats() -> None:
    """Notes of a sound of two seconds, of which the second has a note more."""
    ort = pytest.importorskip("onnxruntime")
    names = (*(f"{PITCH}/{v}" for v in VARIABLES), f"{PITCH}/saved_model.pb", f"{PITCH}.tflite", f"{PITCH}.onnx")
    *_, saved, lite, plain = [file_in_wheel("basic-pitch==0.4.0", name) for name in names]
    times = np.arange(43844) / 22050
    sound = 0.3 * np.sin(2 * np.pi * 440 * times) + 0.2 * np.sin(2 * np.pi * 554.4 * times) * (times > 1)
    # Logarithms of sums near zero are part of the network: noise keeps them away from it.
    sound += np.random.default_rng(7).uniform(-0.5, 0.5, len(times))
    data = sound.astype(np.float32)[None, :, None]
    session = ort.InferenceSession(plain)
    others = [session.run(None, {session.get_inputs()[0].name: data}), interpreted(lite.read_bytes(), [data])]
    results = webnn_compile.compile(saved.parent, dims={"input_2_0": 1}).run({"input_2": data})
    assert list(results) == ["contour", "note", "onset"]
    for name, array in results.items():
        for arrays in others:  # their names are others
            errors = [float(np.abs(a - array).max()) for a in arrays if a.shape == array.shape]
            assert min(errors) < 1e-4, (name, errors)
    assert all(array.max() > 0.1 for array in results.values())
