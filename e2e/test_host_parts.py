"""Models of which a part runs on the host: its own inputs and outputs, and values that cross over and back."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from compiled import PAGES, compile_site
from devices import COUNT_CALLS, DEVICES, open_bundle, value
from harness import outcome
from playwright.sync_api import Page
from server import Site, serve

LENGTH = 30_000
MODEL = f"""
<ir_version: 10, opset_import: ["" : 21]>
parts (double[3] x, int64[2] i, float[{LENGTH}] v) => (double[3] d, int64[2] j, float[{LENGTH}] y, double[1] q)
<double[1] half = {{0.5}}, int64[1] axis = {{0}}>
{{
  d = Mul(x, x)
  j = Add(i, i)
  f = Cast<to=1>(j)
  c = ReduceSum<keepdims=1>(f, axis)
  y = Mul(v, c)
  top = ReduceMax<keepdims=1>(y, axis)
  wide = Cast<to=11>(top)
  q = Mul(wide, half)
}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts")
    path = folder / "parts.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), path)
    shutil.copytree(PAGES, folder, dirs_exist_ok=True)
    for backend in DEVICES:
        compile_site(path, folder / backend, "--targets", backend)
    return folder


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[Site]:
    with serve(folder) as served:
        yield served


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
@pytest.mark.parametrize("backend", DEVICES)
def test_both_sides_compute_their_part(page: Page, site: Site, backend: str, worker: bool) -> None:
    open_bundle(page, site, f"{backend}/bundle", backend)
    script = f"""
      const model = await bundle.load({{ worker: argument }});
      const v = Float32Array.from({{ length: {LENGTH} }}, (_, k) => k / 1024);
      const results = [];
      for (const big of [2n ** 40n, 3n]) {{
        const run = model.run({{ x: Float64Array.of(1e200, -0.1, 3), i: BigInt64Array.of(big, -1n), v }});
        const {{ d, j, y, q }} = await run;
        results.push({{ d: [...d], j: [...j].map(String), y: [y[1], y[1024]], q: [...q], kind: d.constructor.name }});
      }}
      const {{ backend, crossings }} = model.info();
      return {{ results, backend, crossings }};
    """
    found = value(page, script, worker)
    assert found["backend"] == backend
    assert found["crossings"] == 1
    for result, big in zip(found["results"], (2**40, 3), strict=True):
        assert result["kind"] == "Float64Array"
        assert result["d"] == [1e200 * 1e200, -0.1 * -0.1, 9.0]
        assert result["j"] == [str(2 * big), "-2"]
        total = float(2 * big - 2)
        assert result["y"] == pytest.approx([total / 1024, total], rel=1e-6)
        assert result["q"] == pytest.approx([total * (LENGTH - 1) / 2048], rel=1e-6)


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
@pytest.mark.parametrize("backend", DEVICES)
def test_a_policy_that_forbids_wasm_is_named(page: Page, folder: Path, backend: str, worker: bool) -> None:
    policy = "default-src 'self'; script-src 'self'; worker-src 'self'"
    with serve(folder, headers={"Content-Security-Policy": policy}) as site:
        open_bundle(page, site, f"{backend}/bundle", backend)
        refused = outcome(page, "return bundle.load({ worker: argument })", worker)
    assert (refused["name"], refused["code"]) == ("UnsupportedError", "compile")
    assert "needs script-src 'wasm-unsafe-eval', for the operations that run on the host): " in refused["message"]


@pytest.mark.parametrize("backend", DEVICES)
def test_what_the_host_has_is_not_on_the_device(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, f"{backend}/bundle", backend)
    script = f"""
      const model = await bundle.load({{ worker: false }});
      const image = await createImageBitmap(new ImageData(2, 2));
      const x = new Float64Array(3), i = new BigInt64Array(2), v = new Float32Array({LENGTH});
      const kept = await outcome(model.run({{ x, i, v }}, {{ output: 'gpu-buffer' }}));
      return [kept, await outcome(model.run({{ x: image, i, v }}))];
    """
    kept, image = value(page, script)
    if backend == "webgpu":
        assert kept["message"] == 'output "d" is computed on the host: run without { output }'
    assert image["name"] in ("TypeError", "UnsupportedError")
    assert 'input "x"' in image["message"]


@pytest.mark.parametrize("backend", DEVICES)
def test_a_run_submits_once_more_than_it_waits(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, f"{backend}/bundle", backend)
    page.evaluate(COUNT_CALLS)
    script = f"""
      const model = await bundle.load({{ worker: false }});
      const given = {{ x: new Float64Array(3), i: new BigInt64Array(2), v: new Float32Array({LENGTH}) }};
      await model.run(given);
      for (const name in calls) calls[name] = 0;
      await model.run(given);
      await model.run(given);
      return {{ calls, crossings: model.info().crossings }};
    """
    found = value(page, script)
    created = {name: n for name, n in found["calls"].items() if n and name.startswith("create")}
    created.pop("createCommandEncoder", None)
    assert created == {}
    assert found["crossings"] == 1
    if backend == "webgpu":
        assert found["calls"]["submit"] == 2 * 2
