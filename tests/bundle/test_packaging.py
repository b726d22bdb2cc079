"""Forms of a bundle: a classic script, a package for npm, and what excludes what."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from base64 import b64encode
from dataclasses import replace
from pathlib import Path

import pytest
from hostile_names import NAMES, RUNS
from tiny_artifact import copy_artifact, tiny_artifact
from webnn_compile.bundle import Artifact, Packaging, render_bundle, write_bundle
from webnn_compile.errors import InputError

IIFE = Packaging("iife")
NPM = Packaging("npm")
SINGLE = Packaging(single_file=True)
ROOT = Path(__file__).parents[2]


def texts(artifact: Artifact, packaging: Packaging) -> dict[str, str]:
    bundle = render_bundle(artifact, packaging=packaging)
    return {file.name: file.data.decode() for file in bundle if file.kind not in ("wasm", "weights")}


@pytest.mark.parametrize(
    ("packaging", "message"),
    [
        (Packaging("cjs"), "--format cjs: choose one of esm, iife, npm"),
        (Packaging("esm", "digits"), "--global-name is for --format iife: ES modules have no global"),
        (Packaging("iife", "my-model"), "--global-name my-model: give a name of JavaScript"),
        (Packaging("iife", "name"), "--global-name name is taken in every page"),
        (Packaging("npm", single_file=True), "--single-file and --format npm exclude each other"),
        (Packaging(base_url="cdn/"), "--base-url cdn/: give the address of a folder, such as https://"),
        (Packaging(base_url="https://a/?v=1/"), "--base-url https://a/?v=1/: give the address"),
        (Packaging(base_url="https://a/", single_file=True), "--base-url and --single-file exclude each other"),
        (Packaging(compress=("gz", "zip")), "--compress zip: choose from br, gz"),
        (Packaging("npm", compress=("gz",)), "--compress and --format npm exclude each other"),
    ],
)
def test_what_does_not_go_together_is_refused(packaging: Packaging, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        packaging.check()


@pytest.mark.parametrize("packaging", [NPM, SINGLE], ids=["npm", "single"])
def test_files_for_a_host_are_for_what_it_serves(packaging: Packaging) -> None:
    with pytest.raises(InputError, match=r"--coop-coep and --.* exclude each other"):
        packaging.check(isolation=True)
    IIFE.check(isolation=True)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("digits", "digits"),
        ("resnet-18 (v2)", "resnet_18_v2"),
        ("3d", "model_3d"),
        ("top", "model_top"),
        ("é", "model"),
    ],
)
def test_the_global_has_the_name_of_the_model(model: str, name: str) -> None:
    assert IIFE.global_of(model) == name
    assert Packaging("iife", "other").global_of(model) == "other"
    Packaging("iife", IIFE.global_of(model)).check()


def test_a_script_is_alone_and_no_module() -> None:
    files = texts(tiny_artifact(), IIFE)
    assert {name for name in files if name.endswith(".js") and not name.startswith("page-")} == {"model.js"}
    script = files["model.js"]
    assert script.startswith("// A model compiled by webnn-compile.\nvar tiny = (() => {\n'use strict';\n")
    assert not re.search(r"\bimport ?\(|import\.meta|\beval\(|new Function|^(?:import|export)\b", script, re.MULTILINE)
    assert files["model.d.ts"].endswith("\nexport as namespace tiny;\n")
    assert "package.json" not in files  # its "type" would make a module of the script
    assert re.findall(r'<script.*?src="\./(model|page).*?"', files["index.html"]) == ["model", "page"]


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node.js to run scripts")
def test_a_script_gives_what_a_module_exports(tmp_path: Path) -> None:
    write_bundle(tiny_artifact(), tmp_path / "module")
    write_bundle(tiny_artifact(), tmp_path / "script", packaging=IIFE)
    (tmp_path / "script" / "model.js").rename(tmp_path / "script.cjs")
    (tmp_path / "main.mjs").write_text(
        "import { readFileSync } from 'node:fs';\nimport { runInThisContext } from 'node:vm';\n"
        "runInThisContext(readFileSync('script.cjs', 'utf8'));\n"
        "console.log(Object.keys(tiny).sort().join() === Object.keys(await import('./module/model.js')).sort().join());"
    )
    done = subprocess.run(["node", "main.mjs"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "true\n", done.stdout + done.stderr


def test_a_script_has_the_parts_that_its_model_needs() -> None:
    """As an ES module has."""
    script = texts(tiny_artifact(), IIFE)["model.js"]
    assert "createShaderModule" not in script
    assert len(script) < 84_000


def test_a_package() -> None:
    files = texts(tiny_artifact(name="My Model (v2)"), NPM)
    package = json.loads(files["package.json"])
    assert package["name"] == "my-model-v2"
    assert package["type"] == "module"
    conditions = {"types": "./model.d.ts", "browser": "./browser.jsx", "default": "./model.js"}
    assert package["exports"]["."] == conditions
    assert files["browser.jsx"] == "export * from './model.js';\n"
    assert "license" not in package
    names = {file.name for file in render_bundle(tiny_artifact(), packaging=NPM)}
    assert {f for f in names if not f.startswith(("page-", "index", "README", "package"))} == {
        file.name for file in render_bundle(tiny_artifact(), packaging=NPM) if file.name in package["files"]
    } | {"model.js"}
    assert all(name.startswith(("./worker_", "./thread-")) for name in package["sideEffects"])
    assert json.loads(texts(tiny_artifact(), replace(NPM, licence="MIT"))["package.json"])["license"] == "MIT"


@pytest.mark.parametrize(("model", "name"), [("", "model"), ("_x", "x"), ("node_modules", "model-node_modules")])
def test_names_of_packages_are_those_that_npm_takes(model: str, name: str) -> None:
    assert json.loads(texts(tiny_artifact(name=model), NPM)["package.json"])["name"] == name


def test_the_readme_has_the_inputs_of_its_model() -> None:
    readme = texts(tiny_artifact(), NPM)["README.md"]
    assert "import { load } from 'tiny';" in readme
    assert "  input: new Float32Array(1024), // float32, shape [1, 1024]\n" in readme
    assert "outputs.output; // Float32Array, shape [1, 1024]\n" in readme
    odd = copy_artifact({"a b\n```": ("int64", (2, 3))})
    readme = texts(odd, NPM)["README.md"]
    assert '  "a b\\n```": new BigInt64Array(6), // int64, shape [2, 3]\n' in readme


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node.js to parse scripts")
def test_the_snippet_is_a_module(tmp_path: Path) -> None:
    odd = copy_artifact({"a b\n```": ("int64", (2, 3)), "class": ("bool", ())})
    (snippet,) = re.findall(r"```js\n(import .*?)\n```\n", texts(odd, NPM)["README.md"], re.DOTALL)
    (tmp_path / "main.mjs").write_text(snippet)
    subprocess.run(["node", "--check", tmp_path / "main.mjs"], check=True)


def test_a_package_publishes_no_files_that_are_elsewhere() -> None:
    files = texts(tiny_artifact(), Packaging("npm", base_url="https://a.example/m/"))
    assert {name.partition(".")[2] for name in json.loads(files["package.json"])["files"]} == {"js", "d.ts", "jsx"}
    assert files["model.js"].count('url: "https://a.example/m/') == 4
    assert "import.meta" not in files["model.js"]


@pytest.mark.parametrize("form", ["esm", "iife"])
def test_a_single_file_refers_to_no_other(form: str) -> None:
    files = texts(tiny_artifact(), Packaging(form, single_file=True))
    assert files.keys() - {"package.json"} == {"model.js", "model.d.ts", "index.html"}
    for text in (files["model.js"], re.sub(r"<pre>.*?</pre>", "", files["index.html"], flags=re.DOTALL)):
        assert not re.search(r"-[0-9a-f]{12}\.|^import\b|import\.meta|\bimport ?\(", text, re.MULTILINE)
        assert text.count('"data:;base64,') == 4  # two modules, the names of kernels, weights
    assert "base?" not in files["model.d.ts"]


def test_the_policy_of_a_page_has_the_hashes_of_its_elements() -> None:
    page = texts(tiny_artifact(), SINGLE)["index.html"]
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    elements = re.findall(r"<(script|style)>(.*?)</\1>", page, re.DOTALL)
    hashes = [b64encode(hashlib.sha256(text.encode()).digest()).decode() for _, text in elements]
    assert re.findall(r"'sha256-([^']*)'", policy) == [*hashes[1:], hashes[0]]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy


def test_too_large_a_model_for_a_single_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webnn_compile.bundle.single_file.MOST_INLINE", 8000)
    message = r"--single-file: the model's files have 8\.\d+ KiB, and 7\.812 KiB is the most: .* Leave --single-file"
    fewer = r", or take weights in fewer bits \(--weights int8\)$"
    with pytest.raises(InputError, match=message + " out" + fewer):
        write_bundle(tiny_artifact(), tmp_path / "out", packaging=SINGLE)
    quantised = replace(tiny_artifact(), weight_types={"int8": 8000, "float32": 192})
    with pytest.raises(InputError, match=message + " out$"):
        write_bundle(quantised, tmp_path / "out", packaging=SINGLE)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node.js to run scripts")
@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith(("</script", "${", "{{", "<!--"))])
def test_names_stay_text(tmp_path: Path, name: str) -> None:
    """Inputs have all names there are; the model has one that scripts, pages or Markdown might take for their own."""
    odd = replace(copy_artifact(dict.fromkeys(NAMES, ("float32", (2,)))), name=name)
    files = texts(odd, replace(NPM, licence=name))
    assert json.loads(files["package.json"])["license"] == name
    readme = files["README.md"]
    assert len(re.findall("^```", readme, re.MULTILINE)) == 4
    (snippet,) = re.findall(r"```js\n(import .*?)\n```\n", readme, re.DOTALL)
    (tmp_path / "main.mjs").write_text(snippet)
    subprocess.run(["node", "--check", tmp_path / "main.mjs"], check=True)
    page = texts(odd, SINGLE)["index.html"]
    assert len(re.findall(r"<script\b", page, re.IGNORECASE)) == len(re.findall("</script", page, re.IGNORECASE)) == 2
    script = texts(odd, IIFE)["model.js"] + f"\nif (globalThis.{RUNS}) throw new Error('a name ran');\n"
    subprocess.run(["node", "-"], input=script, text=True, check=True)


@pytest.mark.parametrize("packaging", [IIFE, NPM, SINGLE], ids=["iife", "npm", "single"])
def test_a_bundle_of_another_form_can_be_replaced(tmp_path: Path, packaging: Packaging) -> None:
    out = tmp_path / "out"
    write_bundle(tiny_artifact(), out, packaging=packaging)
    write_bundle(tiny_artifact(), out, force=True)
    write_bundle(tiny_artifact(), tmp_path / "fresh")
    assert {p.name for p in out.iterdir()} == {p.name for p in (tmp_path / "fresh").iterdir()}


def test_a_readme_of_ones_own_is_spared(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_bundle(tiny_artifact(), out, packaging=NPM)
    (out / "README.md").write_text("# Mine\n")
    with pytest.raises(InputError, match=r"holds files that are no part of its bundle \(README\.md\)"):
        write_bundle(tiny_artifact(), out, force=True, packaging=NPM)


def test_the_types_of_a_script_say_its_global(tmp_path: Path) -> None:
    """As the compiler of TypeScript reads them, where it is installed."""
    compiler = ROOT / "node_modules" / ".bin" / "tsc"
    if not compiler.exists():
        pytest.skip("no tsc: run `npm install` in the repository (needs Node.js)")
    write_bundle(tiny_artifact(), tmp_path / "bundle", packaging=IIFE)
    (tmp_path / "use.ts").write_text(
        "/// <reference path='./bundle/model.d.ts' />\n"
        "tiny.load({ base: '/bundle/' }).then(async (model) => {\n"
        "  const output: Float32Array = (await model.run({ input: new Float32Array(1024) })).output;\n"
        "  // @ts-expect-error\n  model.run({ other: output });\n});\n"
    )
    options = ("--noEmit", "--strict", "--types", "", "--lib", "es2022,dom", "--target", "es2022", "--ignoreConfig")
    done = subprocess.run([compiler, *options, "use.ts"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
