"""The folder with which a page compiles models: what is in it, and how the command that builds it ends."""

from __future__ import annotations

import json
import os
import re
import shutil
import zipfile
import zlib
from hashlib import sha256
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from compile_page import NUMPY, built_page, downloads
from webnn_compile.cli.page_command import main
from webnn_compile.compile_page.build_page import ABSENT, EARLY, FOLDER, LATER, PYODIDE_FILES
from webnn_compile.compile_page.components import OTHERS, Component, components
from webnn_compile.compile_page.downloads import packages, read_lock

FIRST_VISIT = 12.5e6
"""Bytes that it may fetch, as servers compress them."""


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_page(tmp_path_factory)


def run(*arguments: str | Path, **env: str | None) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments], env=env)


def refused(result: Result, message: str) -> None:
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    assert re.search(message, result.output, re.DOTALL), result.output


def contents(folder: Path) -> dict[str, bytes]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def modules(page: Path, stem: str) -> list[zipfile.ZipInfo]:
    (archive,) = page.glob(f"{stem}-*.zip")
    return zipfile.ZipFile(archive).infolist()


def names(page: Path, stem: str) -> list[str]:
    return [entry.filename for entry in modules(page, stem)]


def test_another_build_is_equal_and_replaces_a_page(page: Path, tmp_path: Path) -> None:
    out = tmp_path / "page"
    shutil.copytree(page, out)
    (out / "style.css").write_text("changed")
    result = run("--out", out, "--force")
    assert result.exit_code == 0, result.output
    assert f"{out}: {len(contents(page))} files, " in result.stdout
    assert contents(out) == contents(page)
    assert [path.name for path in tmp_path.iterdir()] == ["page"]


def test_a_first_visit_is_small(page: Path) -> None:
    unused = re.compile(rf"({'|'.join(LATER)})-.*\.zip|licences/.*|.*\.d\.ts|.*\.map")
    fetched = {name: len(zlib.compress(data)) for name, data in contents(page).items() if not unused.fullmatch(name)}
    largest = sorted(fetched.items(), key=lambda entry: -entry[1])[:5]
    assert sum(fetched.values()) <= FIRST_VISIT, largest


def test_the_list_of_files(page: Path) -> None:
    """Each has its entry, but the list itself."""
    found = contents(page)
    listed = json.loads(found.pop("files.json"))["files"]
    expected = {name: (len(data), sha256(data).hexdigest()) for name, data in found.items()}
    assert {entry["name"]: (entry["bytes"], entry["sha256"]) for entry in listed} == expected
    assert len(listed) == len(expected)


def test_modules_are_bytecode_of_one_python(page: Path) -> None:
    headers = set()
    for stem in ("compiler", *LATER):
        (archive,) = page.glob(f"{stem}-*.zip")
        with zipfile.ZipFile(archive) as opened:
            assert [n for n in opened.namelist() if n.endswith((".py", ".pyi"))] == []
            headers |= {opened.read(n)[:8] for n in opened.namelist() if n.endswith(".pyc")}
    (header,) = headers
    assert header[4:] == b"\1\0\0\0", "it is checked against a source that is not here"


def test_modules_that_a_page_cannot_use_are_left_out(page: Path) -> None:
    assert set(ABSENT) >= {"native", "opencl", "cuda", "cli"}
    found = names(page, "compiler")
    absent = (name.removesuffix(".py") + ("." if name.endswith(".py") else "/") for name in ABSENT)
    folders = tuple(f"webnn_compile/{name}" for name in (*absent, "tune/", "rpc/", "compile_page/web/"))
    tests = ("numpy/tests/", "numpy/testing/", "numpy/f2py/", "onnx/backend/", "onnx/test/")
    assert [n for n in found if n.startswith((*folders, *tests)) or "/tests/" in n] == []
    ours = {n.removeprefix("webnn_compile/compile_page/") for n in found if n.startswith("webnn_compile/compile_page/")}
    assert ours == {"__init__.pyc", "answer.pyc", "page_device.pyc", "tune_here.pyc"}
    for name in ("webnn_compile/driver/build.pyc", "webnn_compile/runtime_js/load/load.js", "ml_dtypes.pyc"):
        assert name in found
    assert any(n.startswith("numpy/_core/_multiarray_umath.") and n.endswith(".so") for n in found)
    assert {f"{name}c" for name in EARLY} < set(found)


