"""Real TFLite models give what LiteRT's interpreter gives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webnn_compile
from moving_kernels import kernels_of, only_moves
from tflite_models import Writer, interpreted, seeded
from webnn_compile.frontends.importers import import_model
from webnn_compile.graph.passes import run_graph_passes
from wheels import file_in_wheel

PITCH = "basic-pitch==0.4.0", "basic_pitch/saved_models/icassp_2022/nmp"
MEDIAPIPE, WAKE_WORD = "mediapipe==0.10.14", "pyopen-wakeword==1.1.0"
MODULES = {
    "face_detection_short_range": "face_detection",
    "face_detection_full_range_sparse": "face_detection",
    "face_landmark": "face_landmark",
    "hand_landmark_lite": "hand_landmark",
    "hand_recrop": "holistic_landmark",
    "palm_detection_lite": "palm_detection",
    "selfie_segmentation": "selfie_segmentation",
    "selfie_segmentation_landscape": "selfie_segmentation",
}
WORDS = ("alexa", "embedding_model", "hey_jarvis", "hey_mycroft", "hey_rhasspy", "okay_nabu")
NETWORKS: Sequence[tuple[str, str]] = (
    (PITCH[0], f"{PITCH[1]}.tflite"),
    *((MEDIAPIPE, f"mediapipe/modules/{folder}/{name}.tflite") for name, folder in MODULES.items()),
    *((WAKE_WORD, f"pyopen_wakeword/models/{name}.tflite") for name in WORDS),
)


def feeds_of(path: Any) -> dict[str, np.ndarray]:
    """As pictures and sounds are: from 0 to 1."""
    graph, rng = import_model(path), seeded(path.name)
    return {v.name: rng.random(v.shape).astype(np.float32) for v in graph.inputs}


def check(path: Any, feeds: dict[str, np.ndarray], target: str, **inputs: Any) -> None:
    results = webnn_compile.compile(path, target=target, **inputs).run(feeds)
    expected = interpreted(path.read_bytes(), list(feeds.values()), delegated=True)
    assert len(results) == len(expected)
    for got, want in zip(results.values(), expected, strict=True):
        # Logarithms of sums near zero are part of basic-pitch.
        tolerance = 1e-4 if path.name == "nmp.tflite" else 2e-5
        np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * max(1.0, float(np.abs(want).max())))


@pytest.mark.parametrize(("requirement", "name"), NETWORKS, ids=[name.split("/")[-1] for _, name in NETWORKS])
@pytest.mark.parametrize("target", ["native", "wasm"])
def test_network(requirement: str, name: str, target: str) -> None:
    path = file_in_wheel(requirement, name)
    check(path, feeds_of(path), target)


def test_a_length_that_the_file_leaves_open() -> None:
    """The spectrogram of 0.2 s; the file's own length of 1 has no window."""
    path = file_in_wheel(WAKE_WORD, "pyopen_wakeword/models/melspectrogram.tflite")
    sound = seeded("sound").uniform(-1, 1, (1, 3200)).astype(np.float32)
    check(path, {"input": sound}, "native", shapes={"input": (1, 3200)})


def test_one_model_in_two_formats_is_the_same() -> None:
    """basic-pitch (Bittner et al., ICASSP 2022) as TFLite and as ONNX."""
    paths = [file_in_wheel(PITCH[0], f"{PITCH[1]}.{suffix}") for suffix in ("tflite", "onnx")]
    sound = seeded("pitch").uniform(-1, 1, (1, 43844, 1)).astype(np.float32)
    found = []
    for path in paths:
        graph_input = import_model(path, webnn_inputs(path)).inputs[0].name
        model = webnn_compile.compile(path, shapes={graph_input: sound.shape})
        found.append(sorted(model.run({graph_input: sound}).values(), key=lambda a: (a.shape, float(a.sum()))))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4)


def webnn_inputs(path: Any) -> Any:
    from webnn_compile.frontends.importers import describe_model
    from webnn_compile.frontends.model_inputs import model_inputs

    return model_inputs({describe_model(path).inputs[0].name: (1, 43844, 1)})


@pytest.mark.parametrize("name", ["hand_landmark_lite", "selfie_segmentation"])
def test_no_transposes_are_left_between_convolutions(name: str) -> None:
    """Transposes of the input are left, and of the output where that is an image."""
    path = file_in_wheel(MEDIAPIPE, f"mediapipe/modules/{MODULES[name]}/{name}.tflite")
    graph = run_graph_passes(import_model(path))
    left = [n for n in graph.nodes if n.op == "Transpose"]
    inside = [n for n in left if n.inputs[0] not in graph.inputs and n.outputs[0] not in graph.outputs]
    assert len(left) - len(inside) >= 1
    assert len(inside) <= 1, [n.name for n in inside]


@pytest.mark.parametrize("target", ["native", "webgpu"])
@pytest.mark.parametrize("name", ["face_detection_short_range", "hand_landmark_lite", "selfie_segmentation"])
def test_no_kernel_transposes(name: str, target: str) -> None:
    """Nor of the input, from which the first convolution reads three channels that stand next to each other."""
    path = file_in_wheel(MEDIAPIPE, f"mediapipe/modules/{MODULES[name]}/{name}.tflite")
    kernels = kernels_of(path, target)
    assert len(kernels) > 40
    assert [k.name for k in kernels if only_moves(k)] == []


@pytest.mark.parametrize("target", ["native", "webgpu"])
def test_kernels_that_transpose_are_found(target: str) -> None:
    writer = Writer()
    x, order = (
        writer.input("x", "float32", (2, 3, 4)),
        writer.tensor("order", "int32", (3,), np.array([2, 0, 1], np.int32)),
    )
    y = writer.tensor("y", "float32", (4, 2, 3))
    writer.operator("TRANSPOSE", [x, order], [y])
    writer.output(y)
    assert [only_moves(k) for k in kernels_of(writer.bytes(), target)] == [True]


def test_weights_of_16_bits_ship_as_such(tmp_path: Path) -> None:
    path = file_in_wheel(MEDIAPIPE, "mediapipe/modules/hand_landmark/hand_landmark_lite.tflite")
    webnn_compile.build_bundle(path, "wasm", out=tmp_path / "bundle")
    shipped = sum(f.stat().st_size for f in (tmp_path / "bundle").glob("weights-*"))
    assert shipped <= 1.03 * path.stat().st_size
