"""KHR_parallel_shader_compile, which browsers without a GPU lack: a stand-in that answers when told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from device_artifacts import tiny_device_artifact
from devices import expected, open_bundle, value, write_site
from playwright.sync_api import Page
from server import Site, serve

STAND_IN = """() => {
  globalThis.compiled = true;
  globalThis.asked = 0;
  const COMPLETION_STATUS_KHR = 0x91b1;
  const { getExtension, getProgramParameter } = WebGL2RenderingContext.prototype;
  WebGL2RenderingContext.prototype.getExtension = function (name) {
    return name === 'KHR_parallel_shader_compile' ? { COMPLETION_STATUS_KHR } : getExtension.call(this, name);
  };
  WebGL2RenderingContext.prototype.getProgramParameter = function (program, name) {
    if (name !== COMPLETION_STATUS_KHR) return getProgramParameter.call(this, program, name);
    asked++;
    return compiled;
  };
}"""
"""Programs are `compiled` or not, and how often it was `asked`."""


@pytest.fixture(scope="module")
def folder_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serve(write_site(tmp_path_factory.mktemp("compile"), {"tiny": tiny_device_artifact("webgl")})) as served:
        yield served


@pytest.fixture
def site(folder_site: Site) -> Site:
    folder_site.faults.clear()
    return folder_site


def test_load_waits_for_what_compiles_and_leaves_the_page_free(page: Page, site: Site) -> None:
    open_bundle(page, site, "tiny", "webgl")
    page.evaluate(STAND_IN)
    script = """
      compiled = false;
      const seen = [];
      const loading = bundle.load({ worker: false, onProgress: (p) => seen.push(p.phase) });
      while (asked < 5) await new Promise((resolve) => setTimeout(resolve));
      const early = seen.includes('compile');
      compiled = true;
      return { early, head: await head(await loading, 1), kernels: seen.filter((phase) => phase === 'compile').length };
    """
    assert value(page, script) == {"early": False, "head": expected(1), "kernels": 3}


def test_a_load_that_fails_meanwhile_troubles_no_other_model(page: Page, site: Site) -> None:
    """They share the context: nobody goes on to ask for what is deleted, and no error of that is left in it."""
    open_bundle(page, site, "tiny", "webgl")
    page.evaluate(STAND_IN)
    assert value(page, "globalThis.model = await bundle.load({ worker: false }); return model.backend") == "webgl"
    site.faults["weights-*.bin"] = "missing"
    script = """
      compiled = false;
      const failed = await outcome(bundle.load({ worker: false }));
      const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
      await wait(100);
      const before = asked;
      await wait(300);
      return { code: failed.code, turns: asked - before, asked, head: await head(model, 1) };
    """
    found = value(page, script)
    assert found["asked"] > 0
    assert (found["code"], found["turns"], found["head"]) == ("http", 0, expected(1))
