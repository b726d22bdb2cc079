"""Files that a bundle has on request so that pages may have threads; browsers try it in e2e/test_threads.py."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_artifact import tiny_artifact
from webnn_compile.bundle import WasmArtifact, render_bundle, write_bundle
from webnn_compile.bundle.isolation import HEADERS
from webnn_compile.errors import InputError


def files(*, isolation: bool) -> dict[str, str]:
    bundle = render_bundle(tiny_artifact(), isolation=isolation)
    return {file.name: file.data.decode() for file in bundle if file.kind not in ("wasm", "weights")}


def test_files_come_on_request_alone() -> None:
    without, with_it = files(isolation=False), files(isolation=True)
    assert with_it.keys() - without.keys() == {"_headers", "nginx.conf", "isolate.js"}
    assert {name for name in without if without[name] != with_it[name]} == {"index.html"}
    head = '<head>\n<script src="./isolate.js"></script>\n'
    assert with_it["index.html"] == without["index.html"].replace("<head>\n", head)


def test_all_recipes_set_the_same_headers() -> None:
    made = files(isolation=True)
    assert made["_headers"] == "/*\n" + "".join(f"  {name}: {value}\n" for name, value in HEADERS.items())
    assert dict(re.findall(r"^add_header (\S+) (\S+) always;$", made["nginx.conf"], re.MULTILINE)) == HEADERS
    assert dict(re.findall(r"^ +'(Cross-Origin-[\w-]+)': '([\w-]+)',$", made["isolate.js"], re.MULTILINE)) == HEADERS


def test_a_bundle_with_them_can_be_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_bundle(tiny_artifact(), out, isolation=True)
    with pytest.raises(InputError, match="--force"):
        write_bundle(tiny_artifact(), out)
    write_bundle(tiny_artifact(), out, force=True)
    assert not (out / "isolate.js").exists()


def test_the_manifest_says_where_a_module_becomes_shared() -> None:
    artifact = tiny_artifact()
    (part,) = artifact.backends
    assert isinstance(part, WasmArtifact)
    shared = replace(artifact, backends=(replace(part, shared_at={"relaxed": 77}),))
    (entry,) = [file.data.decode() for file in render_bundle(shared) if file.name == "model.js"]
    assert re.findall(r"(relaxed|plain)-\w+\.wasm.*?(shared: \d+|\})", entry) == [
        ("relaxed", "shared: 77"),
        ("plain", "}"),
    ]
