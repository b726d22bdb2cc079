"""Start-up: code is compiled and instantiated, shaders are compiled, filters are prepared, while weights arrive."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from device_artifacts import host_artifact, tiny_device_artifact
from devices import DEVICES, C, W, expected, open_bundle, value, write_site
from playwright.sync_api import Page
from prepared_artifact import PART, PARTS, prepared_artifact, prepared_weights
from server import Site, serve
from tiny_artifact import tiny_artifact
from webnn_compile.bundle import write_bundle

BEGIN = """(options) => {
  globalThis.instances = 0;
  const { instantiate } = WebAssembly;
  WebAssembly.instantiate = async (...given) => {
    const { exports } = await instantiate(...given);
    instances++;
    const prepare = exports.prepare && ((weights, arena, number) => {
      prepared.push(number);
      exports.prepare(weights, arena, number);
    });
    return { exports: { ...exports, ...(prepare && { prepare }) } };
  };
  globalThis.prepared = [];
  globalThis.seen = {};
  globalThis.loading = bundle.load({ ...options, onProgress: (p) => { seen[p.phase] = p; } });
  loading.catch((error) => { globalThis.failed = String(error); });
}"""
"""Begins to load: `instances` of this thread so far, numbers of what was `prepared`, what was `seen` last of each
phase, `failed` where it did."""


@pytest.fixture(scope="module")
def folder_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    bundles = {"cpu": tiny_artifact(), "tiny": tiny_device_artifact(*DEVICES)}
    bundles |= {f"host-{backend}": host_artifact(backend) for backend in DEVICES}
    folder = write_site(tmp_path_factory.mktemp("start_up"), bundles)
    write_bundle(prepared_artifact(), folder / "prepared", shard_bytes=1024)
    with serve(folder) as served:
        yield served


@pytest.fixture
def site(folder_site: Site) -> Iterator[Site]:
    """Where the weights stop half way, until `release`."""
    folder_site.release.clear()
    folder_site.faults = {"weights-*.bin": "wait"}
    yield folder_site
    folder_site.release.set()


def begin(page: Page, **options: Any) -> None:
    page.evaluate(BEGIN, options)


def reach(page: Page, condition: str) -> None:
    """Wait for it, with half of the weights there and no more."""
    page.wait_for_function(f"() => globalThis.failed || (seen.weights && {condition})")
    assert page.evaluate("() => globalThis.failed") is None
    weights = page.evaluate("seen.weights")
    assert 0 < weights["loaded"] < weights["total"]


COMPILED = "seen.compile && seen.compile.loaded === seen.compile.total"


def test_code_is_instantiated_while_weights_arrive(page: Page, site: Site) -> None:
    open_bundle(page, site, "cpu")
    begin(page, worker=False)
    reach(page, "instances === 1")
    site.release.set()
    script = "const model = await loading; return [await head(model, 1), seen.weights.loaded, model.backend]"
    assert value(page, script) == [(W + C).clip(0)[:8].tolist(), 8192, "wasm"]


def test_weights_arrive_while_code_does(page: Page, site: Site) -> None:
    site.faults = {"relaxed-*.wasm": "wait"}
    open_bundle(page, site, "cpu")
    begin(page, worker=False)
    page.wait_for_function("() => seen.weights?.loaded === 8192")
    assert page.evaluate("instances") == 0
    site.release.set()
    assert value(page, "return (await loading).backend") == "wasm"


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_shaders_are_compiled_while_weights_arrive(page: Page, site: Site, backend: str, worker: bool) -> None:
    open_bundle(page, site, "tiny", backend)
    begin(page, backend=backend, worker=worker)
    reach(page, COMPILED)
    site.release.set()
    script = "const model = await loading; return [await head(model, 1), seen.weights.loaded, model.backend]"
    assert value(page, script) == [expected(1), 8192, backend]


def test_the_host_is_instantiated_while_weights_arrive(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, f"host-{backend}", backend)
    begin(page, backend=backend, worker=False)
    reach(page, f"instances === 1 && {COMPILED}")
    site.release.set()
    script = """
      const model = await loading;
      const { output } = await model.run({ input: new BigInt64Array(64).fill(5n) });
      return [Number(output[63]), model.backend];
    """
    assert value(page, script) == [19, backend]


def test_weights_are_prepared_while_others_arrive(page: Page, site: Site) -> None:
    """Two shards are a part; the first half of the fifth and sixth one is there."""
    open_bundle(page, site, "prepared")
    text = page.evaluate("async () => (await fetch('prepared/model.js')).text()")
    shards = re.findall(r"weights-\w+\.bin", text)
    site.requests.clear()
    site.faults = dict.fromkeys(shards[4:6], "wait")
    begin(page, worker=False)
    page.wait_for_function("() => globalThis.failed || (prepared.length === 2 && seen.weights.loaded === 5 * 1024)")
    assert page.evaluate("[globalThis.failed, prepared]") == [None, [0, 1]]
    site.release.set()
    script = "return [await (await loading).run({ input: new Float32Array(2048) }), prepared]"
    result, numbers = value(page, script)
    assert result["output"] == (2 * prepared_weights()).tolist()
    assert numbers == list(range(PARTS))
    # Those of another backend alone are not fetched.
    fetched = {path.rsplit("/", 1)[1] for path in site.requests if path.endswith(".bin")}
    assert fetched == set(shards[: 4 * PARTS * PART // 1024])


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_weights_are_prepared_when_code_comes_last(page: Page, site: Site, worker: bool) -> None:
    site.faults = {"relaxed-*.wasm": "wait"}
    open_bundle(page, site, "prepared")
    begin(page, worker=worker)
    page.wait_for_function("() => globalThis.failed || seen.weights?.loaded === 8192")
    site.release.set()
    result = value(page, "return (await loading).run({ input: new Float32Array(2048).fill(1) })")
    assert result["output"] == (2 * prepared_weights() + 1).tolist()
