"""The folder on disk: its files, all or nothing, never anybody's other files."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from device_artifacts import tiny_device_artifact
from prepared_artifact import prepared_artifact
from tiny_artifact import copy_artifact, tiny_artifact
from webnn_compile.bundle import WasmArtifact, place_memory, render_bundle, write_bundle
from webnn_compile.bundle.files import STABLE_NAMES
from webnn_compile.bundle.manifest import make_manifest
from webnn_compile.errors import InputError

DEPLOYING = Path(__file__).parents[2] / "docs" / "deploying.md"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_files_are_reported_and_named_by_their_content(tmp_path: Path) -> None:
    written = write_bundle(tiny_artifact(), tmp_path / "out")
    files = contents(tmp_path / "out")
    assert {file.name: file.bytes for file in written} == {name: len(data) for name, data in files.items()}
    stable = {"model.js", "model.d.ts", "package.json", "index.html"}
    assert stable <= files.keys()
    for name in files.keys() - stable:
        match = re.fullmatch(r"[a-z_]+-([0-9a-f]{12})\.(js|txt|css|svg|wasm|bin)", name)
        assert match is not None
        assert hashlib.sha256(files[name]).hexdigest().startswith(match[1])
    kinds = {file.kind for file in written}
    assert kinds == {"entry", "types", "page", "program", "runtime", "wasm", "weights"}


def test_the_documentation_lists_the_names_without_a_hash() -> None:
    """Hosts serve these by other rules."""
    hosting = DEPLOYING.read_text().partition("## Files and caches")[2].partition("All other names")[0]
    assert set(re.findall(r"`([\w.]+\.\w+|_headers)`", hosting)) == set(STABLE_NAMES)


def test_same_artifact_same_bytes(tmp_path: Path) -> None:
    write_bundle(tiny_artifact(), tmp_path / "a")
    write_bundle(tiny_artifact(), tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_text_files_use_plain_newlines_and_name_no_other_host() -> None:
    for file in render_bundle(tiny_artifact()):
        if file.name.endswith((".js", ".ts", ".html", ".css")):
            assert b"\r" not in file.data
            assert b"://" not in file.data


@pytest.mark.parametrize(
    ("backends", "most"), [(("wasm",), 53_400), (("webgl",), 69_640), (("webgpu", "webgl", "wasm"), 103_950)]
)
def test_scripts_stay_small(backends: tuple[str, ...], most: int) -> None:
    """Scripts that applications download, and those of the bundle's own page."""
    files = [file for file in render_bundle(tiny_device_artifact(*backends)) if file.name.endswith(".js")]
    scripts = [file for file in files if not file.name.startswith("verify_runs-")]
    judges = 0 if backends == ("wasm",) else 2_600  # of outputs of GPUs that are not finite
    judges += 700 if "webgpu" in backends else 0  # and what searches those that stay there
    assert sum(len(file.data) for file in files if file not in scripts) < 5_000 + judges  # for `load({ verify })` alone
    assert sum(len(file.data) for file in scripts if file.kind != "page") < most
    assert sum(len(file.data) for file in scripts if file.kind == "page") < 12_000


@pytest.mark.parametrize(("backend", "most"), [("wasm", 60_000), ("webgl", 80_000), ("webgpu", 80_000)])
def test_a_page_downloads_the_scripts_of_one_backend(backend: str, most: int) -> None:
    files = {file.name: file for file in render_bundle(tiny_device_artifact("webgpu", "webgl", "wasm"))}
    taken: dict[str, int] = {}
    waiting = ["model.js", *(name for name in files if name.startswith(f"worker_{backend}-"))]
    while waiting:
        name = waiting.pop()
        taken[name] = len(files[name].data)
        waiting += re.findall(r"^import .* from '\./(.*)';$", files[name].data.decode(), re.MULTILINE)
    assert {name.partition("-")[0] for name in taken} == {"model.js", "load", "runtime", f"worker_{backend}"} | (
        {f"backend_{backend}"} if backend == "wasm" else {f"backend_{backend}", "shared"}
    )
    assert sum(taken.values()) < most