@pytest.mark.parametrize(
    ("stem", "module"),
    [
        ("tuner", "webnn_compile/tune/tuner.pyc"),
        ("tflite", "webnn_compile/frontends/tflite/convert.pyc"),
        ("formats", "webnn_compile/frontends/keras/convert.pyc"),
        ("quantizer", "webnn_compile/quantization/quantize_model.pyc"),
    ],
)
def test_modules_that_few_need_are_apart(stem: str, module: str, page: Path) -> None:
    found = names(page, stem)
    folders = tuple(folder.removesuffix(".py") for folder in LATER[stem])
    for folder in folders:
        assert any(n.startswith(folder) for n in found)
    assert [n for n in found if not n.startswith(folders)] == []
    assert module in found
    assert set(found).isdisjoint(names(page, "compiler"))


def test_archives_have_no_times(page: Path) -> None:
    entries = [entry for stem in ("compiler", *LATER) for entry in modules(page, stem)]
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}


def test_archives_are_named_by_their_hashes(page: Path) -> None:
    for archive in page.glob("*.zip"):
        assert archive.stem.partition("-")[2] in sha256(archive.read_bytes()).hexdigest()


def test_pyodide_is_whole(page: Path) -> None:
    """Its scripts are named .js, for servers that know no other, and know each other by that name."""
    expected = {name.replace(".mjs", ".js") for name in PYODIDE_FILES} | {"pyodide-lock.json"}
    assert {path.name for path in (page / FOLDER).iterdir()} == expected
    assert json.loads((page / FOLDER / "pyodide-lock.json").read_text()) == read_lock()
    loader = (page / FOLDER / "pyodide.js").read_text()
    assert "pyodide.asm.js" in loader
    assert "pyodide.asm.mjs" not in loader


def licence_text(page: Path, component: Component) -> str:
    """Text below licences/ for it; in the file of several, from its title on to the next."""
    found = page / "licences" / component.text
    if found.is_dir():
        return "".join(path.read_text() for path in sorted(found.iterdir()))
    whole = found.read_text()
    if component.text != OTHERS:
        return whole
    title = re.search(rf"^{re.escape(component.title)}: \S.*$", whole, re.MULTILINE)
    assert title is not None, component.title
    below = whole[title.end() :]
    return title[0] + re.split(r"\n\n(?=\S)", below, maxsplit=1)[0]  # texts are indented, titles are not


TEXTS = {
    "Apache-2.0": "Apache License",
    "BSD-2-Clause": "Redistribution and use",
    "BSD-3-Clause": "Redistribution and use",
    "LicenseRef-Public-Domain": "public domain",
    "MIT": "Permission is hereby granted",
    "MPL-2.0": "Mozilla Public License Version 2.0",
    "PSF-2.0": "PYTHON SOFTWARE FOUNDATION LICENSE",
    "Zlib": "origin of this software must not be misrepresented",
    "blessing": "May you do good and not evil",
    "bzip2-1.0.6": "Redistribution and use",
}


def test_each_component_has_its_licence(page: Path) -> None:
    notice = (page / "licences" / "NOTICE.txt").read_text()
    for component in components():
        assert f"{component.title} {component.version}".strip() in notice
        text = licence_text(page, component)
        assert TEXTS[component.licence.split()[0]] in text, component.title
        for pattern in component.files.split(", "):
            assert list(page.glob(pattern)), (component.title, pattern)
    bundled = " ".join(path.name for path in (page / "licences").glob("numpy-*/*"))
    for part in ("highway", "lapack_lite", "pocketfft", "pcg64", "mt19937", "dragon4", "libdivide"):
        assert part in bundled, part


