"""`load({ verify })`: runs on a GPU are compared with wasm, now and then, and wrong ones reject."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import pytest
from compiled import compile_site
from decoders.tiny import tiny_decoder
from devices import value
from digits import agrees, images, open_digits, reference
from harness import open_page, outcome
from playwright.sync_api import Page
from server import Site, serve

RUNS = """
  const { breakDevice } = await import('./broken_device.js');
  const device = argument.rule ? breakDevice(argument.rule, argument.options) : undefined;
  try {
    const model = await bundle.load(argument.load);
    const found = [];
    for (const i of argument.images) found.push(await outcome(logits(model, i)));
    const info = model.info();
    await model.dispose();
    return { found, info };
  } finally {
    device?.mend();
  }
"""
"""The outcomes of runs on `argument.images` of a device that is broken by a rule, where there is one."""


def verified(page: Page, backend: str, verify: Any, count: int, rule: str = "", **options: Any) -> dict[str, Any]:
    """{found, info} of runs on images in turn; `options` are the rule's, `load` those of `load` besides."""
    load = {"backend": backend, "worker": False, "canaries": False, "verify": verify, **options.pop("load", {})}
    order = [i % len(images()) for i in range(count)]
    result: dict[str, Any] = value(page, RUNS, {"load": load, "images": order, "rule": rule, "options": options})
    return result


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_right_runs_pass(page: Page, digits_site: Site, backend: str, worker: bool) -> None:
    open_digits(page, digits_site, backend)
    got = verified(page, backend, {"every": 2}, 5, load={"worker": worker})
    for i, found in enumerate(got["found"]):
        assert agrees(found["value"], reference()[i])
    own = got["info"]["verified"]
    assert (own["every"], own["runs"]) == (2, 3)
    assert 0 <= own["largest"] < 1e-4


RULES = {
    "factor": {"kernel": 3},
    "tail": {"kernel": 3},
    "race": {"kernel": 3},
    "large": {"above": 30_000},
    "later": {"kernel": 1, "right": 2},
}
"""Rules and their options; of `later` one launch at load and the first run are right."""


@pytest.mark.parametrize("rule", RULES)
def test_wrong_runs_reject(page: Page, digits_site: Site, backend: str, rule: str) -> None:
    """With what is wrong by how much, and on which adapter; and so does the next run, though it is not its turn."""
    open_digits(page, digits_site, backend)
    got = verified(page, backend, {"every": 2}, 4, rule, **RULES[rule])
    first, second, third, fourth = got["found"]
    wrong = [third, fourth] if rule == "later" else [first, second, third, fourth]
    for one in wrong:
        assert (one["name"], one["code"]) == ("RunError", "wrong-results")
        assert one["message"].startswith(f'output "logits" is wrong on {backend} ({got["info"]["adapter"]}): ')
        assert "load with { backend: 'wasm' }" in one["message"]
    if rule == "later":
        assert agrees(first["value"], reference()[0])
    assert got["info"]["verified"]["largest"] > 1e-3


def test_an_abort_ends_a_run_that_is_compared(page: Page, digits_site: Site) -> None:
    """The reference's run never ends here: its worker does not get the message."""
    open_digits(page, digits_site, "webgl")
    script = """
      const model = await bundle.load({ backend: 'webgl', worker: true, canaries: false, verify: { every: 1 } });
      await logits(model, 0);
      const { postMessage } = Worker.prototype;
      Worker.prototype.postMessage = () => { Worker.prototype.postMessage = postMessage; };
      const aborter = new AbortController();
      const running = outcome(model.run({ image: images[0] }, { signal: aborter.signal }));
      const within = (ms) => Promise.race([running, new Promise((done) => setTimeout(done, ms, 'compared'))]);
      const early = await within(2000);
      aborter.abort(new RangeError('enough'));
      const found = await within(1000);
      const { runs } = model.info().verified;
      await model.dispose();
      return { early, found, runs };
    """
    got = value(page, script)
    assert (got["early"], got["runs"]) == ("compared", 1)
    assert (got["found"]["name"], got["found"]["message"]) == ("RangeError", "enough")


def test_outputs_on_the_device_leave_their_turn(page: Page, digits_site: Site) -> None:
    open_digits(page, digits_site, "webgpu")
    script = """
      const model = await bundle.load({ backend: 'webgpu', worker: false, verify: { every: 100 } });
      const runs = [];
      for (const output of ['gpu-buffer', 'array', 'array']) {
        const { logits } = await model.run({ image: images[0] }, { output });
        logits.destroy?.();
        runs.push(model.info().verified.runs);
      }
      await model.dispose();
      return runs;
    """
    assert value(page, script) == [0, 1, 1]


def test_on_wasm_there_is_nothing_to_compare(page: Page, digits_site: Site) -> None:
    open_digits(page, digits_site, "wasm")
    got = verified(page, "wasm", "sample", 1)
    assert agrees(got["found"][0]["value"], reference()[0])
    assert "verified" not in got["info"]


def test_the_script_is_fetched_for_it_alone(page: Page, digits_site: Site, backend: str) -> None:
    open_digits(page, digits_site, backend)
    for verify, scripts in ((False, 0), ("sample", 1)):
        digits_site.requests.clear()
        verified(page, backend, verify, 1)
        assert len([path for path in digits_site.requests if "verify_runs" in path]) == scripts


def test_a_server_without_the_script(page: Page, digits_site: Site) -> None:
    page.route("**/verify_runs-*", lambda route: route.fulfill(status=404))
    open_digits(page, digits_site, "wasm")
    refused = outcome(page, "return bundle.load({ verify: 'sample' })")
    assert (refused["name"], refused["code"]) == ("DownloadError", "network")
    assert "the script of the comparison with wasm did not load" in refused["message"]
    page.unroute("**/verify_runs-*")


def test_a_bundle_without_wasm(page: Page, digits_site: Site, backend: str) -> None:
    open_digits(page, digits_site, backend, "gpus")
    refused = outcome(page, "return bundle.load({ verify: 'sample' })")
    assert (refused["name"], refused["code"]) == ("UnsupportedError", "backend")
    assert "compile it with wasm among its --targets" in refused["message"]


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory, digits_folder: Path) -> Iterator[Site]:
    """A model with states, and a classic script."""
    folder = tmp_path_factory.mktemp("verify")
    onnx.save(tiny_decoder(), folder / "decoder.onnx")
    sizes = ("--dim", "batch=1", "--dim", "past=0..59", "--dim", "seq=1..5")
    compile_site(folder / "decoder.onnx", folder, *sizes, "--targets", "wasm,webgl")
    with serve(folder) as served:
        yield served


def test_a_model_with_states_is_refused(page: Page, others: Site) -> None:
    open_page(page, others, "bundles.html?bundle")
    refused = outcome(page, "return bundle.load({ verify: { every: 10 } })")
    assert (refused["name"], refused["code"]) == ("UnsupportedError", "verify")
    assert "depend on states" in refused["message"]
