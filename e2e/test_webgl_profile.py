"""Times of launches on WebGL by EXT_disjoint_timer_query_webgl2, which browsers on test machines lack: a stand-in that
keeps the extension's rules. And without it, by the page's clock."""

from __future__ import annotations

from typing import Any

import pytest
from devices import value
from digits import agrees, open_digits, reference
from playwright.sync_api import Page
from server import Site

EXTENSION = """(disjoint) => {
  const TIME_ELAPSED_EXT = 0x88bf, GPU_DISJOINT_EXT = 0x8fbb;
  const { prototype } = WebGL2RenderingContext;
  const own = (name) => prototype[name];
  const [getExtension, drawArrays, getParameter, isContextLost] =
    ['getExtension', 'drawArrays', 'getParameter', 'isContextLost'].map(own);
  globalThis.timer = { queries: 0, alive: 0, polls: 0, broken: [], asked: 0 };
  const rule = (kept, text) => { if (!kept) timer.broken.push(text); };
  let enabled = false, active, pending = [];
  prototype.getExtension = function (name) {
    if (name !== 'EXT_disjoint_timer_query_webgl2') return getExtension.call(this, name);
    enabled = true;
    return { TIME_ELAPSED_EXT, GPU_DISJOINT_EXT, QUERY_COUNTER_BITS_EXT: 0x8864, TIMESTAMP_EXT: 0x8e28 };
  };
  prototype.createQuery = () => {
    timer.queries++;
    timer.alive++;
    return { draws: 0 };
  };
  prototype.deleteQuery = (query) => {
    rule(!query.deleted && query !== active, 'deleted twice or while active');
    query.deleted = true;
    timer.alive--;
  };
  prototype.beginQuery = (target, query) => {
    rule(enabled && target === TIME_ELAPSED_EXT, 'unknown target');
    rule(!active, 'two queries at once');
    rule(!query.ended, 'begun twice');
    active = query;
  };
  prototype.endQuery = (target) => {
    rule(active && target === TIME_ELAPSED_EXT, 'ended without a beginning');
    active.ended = true;
    pending.push(active);
    active = undefined;
  };
  prototype.drawArrays = function (...given) {
    if (active) active.draws++;
    drawArrays.apply(this, given);
  };
  // Results come one after the other, and never before control is back at the browser.
  setInterval(() => { const first = pending.shift(); if (first) first.available = true; }, 1);
  prototype.getQueryParameter = function (query, name) {
    rule(query.ended && !query.deleted, 'asked of a query that is not there');
    if (name === this.QUERY_RESULT_AVAILABLE) {
      if (!query.available) timer.polls++;
      return query.available === true;
    }
    rule(query.available, 'a result taken before it is available');
    return query.draws * 1_500_000;
  };
  // Whether there was a disturbance since it was last asked.
  prototype.getParameter = function (name) {
    if (name !== GPU_DISJOINT_EXT) return getParameter.call(this, name);
    timer.asked++;
    const since = disjoint === 'always' || (disjoint === 'before' && timer.asked === 1);
    return since;
  };
}"""

PROFILE = """
  const model = await bundle.load({ backend: 'webgl', worker: false });
  let finished = 0;
  const { readPixels } = WebGL2RenderingContext.prototype;
  WebGL2RenderingContext.prototype.readPixels = function (...given) { finished++; readPixels.apply(this, given); };
  const times = await model.profile({ image: images[0] });
  WebGL2RenderingContext.prototype.readPixels = readPixels;
  return { times, finished, timer: globalThis.timer, after: await logits(model, 0), kernels: model.info().kernels };
"""


def profile(page: Page, site: Site, disjoint: str | None) -> dict[str, Any]:
    open_digits(page, site, "webgl")
    if disjoint is not None:
        page.evaluate(EXTENSION, disjoint)
    found: dict[str, Any] = value(page, PROFILE)
    assert agrees(found["after"], reference()[0])
    assert len(found["times"]) == found["kernels"]
    return found


@pytest.mark.parametrize("disjoint", ["never", "before"])
def test_by_the_clock_of_the_device(page: Page, digits_site: Site, disjoint: str) -> None:
    """Earlier disturbances of the clock do not count."""
    found = profile(page, digits_site, disjoint)
    assert [(t["ms"], t["clock"]) for t in found["times"]] == [(1.5, "gpu")] * found["kernels"]
    timer = found["timer"]
    assert timer["broken"] == []
    assert (timer["queries"], timer["alive"]) == (found["kernels"], 0)
    assert timer["polls"] > 0
    assert found["finished"] == 0


def test_a_disturbed_clock_is_not_believed(page: Page, digits_site: Site) -> None:
    found = profile(page, digits_site, "always")
    assert {t["clock"] for t in found["times"]} == {"wall"}
    assert (found["timer"]["broken"], found["timer"]["alive"]) == ([], 0)
    assert found["finished"] == 2 * found["kernels"]


@pytest.mark.fresh_page
def test_without_the_extension_every_launch_is_finished(page: Page, digits_site: Site) -> None:
    page.add_init_script("""
      const { getExtension } = WebGL2RenderingContext.prototype;
      WebGL2RenderingContext.prototype.getExtension = function (name) {
        return name.startsWith('EXT_disjoint') ? null : getExtension.call(this, name);
      };
    """)
    found = profile(page, digits_site, None)
    assert {t["clock"] for t in found["times"]} == {"wall"}
    assert all(t["ms"] >= 0 for t in found["times"])
    assert found["finished"] == 2 * found["kernels"]