def test_a_module_of_its_own_program_has_its_own_part_of_the_weights() -> None:
    """Fields that only the program of the others had would stand for it, too: weights cut off, calls that it lacks."""
    artifact = prepared_artifact()
    (part,) = artifact.backends
    assert isinstance(part, WasmArtifact)
    own = replace(part, modules={"signed": b"of bytes"}, needs=(), weights_bytes=None)
    made = make_manifest(replace(artifact, backends=(replace(part, in_bytes={"signed": own}),)))
    (fields,) = made.fields["backends"]
    assert (fields["weightsBytes"], fields["prepare"]) == (part.weights_bytes, list(part.needs))
    program = fields["modules"]["signed"]["program"]
    assert (program["weightsBytes"], program["prepare"]) == (len(artifact.weights), [])


def test_shards_hold_the_weights_in_order(tmp_path: Path) -> None:
    artifact = tiny_artifact()
    written = write_bundle(artifact, tmp_path / "out", shard_bytes=3000)
    shards = [file for file in written if file.kind == "weights"]
    assert [file.bytes for file in shards] == [3000, 3000, 2192]
    assert b"".join((tmp_path / "out" / file.name).read_bytes() for file in shards) == artifact.weights
    entry = (tmp_path / "out" / "model.js").read_text()
    assert re.findall(r"offset: (\d+), url: new URL\('\./(weights-\w+\.bin)'", entry) == [
        (str(at), file.name) for at, file in zip((0, 3000, 6000), shards, strict=True)
    ]


def test_equal_shards_are_one_file(tmp_path: Path) -> None:
    artifact = replace(tiny_artifact(), weights=bytes(4096))
    written = write_bundle(artifact, tmp_path / "out", shard_bytes=1024)
    assert [file.bytes for file in written if file.kind == "weights"] == [1024]
    assert (tmp_path / "out" / "model.js").read_text().count("weights-") == 4


def test_model_without_weights(tmp_path: Path) -> None:
    written = write_bundle(copy_artifact({"x": ("int32", (2,))}), tmp_path / "out")
    assert not [file for file in written if file.kind == "weights"]
    assert "weights: []," in (tmp_path / "out" / "model.js").read_text()


def test_name_is_text_not_markup() -> None:
    files = {
        file.name: file.data.decode()
        for file in render_bundle(tiny_artifact(name='<b>"</script>'))
        if file.kind in ("entry", "page")
    }
    assert "<title>&lt;b&gt;&quot;&lt;/script&gt;</title>" in files["index.html"]
    assert '  name: "\\u003cb>\\"\\u003c/script>",' in files["model.js"]


def test_parents_are_made_and_an_empty_folder_is_used(tmp_path: Path) -> None:
    write_bundle(tiny_artifact(), tmp_path / "some" / "where")
    (tmp_path / "empty").mkdir()
    write_bundle(tiny_artifact(), tmp_path / "empty")
    assert contents(tmp_path / "empty") == contents(tmp_path / "some" / "where")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "some"]


