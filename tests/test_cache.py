"""The cache of compiled kernels: what it holds, what it survives, and that nobody can tell whether it was used."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
import webnn_compile
from click.testing import CliRunner
from onnx_models import model, node, random
from webnn_compile.cli.command import main
from webnn_compile.codegen.device_backend import DeviceBackend
from webnn_compile.cpu.compile_for_cpu import compile_for_cpu
from webnn_compile.driver.build import Report, build
from webnn_compile.driver.options import Options
from webnn_compile.frontends.onnx import import_model
from webnn_compile.glsl.backend import WebGl
from webnn_compile.gpu.cached_backend import CachedBackend
from webnn_compile.gpu.compile_for_device import compile_for_device
from webnn_compile.gpu.plan_for_device import plan_for_device
from webnn_compile.ir.layout import Block, Layout
from webnn_compile.pipeline.lazy_kernels import LazyKernels, layouts_from_bytes, layouts_to_bytes
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.pipeline.weights import Weights
from webnn_compile.system import cache as cache_module
from webnn_compile.system.cache import FOLDER_VARIABLE, Cache, compiler_sources, key_of, open_cache
from webnn_compile.target import WASM_PLAIN, WASM_RELAXED
from webnn_compile.wgsl.backend import WebGpu


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache's folder of this test alone; it is not there yet."""
    path = tmp_path / "cache"
    monkeypatch.setenv(FOLDER_VARIABLE, str(path))
    return path


