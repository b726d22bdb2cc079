"""Times of a model on a device, by kernel and as a whole."""

from __future__ import annotations

import numpy as np
import pytest
import webnn_compile
from drivers import need_driver
from onnx import TensorProto
from onnx_models import model, node, random
from webnn_compile.errors import InputError
from webnn_compile.execution.device_model import DeviceModel

X = random((3, 40))


@pytest.mark.parametrize("target", ["webgpu", "webgl", "opencl", "cuda"])
def test_every_step_has_a_time_and_results_stay_right(target: str) -> None:
    """In it is a step of the host: no device has float64."""
    need_driver(target)
    nodes = [
        node("MatMul", ["x", "w"], ["m"], "product"),
        node("Cast", ["m"], ["d"], "wide", to=11),
        node("Cast", ["d"], ["f"], "narrow", to=1),
        node("Relu", ["f"], ["y"], "relu"),
    ]
    w = random((40, 7), 1)
    made = webnn_compile.compile(model(nodes, {"x": [3, 40]}, ["y"], {"w": w}), target)
    assert isinstance(made, DeviceModel)
    found = made.profile({"x": X}, 2)
    assert [name for name, _ in found] == [s.name for s in made.program.steps]
    assert all(ms > 0 for _, ms in found)
    assert made.time({"x": X}, 0.001) > 0
    np.testing.assert_allclose(made.run({"x": X})["y"], np.maximum(X @ w, 0), rtol=1e-5, atol=1e-5)
    made.close()
    for measure in (lambda: made.profile({"x": X}, 1), lambda: made.time({"x": X}, 0)):
        with pytest.raises(InputError, match="the model is closed"):
            measure()


@pytest.mark.parametrize("target", ["webgl", "opencl"])
def test_what_the_host_overwrites_is_not_computed_from_again(target: str) -> None:
    """The host's results lie where its inputs did, and a device's where those of the run did."""
    need_driver(target)
    nodes = [
        node("MatMul", ["d", "d"], ["d2"]),
        node("MatMul", ["d2", "d2"], ["d3"]),
        node("MatMul", ["d3", "d3"], ["d4"]),
        node("Cast", ["d4"], ["f"], to=1),
        node("Softmax", ["f"], ["s"]),
        node("Cast", ["x"], ["g"], to=1),
        node("MatMul", ["s", "g"], ["m"]),
        node("Softmax", ["m"], ["n"]),
        node("MatMul", ["n", "m"], ["y"]),
    ]
    given = {"d": random((6, 6), 0, np.float64), "x": random((6, 6), 1, np.float64)}
    made = webnn_compile.compile(model(nodes, {"d": [6, 6], "x": [6, 6]}, ["y"], dtype=TensorProto.DOUBLE), target)
    assert isinstance(made, DeviceModel)
    expected = made.run(given)["y"]
    made.profile(given, 3)
    np.testing.assert_array_equal(made._output(made.program.outputs[0]), expected)
    made.time(given, 0.01)
    np.testing.assert_array_equal(made._output(made.program.outputs[0]), expected)
