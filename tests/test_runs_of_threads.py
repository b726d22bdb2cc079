"""One model in several threads: runs wait for each other, and each has the results of its own inputs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import model, node, random

N = 192
NODES = [node("MatMul", ["x", "w"], ["a"]), node("Relu", ["a"], ["b"]), node("MatMul", ["b", "w"], ["y"])]


@pytest.mark.parametrize("target", ["native", "c", "wasm", "opencl", "webgpu"])
def test_each_thread_has_its_own_results(target: str) -> None:
    need_driver(target)
    made = webnn_compile.compile(model(NODES, {"x": [N, N]}, ["y"], {"w": random((N, N))}), target=target)
    inputs = [np.full((N, N), n, np.float32) for n in (1, -3)]
    right = [made.run({"x": x})["y"] for x in inputs]

    def agree(number: int) -> bool:
        return all(np.array_equal(made.run({"x": inputs[number]})["y"], right[number]) for _ in range(20))

    with ThreadPoolExecutor(2) as threads:
        assert all(threads.map(agree, range(2)))


def test_an_input_that_another_run_computes() -> None:
    """An array that is computed when it is read, by the very model that reads it."""
    made = webnn_compile.compile(model([node("Neg", ["x"], ["y"])], {"x": [2]}, ["y"]))

    class Computed:
        def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
            return made.run({"x": np.ones(2, np.float32)})["y"]

    np.testing.assert_array_equal(made.run({"x": Computed()})["y"], [1, 1])
