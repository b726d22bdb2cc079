"""Bundles that take text and give text: on every backend, under a strict policy, as the Python reference has them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
import webnn_compile
from compiled import compile_site
from devices import need_backend, value
from documentation import documented_policy
from harness import open_page, outcome
from made_tokenizers import LETTERS, encoder, need_package, written
from onnx_models import model, node
from playwright.sync_api import Page, expect
from server import Site, serve

SIZES = ("--dim", "batch=1..4", "--dim", "sequence=1..24")
POOLED = ("--pool", "mean", "--normalise")
TEXTS = [["The quick brown fox"], ["hello", ["你好, 🍕", "don't"], "", "Café déjà " * 40]]
POLICY = documented_policy("deploying.md", "content-security-policy") + "; require-trusted-types-for 'script'"

VECTORS = """
  const model = await bundle.load({ backend: argument.backend });
  const results = [];
  for (const text of argument.texts) results.push((await model.run({ text })).last_hidden_state.map((v) => [...v]));
  const { inputs, outputs } = model;
  const { backend } = model.info();
  await model.dispose();
  return { results, backend, inputs, outputs };
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with an encoder of text, beside it a model whose output is letters, and files of models."""
    package = str(need_package())
    folder = tmp_path_factory.mktemp("text")
    (folder / "tokenizer.json").write_text(written("bert"))
    (folder / "vocab.json").write_text(json.dumps(LETTERS))
    onnx.save(encoder(230), folder / "encoder.onnx")
    logits = model([node("Identity", ["x"], ["y"])], {"x": (1, "steps", len(LETTERS))}, ["y"])
    onnx.save(logits, folder / "letters.onnx")
    given = ("--tokenizers", package)
    text = ("--text", str(folder / "tokenizer.json"))
    compile_site(folder / "encoder.onnx", folder / "site", *SIZES, *text, *POOLED, *given)
    answer = ("--answer", f"text={folder / 'vocab.json'}", "--dim", "steps=1..32")
    compile_site(folder / "letters.onnx", folder / "letters", *answer, *given)
    shutil.move(folder / "letters" / "bundle", folder / "site" / "letters")
    return folder


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[Site]:
    with serve(folder / "site", headers={"Content-Security-Policy": POLICY}) as made:
        yield made


def expected(folder: Path, text: object) -> np.ndarray:
    dims = {"batch": (1, 4), "sequence": (1, 24)}
    answers = ["embedding,pool=mean,normalise"]
    file = folder / "tokenizer.json"
    compiled = webnn_compile.compile(folder / "encoder.onnx", text=file, dims=dims, answers=answers)
    (vectors,) = compiled.run({"text": text}).values()
    return np.stack(vectors)


@pytest.mark.parametrize("backend", ["wasm", "webgl", "webgpu"])
def test_vectors(page: Page, site: Site, folder: Path, backend: str) -> None:
    open_page(page, site, "bundles.html?bundle")
    need_backend(page, backend)
    got = value(page, VECTORS, {"backend": backend, "texts": TEXTS})
    assert got["backend"] == backend
    for text, vectors in zip(TEXTS, got["results"], strict=True):
        np.testing.assert_allclose(vectors, expected(folder, text), atol=1e-4, err_msg=str(text))
    assert [(one["name"], one["text"]) for one in got["inputs"]] == [
        ("input_ids", "ids"),
        ("attention_mask", "mask"),
        ("token_type_ids", "types"),
    ]
    assert got["outputs"] == [{"name": "last_hidden_state", "answer": "embedding"}]


@pytest.mark.parametrize("backend", ["wasm", "webgl", "webgpu"])
def test_letters(page: Page, site: Site, backend: str) -> None:
    open_page(page, site, "bundles.html?letters")
    need_backend(page, backend)
    line = [LETTERS["<pad>" if c == "_" else c] for c in "HHH_EE_L_LO__|WO_R_L_D__"]
    rows = np.eye(len(LETTERS), dtype=np.float32)[line]
    script = """
      const model = await bundle.load({ backend: argument.backend });
      const data = Float32Array.from(argument.rows);
      const { y } = await model.run({ x: { data, shape: argument.shape } });
      await model.dispose();
      return y;
    """
    given = {"backend": backend, "rows": rows.ravel().tolist(), "shape": [1, *rows.shape]}
    assert value(page, script, given) == "HELLO WORLD"


def test_the_page_of_the_bundle(page: Page, site: Site, folder: Path) -> None:
    page.goto(f"{site.url}bundle/index.html")
    page.get_by_label("texts, one on each line").fill("hello\nThe quick brown fox")
    page.get_by_label("Runs").fill("1")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("status")).to_have_text(re.compile("^Done"))
    shown = page.locator("#outputs .embedding .embedding").all_inner_texts()
    want = expected(folder, ["hello", "The quick brown fox"])
    got = [[float(n) for n in line.removesuffix(", …").split(", ")] for line in shown]
    np.testing.assert_allclose(got, want[:, :10], atol=1e-4)


def test_a_page_from_a_disk(page: Page, folder: Path) -> None:
    """With the package inside."""
    options = (*SIZES, *POOLED, "--single-file", "--targets", "wasm", "--tokenizers", str(need_package()))
    made = folder / "single"
    if not made.exists():
        compile_site(folder / "encoder.onnx", made, "--text", str(folder / "tokenizer.json"), *options)
    page.goto((made / "bundle" / "index.html").as_uri())
    page.get_by_text("Ready, on ").wait_for()
    page.get_by_label("texts, one on each line").fill("hello")
    page.click("#run")
    expect(page.locator("#status")).to_contain_text("Done, on ")
    shown = page.locator("#outputs .embedding .embedding").inner_text()
    got = [float(n) for n in shown.removesuffix(", …").split(", ")]
    np.testing.assert_allclose(got, expected(folder, ["hello"])[0], atol=1e-4)
    page.goto("about:blank")


@pytest.mark.parametrize("missing", ["tokenizers", "tokenizer"])
def test_a_file_that_is_not_there(page: Page, folder: Path, tmp_path: Path, missing: str) -> None:
    shutil.copytree(folder / "site", tmp_path / "site")
    (file,) = (tmp_path / "site" / "bundle").glob(f"{missing}-*")
    file.unlink()
    with serve(tmp_path / "site") as site:
        open_page(page, site, "bundles.html?bundle")
        refused = outcome(page, "return bundle.load({ backend: 'wasm', worker: false })")
    assert refused["name"] == "DownloadError"
    assert file.name in refused["message"] or "the script of the tokenizer did not load" in refused["message"]
