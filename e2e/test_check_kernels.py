"""`model.check`: which kernel a GPU computes wrongly on a user's own inputs, and that one that is right has none."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import pytest
from compiled import PAGES, ROOT, compile_site
from decoders.tiny import tiny_decoder
from devices import open_bundle, value
from digits import MODEL, images
from documentation import blocks
from playwright.sync_api import Page, expect
from server import Site, serve

START = 60_000  # ms: software adapters

CHECK = """
  const { breakDevice } = await import('./broken_device.js');
  const { rule, options, load, image } = argument;
  const device = rule ? breakDevice(rule, options) : undefined;
  const model = await bundle.load({ worker: false, canaries: false, ...load });
  try {
    const inputs = { image: Float32Array.from(image) };
    const before = await model.run(inputs);
    const own = inputs.image.slice();
    const checking = model.check({ image: own });
    const refill = setInterval(() => own.fill(Math.random()), 1);
    const found = await outcome(checking);
    clearInterval(refill);
    const after = await model.run(inputs);
    return { ...found, same: before.logits.every((x, i) => x === after.logits[i]) };
  } finally {
    device?.mend();
    await model.dispose();
  }
"""
"""The outcome of a check on a GPU that is broken by `argument.rule`; `same`: runs before and after it agree.
Arrays are the caller's again as soon as it begins."""


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[Site]:
    with serve(folder) as served:
        yield served


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_site(MODEL, tmp_path_factory.mktemp("check"), "--check-kernels=on", "--canaries=off", "--golden=off")


def check(page: Page, site: Site, backend: str, rule: str = "", **options: Any) -> Any:
    open_bundle(page, site, "bundle", backend)
    given = {"rule": rule, "options": options, "load": {"backend": backend}, "image": images()[0]}
    return value(page, CHECK, given)


def program(folder: Path, backend: str) -> Any:
    """The tables of a backend's program."""
    (file,) = (folder / "bundle").glob(f"{backend}-*.txt")
    return json.loads(file.read_text())


def test_a_right_device_has_no_wrong_kernel(page: Page, site: Site, folder: Path, backend: str) -> None:
    """Each kernel is compared, also those that prepare weights; the model's session goes on. A load fetches nothing
    of all that."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2].partition("-")[0]))
    open_bundle(page, site, "bundle", backend)
    value(page, f"const model = await bundle.load({{ backend: '{backend}' }}); await model.dispose();")
    assert not {"references", "check_launches"} & set(asked)
    got = check(page, site, backend)
    assert {"references", "check_launches"} <= set(asked)
    kernels, launches = program(folder, backend)["kernels"], program(folder, backend)["launches"]
    found = got["value"]
    assert (found["wrong"], found["outputs"], found["skipped"]) == ([], [], [])
    assert (found["compared"], found["launches"]) == (len(kernels["name"]), len(launches["kernel"]))
    assert 0 < found["largest"] < 1e-4
    assert got["same"]


def test_a_wrong_kernel_is_named(page: Page, site: Site, folder: Path, backend: str) -> None:
    """Alone, though all behind it have wrong operands in a run; where all are wrong, each is."""
    kernel = 2
    found = check(page, site, backend, "factor", kernel=kernel, factor=1.01)["value"]
    tables = program(folder, backend)
    launch = tables["launches"]["kernel"].index(kernel)
    (wrong,) = found["wrong"]
    assert wrong["kernel"] == tables["kernels"]["name"][kernel]
    assert (wrong["nodes"], wrong["ops"]) == (tables["launches"]["nodes"][launch], tables["launches"]["ops"][launch])
    assert wrong["launch"] == launch
    assert wrong["allowed"] < wrong["apart"] < 0.011
    every = check(page, site, backend, "factor", factor=1.01)["value"]
    assert len(every["wrong"]) == every["compared"]


def test_a_race_lies_between_launches(page: Page, site: Site, backend: str) -> None:
    """Each kernel is right by itself; outputs are not. The documented script says so."""
    (script,) = (b.text for b in blocks(ROOT / "docs" / "canaries.md") if b.mark == f"run by e2e/{Path(__file__).name}")
    open_bundle(page, site, "bundle", backend)
    found = check(page, site, backend, "race", kernel=3)["value"]
    assert found["wrong"] == []
    (output,) = found["outputs"]
    assert output["name"] == "logits"
    assert output["apart"] > output["allowed"]
    inline = """
      const told = [], report = (text) => told.push(text), inputs = {};
      const load = async () => ({ check: async () => argument });
    """
    assert value(page, f"{inline} {script}; return told;", found) == [
        "each kernel is right by itself: the fault lies between launches"
    ]


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A decoder with caches, and one that gives tokens."""
    made = tmp_path_factory.mktemp("decoder")
    onnx.save(tiny_decoder(), made / "tiny.onnx")
    sizes = ("--dim", "batch=1", "--dim", "past=0..19", "--dim", "seq=1..3", "--canaries=off", "--golden=off")
    for name, options in {"runs": (), "tokens": ("--generate", "")}.items():
        compile_site(made / "tiny.onnx", made / name, *sizes, *options, "--check-kernels=on")
    shutil.copytree(PAGES, made, dirs_exist_ok=True)
    with serve(made) as served:
        yield served


