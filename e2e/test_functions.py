"""Bundles of several models in a page: an encoder and a decoder with states, and models on one GPU."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
import webnn_compile
from compiled import PAGES
from devices import has_backend, value
from documentation import ROOT, blocks
from harness import open_page
from onnx_models import model, node, random
from playwright.sync_api import Page, expect
from server import STRICT_CSP, Site, serve
from test_merged_decoders import DIMS, WIDTH, WORDS, merged

IDS = [[3, 1], [4], [1, 5, 9], [2]]
FRAMES = 5


def documented(page: str, language: str) -> str:
    """The code of a page of docs/ about several models."""
    (found,) = (b.text for b in blocks(ROOT / "docs" / page) if (b.anchor, b.language) == ("several-models", language))
    return found


def encoder() -> onnx.ModelProto:
    nodes = [node("MatMul", ["x", "w"], ["m"], "project"), node("Tanh", ["m"], ["hidden"], "bend")]
    return model(nodes, {"x": (1, "E", 8)}, ["hidden"], {"w": random((8, WIDTH))})


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("functions")
    shutil.copytree(PAGES, folder, dirs_exist_ok=True)
    onnx.save(encoder(), folder / "encoder.onnx")
    onnx.save(merged(), folder / "decoder.onnx")
    program, *words = shlex.split(documented("command-line.md", "sh"))
    options = ["--targets", "wasm", "--golden", "on"]
    subprocess.run([Path(sys.executable).with_name(program), *words, *options], check=True, cwd=folder)
    with serve(folder, headers={"Content-Security-Policy": STRICT_CSP}) as site:
        yield site


RUN = """
  const { frames, ids, options } = argument;
  const progress = [];
  const models = await bundle.load({ ...options, onProgress: (one) => progress.push(one) });
  const x = { data: new Float32Array(frames), shape: [1, frames.length / 8, 8] };
  const { hidden } = await models.encoder.run({ x });
  const logits = [];
  for (const some of ids) {
    const input_ids = { data: BigInt64Array.from(some, BigInt), shape: [1, some.length] };
    logits.push([...(await models.decoder.run({ input_ids, hidden })).logits]);
  }
  const { position } = models.decoder;
  const infos = Object.entries(models.info()).map(([name, info]) => [name, info.name, info.backend]);
  await models.dispose();
  const disposed = await outcome(models.encoder.run({ x: new Float32Array(8) }));
  return { hidden: [...hidden], logits, position, infos, code: disposed.code, progress };
