"""The model card on the bundle's own page."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_artifact import copy_artifact, tiny_artifact
from webnn_compile.bundle import Artifact, Packaging, render_bundle
from webnn_compile.dtypes import F32
from webnn_compile.ir.nodes import Scalar
from webnn_compile.program.dimensions import Dimension
from webnn_compile.program.program import TensorSpec


def card(artifact: Artifact, packaging: Packaging) -> tuple[dict[str, str], dict[str, str]]:
    """Facts and snippets by name."""
    (page,) = [file.data.decode() for file in render_bundle(artifact, packaging=packaging) if file.name == "index.html"]
    facts = re.findall(r'<tr><th scope="row">(.*?)</th><td>(.*?)</td></tr>', page)
    snippets = re.findall(r"<h3>(.*?)</h3>\n<pre><code>(.*?)</code></pre>", page, re.DOTALL)
    return ({html.unescape(k): html.unescape(v) for k, v in facts}, {k: html.unescape(v) for k, v in snippets})


def test_facts() -> None:
    said = (("Description", "a <b> & {{name}}"), ("Operators", "1: 1 Relu"))
    facts, _ = card(tiny_artifact(), Packaging(licence="MIT", facts=said))
    weights = "8.2 kB float32"
    assert {k: v for k, v in facts.items() if k != "Files"} == {**dict(said), "Licence": "MIT", "Weights": weights}
    assert facts["Files"].startswith("weights 8.2 kB, WebAssembly ")
    assert "Licence" not in card(tiny_artifact(), Packaging())[0]


def test_halves_that_lose_nothing_are_called_so() -> None:
    """As --precision f16 rounds, halves lose something."""
    types = {"float32": 8000, "float16": 192}
    exact, rounded = (replace(tiny_artifact(), weight_types=types, halves=h) for h in (((8000, 192),), ()))
    assert card(exact, Packaging())[0]["Weights"] == "8.2 kB (8.0 kB float32, 192 bytes float16 without loss)"
    assert card(rounded, Packaging())[0]["Weights"] == "8.2 kB (8.0 kB float32, 192 bytes float16)"


def test_states() -> None:
    past = Scalar("past", 10)
    plain = tiny_artifact()
    artifact = replace(
        plain,
        backends=tuple(replace(part, scalars={past: 0}) for part in plain.backends),
        states=(TensorSpec("a", F32, (past, 8), 0, (12, 8)), TensorSpec("b", F32, (4,), 384)),
        dimensions=(Dimension("past", past, after=past + 2),),
    )
    facts, _ = card(artifact, Packaging())
    assert facts["Keeps between runs"] == "2 states, 400 bytes for each session, past 0 to 9 before a run"
    assert "Keeps between runs" not in card(tiny_artifact(), Packaging())[0]


def test_scripts_do_not_grow_by_the_card() -> None:
    def scripts(packaging: Packaging) -> dict[str, bytes]:
        return {f.name: f.data for f in render_bundle(tiny_artifact(), packaging=packaging) if f.kind != "page"}

    assert scripts(Packaging()) == scripts(Packaging(facts=(("Description", "words"),), licence="MIT"))


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node.js to parse scripts")
@pytest.mark.parametrize("form", ["esm", "npm", "iife"])
def test_snippets_are_scripts(tmp_path: Path, form: str) -> None:
    odd = copy_artifact({"a b\n</script>": ("int64", (2, 3)), "class": ("bool", ())})
    _, snippets = card(odd, Packaging(form, "net" if form == "iife" else None))
    places = ["Plain page", "vite and other bundlers", "React"]
    assert list(snippets) == {"esm": places, "npm": places[1:], "iife": places[:1]}[form]
    for code in snippets.values():
        assert "BigInt64Array(6)" in code
        script = re.sub(r"</?script.*>", "", code)
        (tmp_path / ("main.js" if form == "iife" else "main.mjs")).write_text(script)
        [file] = tmp_path.iterdir()
        subprocess.run(["node", "--check", file], check=True)


def test_snippets_import_the_package_or_the_folder() -> None:
    assert "from './bundle/model.js'" in card(tiny_artifact(), Packaging())[1]["React"]
    assert "from 'tiny'" in card(tiny_artifact(), Packaging("npm"))[1]["React"]
    assert "net.load().then(" in card(tiny_artifact(), Packaging("iife", "net"))[1]["Plain page"]
