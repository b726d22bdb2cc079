"""`load({ verify })`: runs on a GPU are compared with wasm, now and then, and wrong ones reject."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from compiled import compile_site
from decoders.tiny import Passed, tiny_decoder
from devices import open_bundle, value
from digits import agrees, images, open_digits, reference
from harness import outcome
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


@pytest.mark.parametrize("rule", ["", "factor"])
def test_outputs_on_the_device_are_those_of_a_run_more(page: Page, digits_site: Site, rule: str) -> None:
    """Which is read; what stays on the device is returned, or freed where it is wrong."""
    open_digits(page, digits_site, "webgpu")
    script = """
      const { breakDevice } = await import('./broken_device.js');
      const device = argument ? breakDevice(argument, { kernel: 3 }) : undefined;
      const model = await bundle.load({ backend: 'webgpu', worker: false, canaries: false, verify: { every: 100 } });
      const run = () => model.run({ image: images[0] }, { output: 'gpu-buffer' });
      const found = [];
      for (let i = 0; i < 2; i++) found.push(await run().then(({ logits }) => logits.size, ({ code }) => code));
      device?.mend();
      const { runs } = model.info().verified;
      await model.dispose();
      return [...found, runs];
    """
    assert value(page, script, rule) == (["wrong-results", "wrong-results", 2] if rule else [40, 40, 1])


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
    compile_site(folder / "decoder.onnx", folder, *sizes)
    with serve(folder) as served:
        yield served


SAID = """
  const { breakDevice } = await import('./broken_device.js');
  const device = argument.rule ? breakDevice(argument.rule) : undefined;
  const model = await bundle.load({ backend: argument.backend, worker: false, canaries: false, verify: { every: 2 } });
  const other = await model.session();
  const found = [];
  for (const [session, ids] of [[model, [1, 2, 3]], [other, [9]], [model, [4]], [other, [5, 6]], [other, [7]]]) {
    const input_ids = { data: BigInt64Array.from(ids, BigInt), shape: [1, ids.length] };
    found.push(await outcome(session.run({ input_ids }).then(({ logits }) => Array.from(logits))));
  }
  device?.mend();
  const { verified } = model.info();
  const positions = [model.position, other.position];
  await model.dispose();
  return { found, verified, positions };
"""


def test_runs_with_states_are_compared(page: Page, others: Site, backend: str) -> None:
    """On copies of the states that each finds; the session goes on as without."""
    open_bundle(page, others, "bundle", backend)
    got = value(page, SAID, {"backend": backend})
    passed = [Passed.of(tiny_decoder()) for _ in range(2)]
    for found, (i, ids) in zip(got["found"], ((0, [1, 2, 3]), (1, [9]), (0, [4]), (1, [5, 6]), (1, [7])), strict=True):
        want = passed[i].run(ids)
        np.testing.assert_allclose(np.reshape(found["value"], want.shape), want, rtol=2e-4, atol=2e-4)
    assert (got["verified"]["runs"], got["positions"]) == (3, [4, 4])
    assert got["verified"]["largest"] < 1e-4


def test_wrong_runs_with_states_reject_and_count_for_nothing(page: Page, others: Site, backend: str) -> None:
    open_bundle(page, others, "bundle", backend)
    got = value(page, SAID, {"backend": backend, "rule": "factor"})
    assert [one["code"] for one in got["found"]] == ["wrong-results"] * 5
    assert (got["verified"]["runs"], got["positions"]) == (5, [0, 0])