def test_each_package_is_a_component_with_the_licence_that_it_states(page: Path) -> None:
    listed = {component.package: component for component in components()}
    for package in packages(read_lock()):
        component = listed[f"pkg:pypi/{package.name}@{package.version}"]
        with zipfile.ZipFile(downloads().wheel(package)) as wheel:
            (name,) = (n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
            stated = re.search(r"^License-Expression: (.*)$", wheel.read(name).decode(), re.MULTILINE)
        assert stated is None or stated[1] == component.licence


MARKS = {
    "pyodide-*/pyodide.asm.wasm": {
        "CPython": rb"\x00{}\x00",
        "SQLite": rb"{}",
        "zlib": rb"deflate {} Copyright",
        "bzip2": rb"{}, 6-Sept-2010",
        "XZ Utils": rb"\x00{}\x00",
        "Zstandard": rb"\x00{}\x00",
        "Expat": rb"expat_{}",
        "libmpdec": rb"\x00{}\x00",
        "HACL*": rb"HACL\*",
        "Emscripten": rb"{}",
        "libffi": rb"ffi_call",
    },
    "pyodide-*/pyodide.js": {"error-stack-parser": rb"ErrorStackParser"},
    "compiler-*.zip": {
        "Abseil": rb"absl",
        "Protocol Buffers for C++": rb"google8protobuf",
        "nanobind": rb"nanobind",
        "robin-map": rb"robin",
        "utf8_range": rb"utf8_range",
        "NumPy": rb"numpy",
        "ONNX": rb"onnx",
    },
}
"""By file: texts that components leave in it, {} for their version."""


def test_versions_are_those_of_the_files(page: Path) -> None:
    shipped = {component.title: component for component in components()}
    for pattern, marks in MARKS.items():
        (path,) = page.glob(pattern)
        data = path.read_bytes()
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                data = b"".join(archive.read(name) for name in archive.namelist() if name.endswith(".so"))
        for title, mark in marks.items():
            version = re.escape(shipped[title].version).encode()
            assert re.search(mark.replace(b"{}", version), data), title


def test_types_stand_beside_the_module(page: Path) -> None:
    """`compiler.d.ts` is that of `compiler.js`; what it imports is here, too."""
    assert not (page / "types.d.ts").exists()
    types = (page / "compiler.d.ts").read_text()
    for name in re.findall(r"""(?:from|import\()\s*['"](\.[^'"]+)['"]""", types):
        path = page / name
        assert path.with_suffix("").with_suffix(".d.ts").is_file() or path.is_file(), name


def test_references_stay_in_the_folder(page: Path) -> None:
    top = [path for path in page.iterdir() if path.suffix in (".js", ".ts", ".html", ".css")]
    assert [path.name for path in top if "../../" in path.read_text()] == []
    for path in page.rglob("*.js"):
        script = re.sub(r"/\*.*?\*/|^\s*//.*?$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
        for name in re.findall(r"""['"](\.{1,2}/[^'"]+\.js)['"]""", script):
            found = Path(os.path.normpath(path.parent / name))
            assert found.is_relative_to(page), (path, name)
            assert found.is_file(), (path, name)


@pytest.mark.parametrize("name", ["mine.txt", "licences/mine.txt", "foreign/index.html"])
def test_a_page_with_other_files_is_not_replaced(page: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / "page"
    shutil.copytree(page, out)
    (out / name).parent.mkdir(exist_ok=True)
    (out / name).write_text("mine")
    before = contents(out)
    refused(run("--out", out, "--force"), rf"no part of its compile page \({re.escape(name)}\)")
    assert contents(out) == before


def test_a_page_is_not_replaced_without_force(page: Path) -> None:
    before = contents(page)
    result = run("--out", page)
    refused(result, "already holds a compile page; give --force to replace it")
    assert "download" not in result.output, "said only after the work"
    assert contents(page) == before


@pytest.mark.parametrize("listed", ["[]", "{}", '{"files": [1]}', "no JSON", None])
def test_another_folder_is_not_replaced(tmp_path: Path, listed: str | None) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "compiler.js").write_text("mine")
    if listed is not None:
        (out / "files.json").write_text(listed)
    before = contents(out)
    refused(run("--out", out, "--force"), "is not empty and holds no compile page")
    assert contents(out) == before


def test_a_file_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    refused(run("--out", tmp_path / "out", "--force"), "is a file")


def test_another_wheel_is_refused(page: Path, tmp_path: Path) -> None:
    wheel = tmp_path / "numpy.whl"
    wheel.write_bytes(b"another")
    for result in (
        run("--out", tmp_path / "out", "--numpy", wheel),
        run("--out", tmp_path / "out", **{NUMPY: str(wheel)}),
    ):
        refused(result, r"numpy\.whl is not numpy-[\w.-]+: its sha256 is \w+, not \w+")
    assert [path.name for path in tmp_path.iterdir()] == ["numpy.whl"]


def test_node_is_missing(page: Path, tmp_path: Path) -> None:
    """Downloads from before are here."""
    refused(run("--out", tmp_path / "out", PATH=""), "node is not installed")
    assert list(tmp_path.iterdir()) == []


def test_node_fails(page: Path, tmp_path: Path) -> None:
    """A failure of Node is a fault of ours, whose message has Node's output."""
    program = tmp_path / "bin" / "node"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'a module is missing' >&2\nexit 1\n")
    program.chmod(0o755)
    result = run("--out", tmp_path / "out", PATH=f"{program.parent}:{os.environ['PATH']}")
    assert result.exit_code == 70, result.output
    assert "error: packing the page's modules failed: a module is missing" in result.output
    assert not (tmp_path / "out").exists()


def test_npm_is_missing(tmp_path: Path) -> None:
    """Where nothing was downloaded before."""
    refused(run("--out", tmp_path / "out", "--downloads", tmp_path / "kept", PATH=""), "npm is not installed")
    assert not (tmp_path / "out").exists()


def test_downloads_that_cannot_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    refused(run("--out", tmp_path / "out", "--downloads", tmp_path / "file"), "choose another --downloads")
    assert not (tmp_path / "out").exists()
