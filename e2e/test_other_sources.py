"""Kernels that a GPU computes wrongly by one of their sources: another takes its place."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from devices import HAS_FEATURE, expected, open_anew, value
from harness import outcome
from playwright.sync_api import Page
from server import Site, serve
from wrong_kernels import DAMAGE, FAULTS, LOAD, MULTIPLY, write_wrong_kernels


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serve(write_wrong_kernels(tmp_path_factory.mktemp("canaries"))) as served:
        yield served


def visit_twice(page: Page, action: str) -> None:
    """Results are right, by a source that is compiled beside the others on the first visit, and in their place then."""
    compiled = []
    for _ in range(2):
        page.evaluate("() => { compiled = 0; }")
        info, output = value(page, LOAD, {"worker": False, "canaries": "all"})
        failed = [{**MULTIPLY, "backend": info["backend"], "action": action}]
        assert (output, info["canaries"]) == (expected(2), {"checked": 3, "skipped": 0, "failed": failed})
        compiled.append(page.evaluate("compiled"))
    shaders = 1 if info["backend"] == "webgpu" else 2  # of vertices, too
    assert compiled[0] == compiled[1] + shaders


def test_the_source_without_subgroups_takes_its_place(page: Page, site: Site) -> None:
    """And is compiled at once on the next visit."""
    warnings = open_anew(page, site, "subgroups", "webgpu")
    if not page.evaluate(HAS_FEATURE, "subgroups"):
        pytest.skip("this browser's WebGPU has no subgroups on this machine")
    page.evaluate(DAMAGE, ["", ""])
    visit_twice(page, "without-subgroups")
    (warning,) = warnings
    assert warning.endswith(", by kernel multiply (nodes: Mul_0)")


def test_the_source_in_float32_takes_its_place(page: Page, site: Site) -> None:
    """It is fetched once a canary fails, and at once on the next visit."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2].partition("-")[0]))
    warnings = open_anew(page, site, "floats", "webgpu")
    page.evaluate(DAMAGE, ["", ""])
    right = value(page, LOAD, {"worker": False, "canaries": False})[0]
    assert ("canaries" in right, "alternatives" in asked) == (False, False)
    visit_twice(page, "without-f16")
    assert asked.count("alternatives") == 2
    (warning,) = warnings
    assert warning.endswith(", by kernel multiply (nodes: Mul_0)")


def test_another_schedule_takes_its_place(page: Page, site: Site, backend: str) -> None:
    """For a fault of the one source alone."""
    warnings = open_anew(page, site, f"other-{backend}", backend)
    page.evaluate(DAMAGE, FAULTS["factor"][backend])
    visit_twice(page, "other-schedule")
    (warning,) = warnings
    assert warning.endswith(", by kernel multiply (nodes: Mul_0)")


def test_it_takes_its_place_on_a_device_after_a_loss_too(page: Page, site: Site, backend: str) -> None:
    """Where the device before was right; a third one begins with it."""
    open_anew(page, site, f"other-{backend}", backend)
    page.evaluate(DAMAGE, FAULTS["factor"][backend])
    script = """
      faulty = false;
      const model = await bundle.load({ backend: argument, worker: false, canaries: 'all' });
      const found = [];
      for (let device = 0; device < 3; device++) {
        found.push([await head(model, 2), model.info().canaries.failed.map(({ action }) => action)]);
        faulty = true;
        lose(model);
      }
      await model.dispose();
      return found;
    """
    actions = [[], ["other-schedule"], ["other-schedule"]]
    assert value(page, script, backend) == [[expected(2), own] for own in actions]


def test_it_takes_its_place_after_a_hundred_runs_too(page: Page, site: Site, backend: str) -> None:
    """The shader that is compiled first is wrong at its launch 102, when kernels are tried once more."""
    open_anew(page, site, f"other-{backend}", backend)
    script = """
      const { breakDevice } = await import('./broken_device.js');
      const broken = breakDevice('later', { right: 101, kernel: 0 });
      try {
        const model = await bundle.load({ backend: argument, worker: false, canaries: 'all' });
        for (let i = 0; i < 100; i++) await head(model, 2);
        const until = performance.now() + 20_000;
        while (!model.info().canaries.failed.length && performance.now() < until)
          await new Promise((resolve) => setTimeout(resolve, 20));
        const { failed } = model.info().canaries;
        const last = await head(model, 2);
        await model.dispose();
        return { last, actions: failed.map(({ action }) => action) };
      } finally {
        broken.mend();
      }
    """
    assert value(page, script, backend) == {"last": expected(2), "actions": ["other-schedule"]}


def test_where_that_is_wrong_too_the_backend_is_given_up(page: Page, site: Site) -> None:
    open_anew(page, site, "wrong-floats", "webgpu")
    refused = outcome(page, LOAD, {"worker": False, "canaries": "all"})
    assert (refused["name"], refused["code"]) == ("UnsupportedError", "wrong-results")
