"""Each layer of Keras computes what Keras does, in both kinds of files. Skipped without Keras and a backend of it that
needs no TensorFlow; `test_keras_files` needs neither."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webnn_compile
from webnn_compile.frontends.importers import import_model
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.graph.passes import run_graph_passes

os.environ.setdefault("KERAS_BACKEND", "numpy")
keras = pytest.importorskip(
    "keras", reason="keras is not installed, or its NumPy backend lacks jax", exc_type=ImportError
)

from keras import layers  # noqa: E402
from keras_application_rows import ROWS as MORE  # noqa: E402
from keras_rows import ROWS as USUAL  # noqa: E402
from keras_rows import Row, randomise  # noqa: E402
from webnn_compile.frontends.keras.layers import LAYERS  # noqa: E402

ROWS = [*USUAL, *MORE]
WASM = (
    "bidirectional_lstm_concat",
    "conv2d_same",
    "excitation",
    "gru_before",
    "heads",
    "lstm_masked_backwards",
    "nested",
    "time_distributed_model",
)
"""Rows that run on wasm, too."""


def saved(model: Any, path: Path) -> Path:
    model.save(path)
    return path


def check(path: Path, feeds: list[np.ndarray], expected: Any, tolerance: float, target: str = "native") -> None:
    model = webnn_compile.compile(path, target=target, dims={"batch": len(feeds[0])})
    results = list(model.run({f"in{i}": f for i, f in enumerate(feeds)}).values())
    wanted = keras.tree.flatten(expected)
    assert len(results) == len(wanted)
    for got, want in zip(results, wanted, strict=True):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * max(1.0, float(np.abs(want).max())))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", ROWS, ids=[r.id for r in ROWS])
def test_layer(row: Row, tmp_path: Path) -> None:
    model, feeds = row.model(), row.feeds()
    expected = model.predict(feeds, verbose=0)
    for name in ("net.keras", "net.h5")[: 1 + row.hdf5]:
        check(saved(model, tmp_path / name), feeds, expected, row.tolerance)
    if row.id in WASM:
        check(tmp_path / "net.keras", feeds, expected, row.tolerance, "wasm")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", [r for r in ROWS if r.id in (*WASM, "separable_same")], ids=lambda r: r.id)
def test_as_tensorflow_js(row: Row, tmp_path: Path) -> None:
    """The configuration and the weights by their names, in the form of TensorFlow.js's converter."""
    model, feeds = row.model(), row.feeds()
    data = {v.path: keras.ops.convert_to_numpy(v).astype("<f4") for v in model.weights}
    specs = [{"name": name, "shape": list(w.shape), "dtype": "float32"} for name, w in data.items()]
    (tmp_path / "shard").write_bytes(b"".join(w.tobytes() for w in data.values()))
    content = {
        "format": "layers-model",
        "modelTopology": {"keras_version": keras.__version__, "model_config": json.loads(model.to_json())},
        "weightsManifest": [{"paths": ["shard"], "weights": specs}],
    }
    (tmp_path / "model.json").write_text(json.dumps(content))
    check(tmp_path / "model.json", feeds, model.predict(feeds, verbose=0), row.tolerance)


def test_every_layer_has_a_row() -> None:
    """Besides those of earlier versions, which `test_keras_files` has."""
    used = {kind for row in ROWS for kind in re.findall(r'"class_name": "(\w+)"', row.model().to_json())}
    earlier = {"ThresholdedReLU", "RandomHeight", "RandomWidth"}
    assert {kind.removeprefix("ops.") for kind in LAYERS} - earlier <= used


def mobile() -> Any:
    """As MobileNetV2 has it: padding, inverted residuals, a classifier."""

    def block(x: Any, wide: int, out: int, stride: int) -> Any:
        y = layers.ReLU(6.0)(layers.BatchNormalization()(layers.Conv2D(wide, 1, use_bias=False)(x)))
        y = layers.ZeroPadding2D(((0, 1), (0, 1)))(y) if stride == 2 else y
        padding = "valid" if stride == 2 else "same"
        y = layers.DepthwiseConv2D(3, strides=stride, padding=padding, use_bias=False)(y)
        y = layers.ReLU(6.0)(layers.BatchNormalization()(y))
        y = layers.BatchNormalization()(layers.Conv2D(out, 1, use_bias=False)(y))
        return layers.Add()([x, y]) if stride == 1 else y

    x = image = layers.Input((17, 17, 3), name="in0")
    x = layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False)(layers.Rescaling(1 / 127.5, -1)(x))
    x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
    for stride, out in ((1, 8), (2, 12), (1, 12)):
        x = block(x, 24, out, stride)
    x = layers.Dropout(0.2)(layers.GlobalAveragePooling2D()(x))
    model = keras.Model(image, layers.Dense(5, activation="softmax", name="scores")(x))
    randomise(model)
    return model


@pytest.mark.parametrize("target", ["native", "wasm", "webgpu", "webgl"])
def test_no_transpose_is_left_between_convolutions(target: str, tmp_path: Path) -> None:
    model = mobile()
    path = saved(model, tmp_path / "mobile.keras")
    graph = run_graph_passes(import_model(path, model_inputs(dims={"batch": 2})))
    assert sum(n.op == "Transpose" for n in graph.nodes) == 1  # of the input
    assert not [n for n in graph.nodes if n.op == "BatchNormalization"]
    feeds = [np.random.default_rng(1).uniform(0, 255, (2, 17, 17, 3)).astype(np.float32)]
    check(path, feeds, model.predict(feeds[0], verbose=0), 2e-5, target)


def test_resizing_that_smooths(tmp_path: Path) -> None:
    """The kernel widens as the picture shrinks, as jax.image has it: Keras's NumPy backend leaves that out."""
    image = pytest.importorskip("jax.image")
    x = np.random.default_rng(2).uniform(-1, 1, (2, 9, 7, 3)).astype(np.float32)
    for kind in ("bilinear", "bicubic"):
        model = keras.Sequential(
            [layers.Input((9, 7, 3), name="in0"), layers.Resizing(4, 3, interpolation=kind, antialias=True)]
        )
        expected = image.resize(x, (2, 4, 3, 3), "cubic" if kind == "bicubic" else kind, antialias=True)
        path = saved(model, tmp_path / f"{kind}.keras")
        (got,) = webnn_compile.compile(path, dims={"batch": 2}).run({"in0": x}).values()
        np.testing.assert_allclose(got, np.asarray(expected), atol=1e-5)
