"""Totals of workgroups on this machine's adapter, by subgroups where it has them and without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drivers import need_driver
from onnx import helper
from onnx_models import model, node, random
from webnn_compile import compile
from webnn_compile.wgsl import device

LENGTHS = (256, 700, 1001, 5000)
"""Workgroups of 32 to 256 invocations."""


@pytest.mark.parametrize("subgroups", [True, False], ids=["subgroups", "tree"])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize(("op", "numpy"), [("ReduceMax", np.max), ("ReduceMin", np.min), ("ReduceProd", np.prod)])
def test_totals(op: str, numpy: Any, length: int, subgroups: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    need_driver("webgpu")
    opened = device.open_device()
    if subgroups and device.SUBGROUPS not in opened.features:
        pytest.skip("this machine's adapter has no subgroups")
    if not subgroups:
        monkeypatch.setattr(device, "SUBGROUPS", "hidden")
    sources: list[str] = []
    create = type(opened).create_shader_module

    def spy(self: Any, **given: Any) -> Any:
        sources.append(given["code"])
        return create(self, **given)

    monkeypatch.setattr(type(opened), "create_shader_module", spy)
    x = random((3, length), 5) / 100 + (op == "ReduceProd")
    # Of floats, extremes are NaN where an element is, which a subgroup's do not promise.
    x = x if op == "ReduceProd" else (x * 1e4).astype(np.int32)
    x[1, -1] = -(2**31) if op == "ReduceMax" else 3
    axes = {"axes": np.asarray([1], np.int64)}
    dtype = helper.np_dtype_to_tensor_dtype(x.dtype)
    proto = model([node(op, ["x", "axes"], ["y"], keepdims=0)], {"x": [3, length]}, ["y"], axes, 18, dtype)
    made = compile(proto, target="webgpu", cache=False)
    got = made.run({"x": x})["y"]
    np.testing.assert_allclose(got, numpy(x.astype(np.float64), axis=1), rtol=1e-4)
    (source,) = sources
    assert ("subgroup" in source) == subgroups
    assert source.count("workgroupBarrier") == (1 if subgroups else 2)
