"""A kernel whose sources are all wrong on a GPU runs on the host, where a bundle has references."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import pytest
from compiled import PAGES, compile_site
from decoders.tiny import tiny_decoder
from devices import open_bundle, pretend, value
from digits import MODEL, agrees, images, reference
from playwright.sync_api import Page
from server import Site, serve

BUILD = ("--check-kernels=on", "--canaries=on", "--golden=off")

RUNS = """
  const { breakDevice, countKernels } = await import('./broken_device.js');
  const { backend, image, options } = argument;
  const device = breakDevice('factor', { ...options, others: await countKernels(bundle.load, backend) });
  try {
    const visits = [];
    for (const visit of [0, 1]) {
      const model = await bundle.load({ backend, worker: false, canaries: 'all' });
      const inputs = { image: Float32Array.from(image) };
      const found = [];
      for (const run of [0, 1]) found.push([...(await model.run(inputs)).logits]);
      if (visit) lose(model);
      found.push([...(await model.run(inputs)).logits]);
      const times = await model.profile(inputs);
      visits.push({ canaries: model.info().canaries, backend: model.backend, found, times });
      await model.dispose();
    }
    return visits;
  } finally {
    device.mend();
  }
"""
"""Two visits, the second with a device that is lost."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serve(compile_site(MODEL, tmp_path_factory.mktemp("host"), *BUILD)) as served:
        yield served


def forget(page: Page) -> None:
    page.evaluate("() => new Promise((done) => { indexedDB.deleteDatabase('webnn-compile').onsuccess = done; })")


def test_a_wrong_kernel_runs_on_the_host(page: Page, site: Site, backend: str) -> None:
    """All of its sources are; also on later visits, and on a device after a loss."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2].partition("-")[0]))
    open_bundle(page, site, "bundle", backend)
    forget(page)
    pretend(page)
    given = {"backend": backend, "image": images()[0], "options": {"kernel": 4, "factor": 1.05}}
    first, second = value(page, RUNS, given)
    for visit in (first, second):
        assert visit["backend"] == backend
        ((action, name),) = [(f["action"], f["kernel"]) for f in visit["canaries"]["failed"]]
        assert action == "host"
        assert all(agrees(found, reference()[0]) for found in visit["found"])
        assert any(step["name"] == name and step["ms"] > 0 for step in visit["times"])
    assert second["canaries"]["checked"] == first["canaries"]["checked"] - 1
    assert "references" in asked


def test_all_of_them(page: Page, site: Site, backend: str) -> None:
    """Kernels that prepare weights, too."""
    open_bundle(page, site, "bundle", backend)
    forget(page)
    pretend(page)
    first, second = value(page, RUNS, {"backend": backend, "image": images()[0], "options": {}})
    for visit in (first, second):
        assert {f["action"] for f in visit["canaries"]["failed"]} == {"host"}
        assert all(agrees(found, reference()[0]) for found in visit["found"])


LATER = """
  const { breakDevice, countKernels } = await import('./broken_device.js');
  const { backend, image } = argument;
  const inputs = { image: Float32Array.from(image) };
  const others = await countKernels(bundle.load, backend);
  const opened = async (right, canaries) => {
    const device = breakDevice('later', { kernel: 4, right, others });
    return { device, model: await bundle.load({ backend, worker: false, canaries }) };
  };
  const counting = await opened(0, false);
  const atLoad = counting.device.changed;
  await counting.model.run(inputs);
  const inRun = counting.device.changed - atLoad;
  counting.device.mend();
  await counting.model.dispose();
  const { device, model } = await opened(atLoad + 1 + 100 * inRun, 'all'); // its canary, and the runs
  try {
    const found = [];
    const run = async () => found.push([...(await model.run(inputs)).logits]);
    const before = model.info().canaries.failed;
    for (let i = 0; i < 100; i++) await run();
    const until = performance.now() + 60_000;
    while (!model.info().canaries.failed.length && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, 20));
    for (let i = 0; i < 3; i++) await run();
    return { before, found, after: model.info().canaries.failed, backend: model.backend, inRun };
  } finally {
    device.mend();
    await model.dispose();
  }
"""


def test_a_kernel_that_is_wrong_after_a_hundred_runs(page: Page, site: Site, backend: str) -> None:
    """It is replaced in a device that is set up anew, without a word to the page but the report."""
    open_bundle(page, site, "bundle", backend)
    forget(page)
    pretend(page)
    got = value(page, LATER, {"backend": backend, "image": images()[0]})
    assert (got["before"], got["backend"], got["inRun"] > 0) == ([], backend, True)
    assert [one["action"] for one in got["after"]] == ["host"]
    assert len(got["found"]) == 103
    assert all(agrees(found, reference()[0]) for found in got["found"])


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made: Path = tmp_path_factory.mktemp("decoder")
    onnx.save(tiny_decoder(), made / "tiny.onnx")
    sizes = ("--dim", "batch=1", "--dim", "past=0..19", "--dim", "seq=1..3")
    compile_site(made / "tiny.onnx", made / "tokens", *sizes, *BUILD, "--generate", "")
    shutil.copytree(PAGES, made, dirs_exist_ok=True)
    with serve(made) as served:
        yield served


TOKENS = """
  const { breakDevice } = await import('./broken_device.js');
  const tokens = async (canaries) => {
    const model = await bundle.load({ backend: argument, worker: false, canaries, verify: false });
    const found = [];
    for (const one of [model, await model.fork()])
      for await (const token of one.generate({ ids: [1, 2, 3], maxTokens: 8 })) found.push(Number(token));
    const { canaries: info } = model.info();
    await model.dispose();
    return { found, failed: info?.failed ?? [] };
  };
  const expected = await tokens(false);
  const device = breakDevice('factor', { factor: 1.3 });
  try {
    return { expected: expected.found, ...(await tokens('all')) };
  } finally {
    device.mend();
  }
"""


def test_sessions_of_a_decoder(page: Page, decoder: Site, backend: str) -> None:
    """Each has states of its own, and what the host computes has the sizes of its run."""
    open_bundle(page, decoder, "tokens/bundle", backend)
    forget(page)
    pretend(page)
    got: Any = value(page, TOKENS, backend)
    assert got["found"] == got["expected"]
    assert {f["action"] for f in got["failed"]} == {"host"}
