"""Long reductions on WebGPU: by subgroups where the device has them, by the workgroup's memory where it does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from compiled import compile_site
from devices import need_backend, value
from harness import COLLECT_SHADERS, open_page
from onnx import TensorProto, helper, numpy_helper
from playwright.sync_api import Page
from server import Site, serve

ROWS, LENGTH = 6, 1000
X = np.random.default_rng(0).standard_normal((ROWS, LENGTH)).astype(np.float32)
X[1, 17], X[2, 999], X[3, 5], X[4, 700] = np.inf, -np.inf, 7.5, np.nan

SPY = (
    "(hidden) => {"
    + COLLECT_SHADERS
    + """  // With `hidden` devices have no subgroups, whatever the adapter has.
  if (!hidden) return;
  const { get } = Object.getOwnPropertyDescriptor(GPUAdapter.prototype, 'features');
  const features = function () { return new Set([...get.call(this)].filter((name) => name !== 'subgroups')); };
  Object.defineProperty(GPUAdapter.prototype, 'features', { get: features });
}"""
)

RUN = """
  const adapter = argument.own && (await navigator.gpu.requestAdapter());
  const device = adapter ? await adapter.requestDevice() : undefined;
  const model = await bundle.load({ backend: 'webgpu', worker: false, device });
  const outputs = await model.run({ x: Float32Array.from(argument.x) });
  const { features } = model.info();
  await model.dispose();
  device?.destroy();
  const lists = Object.fromEntries(Object.entries(outputs).map(([name, a]) => [name, [...a].map(String)]));
  return { lists, features, shaders };
"""

HAS_SUBGROUPS = "async () => (await navigator.gpu.requestAdapter()).features.has('subgroups')"


def reductions() -> onnx.ModelProto:
    """Sums, maxima and minima of rows and of columns, and where the maxima stand."""
    axes = {f"axis{i}": np.asarray([i], np.int64) for i in (0, 1)}
    nodes = [
        helper.make_node("ReduceSum", ["x", "axis1"], ["sum"], keepdims=0),
        helper.make_node("ReduceMax", ["x", "axis1"], ["max"], keepdims=0),
        helper.make_node("ReduceMin", ["x", "axis1"], ["min"], keepdims=0),
        helper.make_node("ArgMax", ["x"], ["place"], axis=1, keepdims=0),
        helper.make_node("Transpose", ["x"], ["turned"], perm=[1, 0]),
        helper.make_node("Abs", ["turned"], ["sizes"]),
        helper.make_node("ReduceMax", ["sizes", "axis0"], ["columns"], keepdims=0),
    ]
    outputs = ("sum", "max", "min", "place", "columns")
    kinds = {name: TensorProto.INT64 if name == "place" else TensorProto.FLOAT for name in outputs}
    graph = helper.make_graph(
        nodes,
        "reductions",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [ROWS, LENGTH])],
        [helper.make_tensor_value_info(name, kind, [ROWS]) for name, kind in kinds.items()],
        [numpy_helper.from_array(a, name) for name, a in axes.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def expected() -> dict[str, Any]:
    return {
        "sum": X.astype(np.float64).sum(1),
        "max": X.max(1),
        "min": X.min(1),
        "place": X.argmax(1),
        "columns": np.abs(X).max(1),
    }


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder: Path = tmp_path_factory.mktemp("subgroups")
    onnx.save(reductions(), folder / "reductions.onnx")
    made = compile_site(folder / "reductions.onnx", folder / "site", "--targets", "webgpu")
    with serve(made) as served:
        yield served


@pytest.mark.parametrize("how", ["as it is", "hidden", "own device"])
def test_the_text_that_the_device_can_run(page: Page, site: Site, how: str) -> None:
    """A device of the page's own has the features that the page asked for: none."""
    open_page(page, site)
    need_backend(page, "webgpu")
    page.evaluate(SPY, how == "hidden")
    able = page.evaluate(HAS_SUBGROUPS)
    assert not (able and how == "hidden")
    able = able and how == "as it is"
    found = value(page, RUN, {"x": X.reshape(-1).tolist(), "own": how == "own device"})
    assert found["features"] == (["subgroups"] if able else [])
    together = [s for s in found["shaders"] if "var<workgroup>" in s]
    assert len(together) == 5
    for text in together:
        assert text.startswith("enable subgroups;") == able
        assert ("subgroupExclusiveAdd" in text) == able
        assert text.count("workgroupBarrier") == (1 if able else 2)
    for name, want in expected().items():
        got = np.asarray([float(v) for v in found["lists"][name]])
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-4, err_msg=name)