CHECK_STATES = """
  const { breakDevice } = await import('./broken_device.js');
  const { rule, options, backend } = argument;
  const device = rule ? breakDevice(rule, options) : undefined;
  const model = await bundle.load({ backend, worker: false, canaries: false, verify: false });
  try {
    const words = (...ids) => ({ input_ids: { data: BigInt64Array.from(ids, BigInt), shape: [1, ids.length] } });
    for (const ids of [[1, 2, 3], [4]]) await model.run(words(...ids));
    const fork = await model.fork();
    const found = await outcome(model.check(words(5, 6)));
    const { position } = model;
    const [own, other] = [await model.run(words(7)), await fork.run(words(7))];
    const same = Object.keys(own).every((name) => own[name].every((x, i) => x === other[name][i]));
    return { ...found, position, same };
  } finally {
    device?.mend();
    await model.dispose();
  }
"""
"""The outcome of a check of a run that finds four rows; `same`: the session goes on as if it had not been."""


@pytest.mark.parametrize("name", ["runs", "tokens"])
def test_a_run_with_states_is_checked_on_copies(page: Page, decoder: Site, backend: str, name: str) -> None:
    open_bundle(page, decoder, f"{name}/bundle", backend)
    got = value(page, CHECK_STATES, {"backend": backend})
    found = got["value"]
    assert (found["wrong"], found["outputs"], found["skipped"]) == ([], [], [])
    assert found["compared"] > 10
    assert (got["position"], got["same"]) == (4, True)


def test_a_wrong_kernel_of_a_run_with_states_is_named(page: Page, decoder: Site, backend: str) -> None:
    open_bundle(page, decoder, "runs/bundle", backend)
    given = {"backend": backend, "rule": "factor", "options": {"factor": 1.01}}
    found = value(page, CHECK_STATES, given)["value"]
    assert found["wrong"]
    assert any("MatMul" in wrong["ops"] for wrong in found["wrong"])


def test_wasm_has_nothing_to_compare(page: Page, site: Site) -> None:
    open_bundle(page, site, "bundle")
    got = value(page, CHECK, {"rule": "", "load": {"backend": "wasm"}, "image": images()[0]})
    assert got["code"] == "check"
    assert "this model runs on wasm: load it with { backend: 'webgpu' } or 'webgl'" in got["message"]


def test_a_server_without_the_script_is_named(page: Page, site: Site) -> None:
    page.route("**/check_launches-*", lambda route: route.fulfill(status=404))
    open_bundle(page, site, "bundle")
    got = value(page, CHECK, {"rule": "", "load": {"backend": "wasm"}, "image": images()[0]})
    assert (got["name"], got["code"]) == ("DownloadError", "network")
    assert "the script of the check did not load" in got["message"]
    assert "is it beside model.js" in got["message"]
    page.unroute("**/check_launches-*")


def test_the_page_of_the_bundle_says_which(page: Page, site: Site, folder: Path, backend: str) -> None:
    """By its button, on a device that is right, and then on one that is not."""
    open_bundle(page, site, "bundle", backend)  # skips where the browser has it not
    page.goto(f"{site.url}bundle/index.html")
    status, row = page.get_by_role("status"), page.locator("#measured tr").filter(has_text=backend)
    expect(status).to_have_text(re.compile("^Ready"), timeout=START)
    page.get_by_label("Backend").select_option(backend)
    page.get_by_role("button", name="Check kernels").click()
    expect(status).to_have_text("The check of kernels passed.", timeout=START)
    expect(row.locator("strong")).to_have_text(
        re.compile(r"^\d+ kernels right in \d+ launches: largest difference [\d.e-]+")
    )
    breaking = "import('/broken_device.js').then((m) => m.breakDevice('factor', { kernel: 2, factor: 1.01 }).kernels)"
    page.evaluate(breaking)
    page.get_by_role("button", name="Check kernels").press("Enter")
    expect(status).to_have_text(f"The check of kernels failed on {backend}.", timeout=START)
    tables = program(folder, backend)
    nodes = ", ".join(tables["launches"]["nodes"][tables["launches"]["kernel"].index(2)])
    said = f"kernel {tables['kernels']['name'][2]} is WRONG, which computes {nodes}: it differs by 0.0"
    expect(row.locator("strong.error")).to_contain_text(said)
    page.get_by_label("Backend").select_option("wasm")
    page.get_by_role("button", name="Check kernels").press("Enter")
    expect(status).to_have_text("Nothing was tested; not possible here: wasm.", timeout=START)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.goto("about:blank")