def entries(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*.*") if p.is_file())


def two_convolutions(folder: Path) -> Path:
    nodes = [node("Conv", ["x", "k"], ["c"], "first"), node("Softmax", ["c"], ["s"]), node("Conv", ["s", "k2"], ["y"])]
    weights = {"k": random((16, 3, 3, 3)), "k2": random((5, 16, 3, 3), 1)}
    folder.mkdir(exist_ok=True)
    onnx.save(model(nodes, {"x": [1, 3, 12, 12]}, ["y"], weights), folder / "two.onnx")
    return folder / "two.onnx"


def bundle(tmp_path: Path, name: str, **options: bool) -> tuple[Report, dict[str, bytes]]:
    """A build's report, and the files that it wrote."""
    out = tmp_path / name
    report = build(two_convolutions(tmp_path), out, Options(**options), lambda _: None, lambda _: None)
    return report, {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}


def test_the_same_bytes_with_and_without(folder: Path, tmp_path: Path) -> None:
    without, expected = bundle(tmp_path, "without", cache=False)
    assert without.cache.folder is None
    assert not folder.exists()
    cold, first = bundle(tmp_path, "cold")
    assert (cold.cache.hits, cold.cache.folder) == (0, folder)
    assert cold.cache.misses == len(entries(folder)) > 6
    warm, second = bundle(tmp_path, "warm")
    assert (warm.cache.hits, warm.cache.misses) == (cold.cache.misses, 0)
    assert expected == first == second


def test_a_warm_build_lowers_no_kernel(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle(tmp_path, "cold")
    refuse: Callable[..., None] = lambda *_: pytest.fail("a kernel is lowered")  # noqa: E731
    monkeypatch.setattr("webnn_compile.cpu.compile_for_cpu.schedule_cpu", refuse)
    monkeypatch.setattr("webnn_compile.cpu.compile_for_cpu.lower_kernel", refuse)
    monkeypatch.setattr("webnn_compile.wasm.emit._emit", refuse)
    monkeypatch.setattr("webnn_compile.simt.backend.lower", refuse)
    monkeypatch.setattr("webnn_compile.glsl.backend.lower_fragment", refuse)
    bundle(tmp_path, "warm")


@pytest.mark.parametrize("target", ["native", "wasm", "wasm-relaxed"])
def test_compile_uses_it(target: str, folder: Path, tmp_path: Path) -> None:
    file = two_convolutions(tmp_path)
    x = {"x": np.random.default_rng(0).standard_normal((1, 3, 12, 12)).astype(np.float32)}
    expected = webnn_compile.compile(file, target, cache=False).run(x)["y"]
    assert not folder.exists()
    for _ in range(2):
        np.testing.assert_array_equal(webnn_compile.compile(file, target).run(x)["y"], expected)
    assert entries(folder)


@pytest.mark.parametrize("backend", [WebGpu(), WebGl()], ids=lambda b: b.name)
def test_a_shader_comes_back_as_it_was(backend: DeviceBackend, folder: Path, tmp_path: Path) -> None:
    graph = import_model(two_convolutions(tmp_path))
    lowered = lower_model(graph, policy=backend.layouts)
    expected = compile_for_device(lowered, plan_for_device(lowered, backend, Weights()))
    for _ in range(2):
        weights = Weights()
        cached = CachedBackend(backend, Cache(folder))
        assert compile_for_device(lowered, plan_for_device(lowered, cached, weights)) == expected
    assert cached.cache.hits > 3
    assert cached.cache.misses == 0


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda data: data[: len(data) // 2],
    "empty": lambda _: b"",
    "flipped": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "of another version": lambda data: data.replace(b"cache 1", b"cache 2"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_written_anew(damage: str, folder: Path, tmp_path: Path) -> None:
    _, expected = bundle(tmp_path, "cold")
    whole = {p: p.read_bytes() for p in entries(folder)}
    for path, data in whole.items():
        path.write_bytes(DAMAGE[damage](data))
    report, files = bundle(tmp_path, "again")
    assert report.cache.hits == 0
    assert files == expected
    assert {p: p.read_bytes() for p in entries(folder)} == whole


def give_away(path: Path) -> None:
    if os.geteuid():
        pytest.skip("only the superuser can give a file to another user")
    os.chown(path, 12345, 12345)


FOREIGN: dict[str, tuple[Callable[[Path], None], str]] = {
    "of a group": (lambda p: p.chmod(0o770), r"other users may write to it \(mode 0770\)"),
    "of all": (lambda p: p.chmod(0o1777), r"other users may write to it \(mode 1777\)"),
    "of another": (give_away, r"it belongs to another user \(12345\)"),
}


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system has no user ids")
@pytest.mark.parametrize("kind", FOREIGN)
def test_a_folder_that_others_may_have_written_to_is_passed_over(kind: str, folder: Path, tmp_path: Path) -> None:
    change, reason = FOREIGN[kind]
    _, expected = bundle(tmp_path, "cold")
    change(folder)
    before = {p: p.read_bytes() for p in entries(folder)}
    with pytest.warns(
        UserWarning, match=rf"the cache folder {folder} is passed over: {reason}.* by {FOLDER_VARIABLE}"
    ) as seen:
        report, files = bundle(tmp_path, "again")
    assert len(seen) == 1
    assert (report.cache.folder, report.cache.hits) == (None, 0)
    assert "is passed over" in (report.cache.note or "")
    assert files == expected
    assert {p: p.read_bytes() for p in entries(folder)} == before


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system has no user ids")
@pytest.mark.parametrize("kind", FOREIGN)
def test_an_entry_that_others_may_have_written_is_not_read(kind: str, folder: Path) -> None:
    Cache(folder).put("code", "k", b"data")
    assert Cache(folder).get("code", "k") == b"data"
    FOREIGN[kind][0](entries(folder)[0])
    assert Cache(folder).get("code", "k") is None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system has no user ids")
def test_a_link_is_judged_by_the_folder_that_it_leads_to(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir(mode=0o755)
    folder.symlink_to(target)
    assert open_cache().folder == target
    target.chmod(0o777)
    with pytest.warns(UserWarning, match=rf"the cache folder {target} is passed over"):
        assert open_cache().folder is None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system has no user ids")
def test_the_command_line_warns_in_one_line(folder: Path, tmp_path: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    file = two_convolutions(tmp_path)
    result = CliRunner().invoke(main, [str(file), "--out", str(tmp_path / "out"), "--targets", "wasm"])
    assert result.exit_code == 0, result.output
    assert result.stderr.count("warning: ") == 1
    assert f"warning: the cache folder {folder} is passed over: other users may write to it" in result.stderr


def test_a_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "file" / "cache"))
    report, files = bundle(tmp_path, "out")
    assert files
    assert report.cache.note is not None
    assert f"nothing is written to {tmp_path / 'file' / 'cache'}: " in report.cache.note


def test_a_folder_that_is_only_read(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, expected = bundle(tmp_path, "cold")
    for path in entries(folder)[::2]:
        path.unlink()

    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    report, files = bundle(tmp_path, "warm")
    assert files == expected
    assert report.cache.hits
    assert report.cache.misses
    assert report.cache.note == f"nothing is written to {folder}: Permission denied"


def test_the_key_depends_on_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lowered = lower_model(import_model(two_convolutions(tmp_path)))
    keys = set(compile_for_cpu(lowered, WASM_PLAIN).keys)
    assert len(keys) >= 3
    changed = [
        compile_for_cpu(lowered, WASM_RELAXED),
        compile_for_cpu(lowered, replace(WASM_PLAIN, registers=12)),
        compile_for_cpu(lowered, WASM_PLAIN, opt_level=1),
    ]
    monkeypatch.setattr(cache_module, "compiler_sources", lambda: "another version")
    changed.append(compile_for_cpu(lowered, WASM_PLAIN))
    for program in changed:
        assert len(program.keys) == len(keys)
        assert not keys & set(program.keys)


def test_a_changed_source_file_changes_the_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cache.py", "other.py"):
        (tmp_path / name).write_text("")
    monkeypatch.setattr(cache_module, "__file__", str(tmp_path / "system" / "cache.py"))
    versions = []
    for text in ("a = 1", "a = 2", ""):
        (tmp_path / "other.py").write_text(text)
        compiler_sources.cache_clear()
        versions.append(compiler_sources())
    (tmp_path / "other.py").rename(tmp_path / "renamed.py")
    compiler_sources.cache_clear()
    versions.append(compiler_sources())
    compiler_sources.cache_clear()
    assert len(set(versions)) == 4


def test_parts_of_a_key_do_not_run_together() -> None:
    assert key_of("ab", "c") != key_of("a", "bc")


BUILD = """
import sys
from pathlib import Path
from webnn_compile.driver.build import build
from webnn_compile.driver.options import Options
build(Path(sys.argv[1]), Path(sys.argv[2]), Options(), lambda _: None, lambda _: None)
"""


def test_two_processes_at_once(folder: Path, tmp_path: Path) -> None:
    _, expected = bundle(tmp_path, "without", cache=False)
    file = two_convolutions(tmp_path)
    outs = [tmp_path / "one", tmp_path / "two"]
    running = [subprocess.Popen([sys.executable, "-c", BUILD, file, out], stderr=subprocess.PIPE) for out in outs]
    for process in running:
        _, errors = process.communicate(timeout=100)
        assert process.returncode == 0, errors.decode()
    for out in outs:
        assert {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()} == expected
    assert not [p for p in entries(folder) if p.suffix == ".unfinished"]
    report, _ = bundle(tmp_path, "after")
    assert report.cache.misses == 0


def test_no_cache(folder: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, [str(two_convolutions(tmp_path)), "--out", str(tmp_path / "out"), "--no-cache"])
    assert done.exit_code == 0, done.output
    assert "cache      off" in done.output
    assert not folder.exists()


def test_the_report_says_what_was_known(folder: Path, tmp_path: Path) -> None:
    outputs = []
    for name in ("cold", "warm"):
        given = [str(two_convolutions(tmp_path)), "--out", str(tmp_path / name), "--report", str(tmp_path / "r.json")]
        outputs.append(CliRunner().invoke(main, given).output)
    pieces = len(entries(folder))
    assert f"0 of {pieces} kernels and modules found" in " ".join(outputs[0].split())
    assert f"{pieces} of {pieces} kernels and modules found" in " ".join(outputs[1].split())
    assert f'"hits": {pieces}' in (tmp_path / "r.json").read_text()


def test_the_usual_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE)
    found = open_cache().folder
    assert found is not None
    assert found.name == "webnn-compile" or found.parent.name == "webnn-compile"
    assert open_cache(enabled=False).folder is None


def test_layouts_keep_their_fields() -> None:
    panels = Layout((4, 3, 2), (0, 2, 1), ((0, 0), (1, 1), (0, 0)), (1, 4, 1), (Block(0, 8, 8),))
    given = (None, panels, Layout.row_major((2, 2)))
    assert layouts_from_bytes(layouts_to_bytes(given)) == given


def test_kernels_are_made_when_looked_at(tmp_path: Path) -> None:
    program = compile_for_cpu(lower_model(import_model(two_convolutions(tmp_path))), WASM_PLAIN)
    made = list(program.kernels)
    calls: list[int] = []

    def maker(n: int) -> Callable[[], object]:
        return lambda: calls.append(n) or made[n]

    lazy = LazyKernels([maker(n) for n in range(3)])  # type: ignore[misc]
    assert (len(lazy), calls) == (3, [])
    assert lazy[-1] is made[2]
    assert list(lazy[1:]) == made[1:3]
    assert calls == [2, 1]
    with pytest.raises(IndexError):
        lazy[3]