def test_force_is_needed_to_replace_a_bundle(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_bundle(tiny_artifact(), out)
    old = contents(out)
    with pytest.raises(InputError, match="already holds a bundle; give --force to replace it"):
        write_bundle(tiny_artifact(512), out)
    assert contents(out) == old
    write_bundle(tiny_artifact(512), out, force=True)
    write_bundle(tiny_artifact(512), tmp_path / "fresh")
    assert contents(out) == contents(tmp_path / "fresh")


def test_force_spares_a_folder_that_is_no_bundle(tmp_path: Path) -> None:
    (tmp_path / "model.js").write_text("export default 1;\n")
    with pytest.raises(InputError, match="is not empty and holds no bundle"):
        write_bundle(tiny_artifact(), tmp_path, force=True)
    assert contents(tmp_path) == {"model.js": b"export default 1;\n"}


@pytest.mark.parametrize("name", ["notes.txt", "weights-0123456789ab.bin", "sub"])
def test_force_spares_other_files_beside_a_bundle(tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    write_bundle(tiny_artifact(), out)
    if name == "sub":
        (out / name).mkdir()
    else:
        (out / name).write_text("mine")
    before = sorted(path.name for path in out.iterdir())
    with pytest.raises(InputError, match=re.escape(f"holds files that are no part of its bundle ({name})")):
        write_bundle(tiny_artifact(512), out, force=True)
    assert sorted(path.name for path in out.iterdir()) == before


def test_out_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(InputError, match="is a file; give a folder"):
        write_bundle(tiny_artifact(), tmp_path / "out", force=True)
    assert (tmp_path / "out").read_text() == "mine"


def test_out_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match=r"--out .*/file/out lies below .*/file, which is a file"):
        write_bundle(tiny_artifact(), tmp_path / "file" / "out")


def test_parent_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulated: root may write anywhere."""

    def refuse(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(InputError, match=r"cannot write the bundle to .*/out: Permission denied; choose another --out"):
        write_bundle(tiny_artifact(), tmp_path / "out")


def test_empty_folder_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(InputError, match=r"cannot write to --out .*: permission denied"):
        write_bundle(tiny_artifact(), tmp_path)


@pytest.mark.parametrize("had_bundle", [True, False])
@pytest.mark.parametrize("failing", ["write_bytes", "rename"])
def test_a_failure_in_the_middle_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, had_bundle: bool, failing: str
) -> None:
    out = tmp_path / "out"
    if had_bundle:
        write_bundle(tiny_artifact(), out)
    before = contents(out) if had_bundle else None
    original = getattr(Path, failing)

    def fail(path: Path, *arguments: object) -> object:
        if failing == "rename" and path.name.endswith(".old"):
            return original(path, *arguments)  # putting the old bundle back still works
        if (failing == "rename" and path.name.endswith(".new")) or path.name.startswith("relaxed-"):
            raise OSError(28, "No space left on device")
        return original(path, *arguments)

    monkeypatch.setattr(Path, failing, fail)
    with pytest.raises(InputError, match="No space left on device"):
        write_bundle(tiny_artifact(512), out, force=True)
    assert [path.name for path in tmp_path.iterdir()] == (["out"] if had_bundle else [])
    if had_bundle:
        assert contents(out) == before


def test_memory_is_laid_out_in_order_and_aligned() -> None:
    layout = place_memory("tiny", 1001, 65, 65536)
    assert (layout.weights, layout.arena, layout.pages) == (1024, 1152, 2)


def test_four_gibibytes_fit_and_no_more() -> None:
    assert place_memory("tiny", 0, 0, 2**32).pages == 65536
    with pytest.raises(
        InputError, match=r"'tiny' needs 4\.00 GiB of memory .* but wasm32 has 4 GiB: use a smaller input"
    ):
        place_memory("tiny", 0, 0, 2**32 + 1)


def test_too_large_a_model_writes_nothing(tmp_path: Path) -> None:
    artifact = tiny_artifact()
    (wasm,) = artifact.backends
    assert isinstance(wasm, WasmArtifact)
    large = replace(artifact, backends=(replace(wasm, arena_bytes=2**33),))
    with pytest.raises(InputError, match="wasm32 has 4 GiB"):
        write_bundle(large, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_folder_itself_can_be_imported() -> None:
    """By tools that read its package.json: scripts are modules, with types."""
    (package,) = [json.loads(file.data) for file in render_bundle(tiny_artifact()) if file.name == "package.json"]
    assert package == {"type": "module", "main": "./model.js", "types": "./model.d.ts"}
