"""Files that are compressed beside themselves, and the package that this takes."""

from __future__ import annotations

import gzip
import importlib
import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tiny_artifact import tiny_artifact
from webnn_compile.bundle import Packaging, render_bundle, write_bundle
from webnn_compile.errors import InputError

GZIP = Packaging(compress=("gz",))

needs_brotli = pytest.mark.skipif(importlib.util.find_spec("brotli") is None, reason="no package Brotli")


def test_what_a_host_serves_and_what_shrinks() -> None:
    """Random weights do not, nor do the few lines of the worker's script."""
    random = replace(tiny_artifact(), weights=np.random.default_rng(0).bytes(8192))
    files = {f.name: f.data for f in render_bundle(random, isolation=True, packaging=GZIP)}
    packed = {name.removesuffix(".gz") for name in files if name.endswith(".gz")}
    assert {name.partition("-")[0] for name in packed} == {
        "model.js", "index.html", "isolate.js", "load", "page", "runtime", "thread",
    }  # fmt: skip
    for name in packed:
        assert gzip.decompress(files[f"{name}.gz"]) == files[name]
        assert len(files[f"{name}.gz"]) <= 0.9 * len(files[name])
    same = replace(tiny_artifact(), weights=bytes(8192))
    names = {f.name for f in render_bundle(same, packaging=GZIP)}
    assert any(name.startswith("weights-") and name.endswith(".bin.gz") for name in names)


def test_the_same_bytes_again() -> None:
    first, second = (render_bundle(tiny_artifact(), packaging=GZIP) for _ in range(2))
    assert [f.data for f in first] == [f.data for f in second]


@needs_brotli
def test_brotli() -> None:
    brotli = importlib.import_module("brotli")
    files = {f.name: f.data for f in render_bundle(tiny_artifact(), packaging=Packaging(compress=("br", "gz")))}
    assert brotli.decompress(files["model.js.br"]) == files["model.js"]
    assert len(files["model.js.br"]) < len(files["model.js.gz"])


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"needs the package Brotli: pip install 'webnn-compile\[compress\]'"):
        Packaging(compress=("br",)).check()
    Packaging(compress=("gz",)).check()


def test_a_compressed_bundle_can_be_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_bundle(tiny_artifact(), out, packaging=GZIP)
    write_bundle(tiny_artifact(512), out, force=True)
    assert not list(out.glob("*.gz"))
    (out / "notes.js.gz").write_bytes(b"mine")
    with pytest.raises(InputError, match=r"no part of its bundle \(notes\.js\.gz\)"):
        write_bundle(tiny_artifact(), out, force=True)