"""


@pytest.mark.parametrize("worker", [True, False])
def test_an_encoder_and_a_decoder_give_what_python_gives(page: Page, served: Site, worker: bool) -> None:
    open_page(page, served)
    frames = np.random.default_rng(3).standard_normal((1, FRAMES, 8)).astype(np.float32)
    hidden = webnn_compile.compile(encoder(), dims={"E": (1, 6)}).run({"x": frames})["hidden"]
    decoder = webnn_compile.compile(merged(), dims=DIMS)
    want = [decoder.run({"input_ids": np.array([some]), "hidden": hidden})["logits"] for some in IDS]
    given = {"frames": frames.ravel().tolist(), "ids": IDS, "options": {"worker": worker}}
    got = value(page, RUN, given)
    np.testing.assert_allclose(got["hidden"], hidden.ravel(), rtol=1e-5, atol=1e-6)
    for ours, theirs in zip(got["logits"], want, strict=True):
        np.testing.assert_allclose(ours, theirs.ravel(), rtol=1e-4, atol=1e-4)
    assert got["position"] == sum(map(len, IDS))
    assert got["infos"] == [["encoder", "encoder", "wasm"], ["decoder", "decoder", "wasm"]]
    assert got["code"] == "disposed"
    totals = {one["total"] for one in got["progress"] if one["phase"] == "weights"}
    assert len(totals) == 1
    assert [one["loaded"] for one in got["progress"] if one["phase"] == "ready"] == [*totals]


def test_the_documented_script(page: Page, served: Site) -> None:
    open_page(page, served)
    script = documented("javascript.md", "js").replace(
        "import { load } from './bundle/model.js';", "const { load } = bundle;"
    )
    assert value(page, f"{script}\nreturn logits.shape;") == [1, 1, WORDS]


def test_a_decoder_writes_from_what_an_encoder_gives(page: Page, tmp_path: Path) -> None:
    """The page has parts for tokens, which the encoder does without."""
    shutil.copytree(PAGES, tmp_path, dirs_exist_ok=True)
    onnx.save(encoder(), tmp_path / "encoder.onnx")
    onnx.save(merged(), tmp_path / "decoder.onnx")
    program, *words = shlex.split(documented("command-line.md", "sh"))
    options = ["--targets", "wasm", "--generate", "decoder:"]
    subprocess.run([Path(sys.executable).with_name(program), *words, *options], check=True, cwd=tmp_path)
    frames = np.random.default_rng(3).standard_normal((1, FRAMES, 8)).astype(np.float32)
    hidden = webnn_compile.compile(encoder(), dims={"E": (1, 6)}).run({"x": frames})["hidden"]
    decoder = webnn_compile.compile(merged(), dims=DIMS, generate=True)
    want = [int(token) for token in decoder.generate([3, 1], max_tokens=6, inputs={"hidden": hidden})]
    script = """
      const models = await bundle.load();
      const x = { data: new Float32Array(argument), shape: [1, argument.length / 8, 8] };
      const { hidden } = await models.encoder.run({ x });
      const tokens = [];
      const inputs = { hidden };
      for await (const token of models.decoder.generate({ ids: [3, 1], maxTokens: 6, inputs })) tokens.push(token);
      await models.dispose();
      return tokens;
    """
    with serve(tmp_path) as site:
        open_page(page, site)
        assert value(page, script, frames.ravel().tolist()) == want
        page.goto(f"{site.url}bundle/index.html")
        expect(page.locator("#status")).to_have_text(re.compile("^Ready"))
        expect(page.locator("#generating")).to_have_count(0)
        page.get_by_role("link", name="decoder").click()
        expect(page.locator("#generating")).to_have_count(1)
        page.goto("about:blank")


def test_one_is_loaded_alone(page: Page, served: Site) -> None:
    open_page(page, served)
    served.requests.clear()
    name = value(page, "const m = await bundle.encoder.load(); await m.dispose(); return m.info().name;")
    assert name == "encoder"
    assert len([path for path in served.requests if "weights-" in path]) == 1


def test_the_page_shows_each(page: Page, served: Site) -> None:
    page.goto(f"{served.url}bundle/index.html")
    expect(page.locator("#status")).to_have_text(re.compile("^Ready"))
    expect(page.locator("#inputs")).to_contain_text("float32 [1, E, 8]")
    page.get_by_role("button", name="Self-test").click()
    expect(page.locator("#measured")).to_contain_text("self-test passed")
    page.get_by_role("link", name="decoder").click()
    expect(page.locator("#status")).to_have_text(re.compile("^Ready"))
    expect(page.get_by_role("link", name="decoder")).to_have_attribute("aria-current", "page")
    expect(page.locator("#inputs")).to_contain_text("input_ids")
    page.locator("#runs").evaluate("(field) => { field.value = 3; }")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#status")).to_have_text(re.compile("^Done"))
    page.get_by_role("button", name="Self-test").click()
    expect(page.locator("#measured")).to_contain_text("self-test passed")
    page.goto("about:blank")


def test_a_buffer_of_one_is_an_input_of_another(page: Page, tmp_path: Path) -> None:
    """On a device of the page's own, which both models take; a model with answers beside one without."""
    shutil.copytree(PAGES, tmp_path, dirs_exist_ok=True)
    head = model([node("Softmax", ["hidden"], ["scores"], "scores")], {"hidden": (1, WIDTH)}, ["scores"])
    first = model([node("MatMul", ["x", "w"], ["hidden"], "m")], {"x": (1, 8)}, ["hidden"], {"w": random((8, WIDTH))})
    onnx.save(first, tmp_path / "first.onnx")
    onnx.save(head, tmp_path / "head.onnx")
    command = [Path(sys.executable).with_name("webnn-compile"), tmp_path / "first.onnx", tmp_path / "head.onnx"]
    options = ["--out", tmp_path / "bundle", "--targets", "webgpu,wasm", "--answer", "head:scores=classify,top=2"]
    subprocess.run([*command, *options], check=True)
    script = """
      const device = argument ? await (await navigator.gpu.requestAdapter()).requestDevice() : undefined;
      const models = await bundle.load(argument ? { device } : { backend: 'wasm' });
      const output = argument ? 'gpu-buffer' : 'array';
      const { hidden } = await models.first.run({ x: new Float32Array(8).fill(1) }, { output });
      const { scores } = await models.head.run({ hidden });
      await models.dispose();
      return { kind: hidden.constructor.name, classes: scores.map(({ index }) => index) };
    """
    values = random((8, WIDTH)).sum(axis=0)
    with serve(tmp_path) as site:
        open_page(page, site)
        on_device = has_backend(page, "webgpu")
        for given, kind in ((False, "Float32Array"), *([(True, "GPUBuffer")] if on_device else [])):
            got = value(page, script, given)
            assert got == {"kind": kind, "classes": np.argsort(-values)[:2].tolist()}
        page.goto("about:blank")


def test_files_of_both_models(page: Page, tmp_path: Path) -> None:
    """Equal constants are in files that both load, each to its own place; on wasm and, where there is WebGL, there."""
    shutil.copytree(PAGES, tmp_path, dirs_exist_ok=True)
    sizes = {"a": (512, 256), "b": (256, 256), "c": (256, 64), "d": (256, 256)}
    weights = {name: random(shape, i) / 16 for i, (name, shape) in enumerate(sizes.items())}
    chains = {"one": "abc", "two": "abdc"}
    for name, chain in chains.items():
        values = ["x", *(f"h{i}" for i in range(len(chain) - 1)), "y"]
        nodes = [node("MatMul", [values[i], w], [values[i + 1]], f"n{i}") for i, w in enumerate(chain)]
        own = {w: weights[w] for w in chain}
        onnx.save(model(nodes, {"x": (1, 512)}, ["y"], own), tmp_path / f"{name}.onnx")
    words = ["one.onnx", "two.onnx", "--out", "bundle", "--targets", "webgl,wasm", "--golden", "off"]
    subprocess.run([Path(sys.executable).with_name("webnn-compile"), *words], check=True, cwd=tmp_path)
    files = [file.stat().st_size for file in (tmp_path / "bundle").glob("weights-*.bin")]
    assert sum(files) < 4 * sum(a.size for a in weights.values()) * 1.05
    script = """
      const models = await bundle.load({ backend: argument });
      const x = Float32Array.from({ length: 512 }, (_, i) => (i % 7) - 3);
      const found = [[...(await models.one.run({ x })).y], [...(await models.two.run({ x })).y]];
      await models.dispose();
      return found;
    """
    x = np.arange(512, dtype=np.float32) % 7 - 3
    with serve(tmp_path) as site:
        open_page(page, site)
        for backend in ("wasm", *(["webgl"] if has_backend(page, "webgl") else [])):
            for got, chain in zip(value(page, script, backend), chains.values(), strict=True):
                want = x
                for name in chain:
                    want = want @ weights[name]
                np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3 * np.abs(want).max())
        page.goto("about:blank")
