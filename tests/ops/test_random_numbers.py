"""Random numbers have the distribution that ONNX states, and are the same on each target, in each run and in each form
of a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import webnn_compile
from drivers import need_driver
from onnx import TensorProto, helper
from webnn_compile.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]

COUNT = 100_000


def drawn(
    op: str,
    x: Array | None = None,
    target: str = "native",
    result: int = TensorProto.FLOAT,
    name: str = "node",
    dims: dict[str, tuple[int, int]] | None = None,
    **attributes: Any,
) -> Array:
    """The numbers of a model of one node, whose input has the dimensions `dims`, if any are given."""
    fed = {} if x is None else {"x": x}
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), [*(dims or a.shape)])
        for n, a in fed.items()
    ]
    node = helper.make_node(op, [i.name for i in inputs], ["y"], name=name, **attributes)
    graph = helper.make_graph([node], "g", inputs, [helper.make_empty_tensor_value_info("y")])
    graph.output[0].type.tensor_type.elem_type = result
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    compiled = webnn_compile.compile(model, target=target, dims=dims)
    return np.asarray(compiled.run(fed)["y"])


def within(mean: float, expected: float, deviation: float, count: int = COUNT) -> bool:
    """Whether a mean of `count` numbers is within five of its standard deviations."""
    return abs(mean - expected) < 5 * deviation / count**0.5


def test_uniform_numbers_by_moments() -> None:
    y = drawn("RandomUniform", shape=[COUNT], low=-1.0, high=3.0, seed=3.0).astype(np.float64)
    assert y.min() >= -1
    assert y.max() < 3
    unit = (y + 1) / 4
    for power in range(1, 5):
        mean = 1 / (power + 1)
        assert within(float((unit**power).mean()), mean, (1 / (2 * power + 1) - mean**2) ** 0.5)
    counts = np.bincount((unit * 100).astype(int), minlength=100)
    assert 50 < ((counts - COUNT / 100) ** 2 / (COUNT / 100)).sum() < 160  # chi-squared of 99 degrees: 99, deviation 14
    assert within(float(((unit[1:] - 0.5) * (unit[:-1] - 0.5)).mean()), 0, 1 / 12)


def test_normal_numbers_by_moments() -> None:
    y = (drawn("RandomNormal", shape=[COUNT], mean=5.0, scale=2.0, seed=4.0).astype(np.float64) - 5) / 2
    for power, mean, square in ((1, 0, 1), (2, 1, 3), (3, 0, 15), (4, 3, 105)):
        assert within(float((y**power).mean()), mean, (square - mean**2) ** 0.5)
    assert within(float((np.abs(y) < 1).mean()), 0.682689, 0.4655)
    assert 3.7 < np.abs(y).max() < 5.8


def test_bernoulli_and_multinomial_by_frequency() -> None:
    p = np.tile(np.array([0, 0.01, 0.3, 0.5, 0.99, 1], np.float32), (COUNT, 1))
    for column, chance in zip(drawn("Bernoulli", p).T, p[0], strict=True):
        assert within(float(column.mean()), chance, float((chance * (1 - chance)) ** 0.5) + 1e-9)
    chances = np.array([[0.05, 0.15, 0.3, 0.5], [0.97, 0.01, 0.02, 0]])
    scores = np.log(np.maximum(chances, 1e-30)).astype(np.float32) + 3
    y = drawn("Multinomial", scores, result=TensorProto.INT32, sample_size=COUNT // 4)
    for row, probabilities in zip(y, chances, strict=True):
        for k, chance in enumerate(probabilities):
            assert within(float((row == k).mean()), chance, (chance * (1 - chance)) ** 0.5 + 1e-9, COUNT // 4)


def test_seeds_and_names() -> None:
    def of(name: str, **seed: float) -> Array:
        return drawn("RandomUniform", name=name, shape=[20_000], **seed)

    first = of("a")
    np.testing.assert_array_equal(first, of("a"))
    np.testing.assert_array_equal(of("a", seed=1.0), of("b", seed=1.0))
    others = (of("b"), of("a", seed=0.0), of("a", seed=1.0))
    for other in others:
        assert abs(np.corrcoef(first, other)[0, 1]) < 0.04
    assert abs(np.corrcoef(others[1], others[2])[0, 1]) < 0.04


@pytest.mark.parametrize("target", ["wasm", "c", "webgl", "webgpu", "opencl"])
def test_targets_draw_the_same_bits(target: str) -> None:
    """Also where a run decides the sizes, so that numbers are computed in it."""
    need_driver(target)
    x = np.zeros((37, 5), np.float32)
    fixed = drawn("RandomUniform", shape=[37, 5], name="node")
    np.testing.assert_array_equal(drawn("RandomUniformLike", x, target, dims={"n": (1, 64), "m": (1, 9)}), fixed)
    p = np.full((37, 5), 0.4, np.float32)
    np.testing.assert_array_equal(drawn("Bernoulli", p, target), (fixed < 0.4).astype(np.float32))


def test_bfloat16_is_rounded() -> None:
    x = np.zeros((40, 50), np.float32)
    for op in ("RandomUniformLike", "RandomNormalLike"):
        y = drawn(op, x, result=TensorProto.BFLOAT16, dtype=TensorProto.BFLOAT16)
        assert not (y.view(np.uint32) & 0xFFFF).any()
        assert len(np.unique(y)) > 100


def test_integers_are_refused() -> None:
    with pytest.raises(InputError, match="unsupported type tensor"):
        drawn("RandomNormalLike", np.zeros(3, np.int32), result=TensorProto.INT32)
