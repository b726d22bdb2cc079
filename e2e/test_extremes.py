"""Infinities, NaN, halves and the ends of the range, in browsers' own implementations of every backend."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import extremes
import numpy as np
import onnx
import pytest
from compiled import PAGES, compile_site
from devices import DEVICES, open_bundle, value
from onnx import TensorProto, helper, numpy_helper
from playwright.sync_api import Page
from server import Site, serve

WHOLE = np.arange(-1024, 1024, dtype=np.float32)
DIVISORS = (3, 7, 10, 49, 255)


def whole_quotients() -> onnx.ModelProto:
    """WHOLE, rounded after a division by each of DIVISORS as a constant and as an input: floor, ceil, a cast."""
    nodes, outputs, constants = [], [], []
    for d in DIVISORS:
        constants.append(numpy_helper.from_array(np.float32(d), f"c{d}"))
        for divisor in (f"c{d}", f"y{d}"):
            nodes += [helper.make_node("Div", ["x", divisor], [f"q {divisor}"])]
            nodes += [helper.make_node(op, [f"q {divisor}"], [f"{op} {divisor}"]) for op in ("Floor", "Ceil")]
            nodes += [helper.make_node("Cast", [f"q {divisor}"], [f"Cast {divisor}"], to=TensorProto.INT32)]
            outputs += [(f"{op} {divisor}", TensorProto.FLOAT) for op in ("Floor", "Ceil")]
            outputs += [(f"Cast {divisor}", TensorProto.INT32)]
    graph = helper.make_graph(
        nodes,
        "quotients",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, WHOLE.shape) for name in ("x", *_operands())],
        [helper.make_tensor_value_info(name, dtype, WHOLE.shape) for name, dtype in outputs],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def _operands() -> list[str]:
    return [f"y{d}" for d in DIVISORS]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("extremes")
    path = folder / "extremes.onnx"
    onnx.save(extremes.model(), path)
    shutil.copytree(PAGES, folder, dirs_exist_ok=True)
    onnx.save(whole_quotients(), folder / "quotients.onnx")
    for backend in (*DEVICES, "wasm"):
        compile_site(path, folder / backend, "--targets", backend)
        compile_site(folder / "quotients.onnx", folder / f"{backend}-quotients", "--targets", backend)
    with serve(folder) as served:
        yield served


@pytest.mark.parametrize("backend", [*DEVICES, "wasm"])
def test_extremes(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, f"{backend}/bundle", backend if backend in DEVICES else "")
    feeds = extremes.inputs()
    script = """
      const model = await bundle.load();
      const floats = (bits) => new Float32Array(Uint32Array.from(bits).buffer);
      const outputs = await model.run({ x: floats(argument.x), y: floats(argument.y) });
      const bytes = (array) => [...new Uint8Array(array.buffer, array.byteOffset, array.byteLength)];
      return { backend: model.info().backend, outputs: Object.entries(outputs).map(([k, v]) => [k, bytes(v)]) };
    """
    found = value(page, script, {name: a.view(np.uint32).tolist() for name, a in feeds.items()})
    assert found["backend"] == backend
    want = extremes.expected(**feeds)
    got = {name: np.asarray(data, np.uint8).view(want[name].dtype) for name, data in found["outputs"]}
    assert extremes.differences(got) == []


@pytest.mark.parametrize("backend", [*DEVICES, "wasm"])
def test_quotients_that_are_whole_stay_whole(page: Page, site: Site, backend: str) -> None:
    """Shaders' divisions are less accurate than IEEE 754's, and -84 / 7 may round down to -13."""
    open_bundle(page, site, f"{backend}-quotients/bundle", backend if backend in DEVICES else "")
    script = """
      const model = await bundle.load();
      const names = Object.keys(argument.y);
      const inputs = Object.fromEntries(names.map((n) => [n, new Float32Array(argument.x.length).fill(argument.y[n])]));
      const outputs = await model.run({ x: Float32Array.from(argument.x), ...inputs });
      return { backend: model.info().backend, outputs: Object.entries(outputs).map(([k, v]) => [k, [...v]]) };
    """
    given = {"x": WHOLE.tolist(), "y": dict(zip(_operands(), DIVISORS, strict=True))}
    found = value(page, script, given)
    assert found["backend"] == backend
    assert len(found["outputs"]) == 6 * len(DIVISORS)
    rounded = {"Floor": np.floor, "Ceil": np.ceil, "Cast": np.trunc}
    for name, data in found["outputs"]:
        op, divisor = name.split()
        np.testing.assert_array_equal(data, rounded[op](WHOLE.astype(np.float64) / int(divisor[1:])), name)
