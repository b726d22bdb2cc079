"""Bundles of several models: their files, names and types."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from test_render_types import check, tsc
from tiny_artifact import copy_artifact, tiny_artifact
from webnn_compile.bundle import Artifact, BundledFunction, Packaging, function_name, write_functions
from webnn_compile.bundle.files import foreign_files, is_bundle
from webnn_compile.bundle.manifest import make_manifest
from webnn_compile.bundle.share_weights import LEAST, share_weights
from webnn_compile.errors import InputError

__all__ = ["tsc"]

CONSUMER = """
import { load, cache, tiny, UnsupportedError, type LoadOptions, type Progress } from './bundle/model.js';

const options: LoadOptions = { backend: 'wasm', onProgress: (p: Progress) => p.loaded };
const models = await load(options);
const inputs: tiny.Inputs = { input: new Float32Array(1024) };
const { output } = await models.tiny.run(inputs);
const { 'x out': y }: { 'x out': BigInt64Array } = await models.copies.run({ x: new BigInt64Array(8) });
const variant: string = models.info().tiny.variant;
await models.dispose();
const model: tiny.Model = await tiny.load({ signal: new AbortController().signal });
const bytes: number = (await tiny.cache.size()) + (await cache.size());
const failure = new UnsupportedError('backend', 'text');
export { output, y, variant, model, bytes, failure };
"""
MISTAKES = {
    "models.tiny.run({ x: new BigInt64Array(8) })": "does not exist in type",
    "models.other.run({})": "Property 'other' does not exist",
    "load({ backend: 'webgl' })": "webgl",
    "models.tiny.reset()": "Property 'reset' does not exist",
}


def two() -> list[BundledFunction]:
    return [
        BundledFunction(tiny_artifact()),
        BundledFunction(replace(copy_artifact({"x": ("int64", (8,))}), name="copies")),
    ]


def weighted(name: str, *parts: np.ndarray) -> Artifact:
    ends = np.cumsum([a.nbytes for a in parts]).tolist()
    data = b"".join(a.tobytes() for a in parts)
    return replace(tiny_artifact(), name=name, weights=data, constants=(0, *ends[:-1]))


def drawn(seed: int, count: int = LEAST // 4) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(count).astype(np.float32)


def test_one_folder_with_one_runtime(tmp_path: Path) -> None:
    files = write_functions(two(), tmp_path / "a").files
    assert files[0].name == "model.js"
    assert is_bundle(tmp_path / "a")
    assert foreign_files(tmp_path / "a") == []
    assert len([f for f in files if f.name.startswith("load-")]) == 1
    text = (tmp_path / "a" / "model.js").read_text()
    assert re.search(r"^export const \{ load, cache, tiny, copies \} = ", text, re.MULTILINE)
    assert {f.name for f in files} >= set(re.findall(r"'\./([^']+)'", text))
    write_functions(two(), tmp_path / "b")
    for file in files:
        assert (tmp_path / "a" / file.name).read_bytes() == (tmp_path / "b" / file.name).read_bytes()


def test_the_page_links_each_with_its_own_results(tmp_path: Path) -> None:
    first, second = two()
    write_functions([replace(first, artifact=replace(first.artifact, golden=b"{}")), second], tmp_path / "a")
    page = (tmp_path / "a" / "index.html").read_text()
    assert re.search(r'href="\?function=tiny" data-function="tiny" data-golden="\./golden-\w+\.txt"', page)
    assert 'data-function="copies" data-golden=""' in page
    assert "tiny: Weights" in page
    assert "models.copies.run" in page
    assert "{{" not in page


@pytest.mark.parametrize("mistake", ["", *MISTAKES])
def test_types(tsc: Path, tmp_path: Path, mistake: str) -> None:
    write_functions(two(), tmp_path / "bundle")
    said = check(tsc, tmp_path, CONSUMER + mistake)
    assert re.search(MISTAKES[mistake], said) if mistake else said == ""


def test_equal_constants_are_in_files_of_both() -> None:
    """Whatever stands between them in one of the models."""
    a, b, c, own, other = (drawn(seed) for seed in range(5))
    left, right = weighted("left", a, b, own, c), weighted("right", other, a, b, c)
    bounds = share_weights([left, right])
    # a and b follow each other in both.
    assert [tuple(n // LEAST for n in one) for one in bounds] == [(2, 3), (1, 3)]
    files = [make_manifest(m, bounds=own).files for m, own in zip((left, right), bounds, strict=True)]
    names = [{f.name for f in own if f.kind == "weights"} for own in files]
    assert len(names[0] & names[1]) == 2
    assert len(names[0] | names[1]) == 4
    for artifact, own in zip((left, right), bounds, strict=True):
        shards = make_manifest(artifact, 100_000, own)
        data = [shards.contents[shard["sha256"]] for shard in shards.fields["weights"]]
        assert b"".join(data) == artifact.weights
        at = np.cumsum([0, *map(len, data)]).tolist()
        assert [shard["offset"] for shard in shards.fields["weights"]] == at[:-1]
        assert max(map(len, data)) <= 100_000


def test_small_constants_are_no_files_of_their_own() -> None:
    small, a, b, c = drawn(0, 16), drawn(1), drawn(2), drawn(3)
    assert share_weights([weighted("left", a, small, b), weighted("right", small, c)]) == [(), ()]


def test_equal_models_share_all() -> None:
    parts = [drawn(seed) for seed in range(3)]
    assert share_weights([weighted("left", *parts), weighted("right", *parts)]) == [(), ()]
    assert share_weights([weighted("left", *parts), weighted("right", *parts[::-1])]) == [
        (LEAST, 2 * LEAST),
        (LEAST, 2 * LEAST),
    ]


def test_no_weights() -> None:
    none = replace(tiny_artifact(), weights=b"")
    assert share_weights([none, none]) == [(), ()]
    assert all(a < b for own in share_weights([weighted("a", drawn(1)), none]) for a, b in pairwise(own))


@pytest.mark.parametrize(
    ("stem", "name"),
    [("decoder_model", "decoder_model"), ("Encoder-v2 (1)", "encoder_v2_1"), ("3d", "model_3d"), ("日本", "model")],
)
def test_names_of_files(stem: str, name: str) -> None:
    assert function_name(stem) == name


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("a", "a"), "two models have the name 'a'"),
        (("load",), "'load' is taken"),
        (("class",), "'class' is taken"),
        (("Big",), r"'Big' is no name for scripts: .* by NAME=FILE, or in Python by \{name: file\}"),
    ],
)
def test_refused_names(names: tuple[str, ...], message: str, tmp_path: Path) -> None:
    functions = [BundledFunction(replace(tiny_artifact(), name=name)) for name in names]
    with pytest.raises(InputError, match=message):
        write_functions(functions, tmp_path / "out")


@pytest.mark.parametrize("packaging", [Packaging("iife"), Packaging("npm"), Packaging(single_file=True)])
def test_refused_forms(packaging: Packaging, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is for bundles of one model"):
        write_functions(two(), tmp_path / "out", packaging=packaging)
    assert not (tmp_path / "out").exists()
