"""Points in the picture that was given: of tables as MoveNet has them, and of heat maps."""

from __future__ import annotations

import numpy as np
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import model, node
from webnn_compile.errors import InputError

Array = np.ndarray


def expected(x: Array, y: Array, scores: Array) -> list[dict[str, object]]:
    rows = enumerate(zip(x, y, scores, strict=True))
    near = pytest.approx
    return [
        {"label": str(i), "index": i, "x": near(a, abs=1e-3), "y": near(b, abs=1e-3), "score": near(s, rel=1e-5)}
        for i, (a, b, s) in rows
    ]


@pytest.mark.parametrize("order", ["yx", "xy"])
def test_tables(order: str) -> None:
    """A picture of 40 x 30 is stretched to 16 x 16."""
    values = np.random.default_rng(0).uniform(0, 1, (1, 1, 5, 3)).astype(np.float32)
    nodes = [node("ReduceMean", ["x"], ["m"], keepdims=0), node("Mul", ["m", "zero"], ["none"])]
    nodes += [node("Add", ["values", "none"], ["y"])]
    proto = model(nodes, {"x": (1, 3, 16, 16)}, ["y"], {"values": values, "zero": np.zeros((), np.float32)})
    answer = "keypoints" if order == "yx" else "keypoints,xy"
    compiled = webnn_compile.compile(proto, pictures={"x": "unit"}, answers=[answer])
    got = compiled.run({"x": np.full((30, 40), -1, np.int32)})["y"]
    y, x, scores = values[0, 0].T if order == "yx" else values[0, 0].T[[1, 0, 2]]
    assert got == expected(x * 40, y * 30, scores)


@pytest.mark.parametrize("target", ["native", "wasm", "webgl", "webgpu"])
@pytest.mark.parametrize("last", [False, True])
def test_maps(target: str, last: bool) -> None:
    need_driver(target)
    nodes = [node("AveragePool", ["x"], ["p"], kernel_shape=[2, 2], strides=[2, 2])]
    nodes += [node("Transpose", ["p"], ["y"], perm=[0, 2, 3, 1]) if last else node("Identity", ["p"], ["y"])]
    x = np.random.default_rng(1).uniform(0, 1, (1, 3, 12, 20)).astype(np.float32)
    got = webnn_compile.compile(model(nodes, {"x": x.shape}, ["y"]), target, answers=["keypoints"]).run({"x": x})["y"]
    maps = x.reshape(3, 6, 2, 10, 2).mean(axis=(2, 4)).reshape(3, -1)
    row, column = np.divmod(maps.argmax(axis=1), 10)
    assert got == expected(2 * column + 1, 2 * row + 1, maps.max(axis=1))


def test_mistakes() -> None:
    proto = model([node("GlobalAveragePool", ["x"], ["y"])], {"x": (1, 3, 12, 20)}, ["y"])
    with pytest.raises(InputError, match=r"in the proportions of 12 x 20; the model has y of float32\[1, 3, 1, 1\]"):
        webnn_compile.compile(proto, answers=["keypoints"])
    with pytest.raises(InputError, match="'half' is unknown; give keypoints"):
        webnn_compile.compile(proto, answers=["keypoints,half"])
