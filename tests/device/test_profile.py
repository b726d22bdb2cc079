"""Times of a model on a device, by kernel and as a whole."""

from __future__ import annotations

import numpy as np
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import model, node, random
from webnn_compile.device.device_model import DeviceModel
from webnn_compile.errors import InputError

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
