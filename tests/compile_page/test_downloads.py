"""Files of others are fetched once, are those that are pinned, and where they cannot be had a message says why."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
import urllib.error
import urllib.request
from collections.abc import Callable
from hashlib import sha256
from http.client import BadStatusLine
from pathlib import Path
from typing import Any

import pytest
from webnn_compile.compile_page import downloads
from webnn_compile.compile_page.downloads import OURS, PYODIDE, Downloads, Package, trim_lock
from webnn_compile.errors import InputError

CONTENT = b"a wheel"
ONNX = Package("onnx", "1.0", "onnx-1.0-cp312-abi3-pyemscripten_2026_0_wasm32.whl", sha256(CONTENT).hexdigest())
NUMPY = Package("numpy", "2.0", "numpy-2.0-cp314-cp314-pyemscripten_2026_0_wasm32.whl", sha256(CONTENT).hexdigest())
ADDRESS = f"https://example.org/pyodide/v{PYODIDE}/full/{NUMPY.file}"
LOADER = b"const from = `https://example.org/pyodide/v${version}/full/`;"


class Programs:
    """In place of other programs: each writes these files where it is run, and ends so."""

    def __init__(self, files: dict[str, bytes], code: int = 0, out: str = "", err: str = "") -> None:
        self.commands: list[list[str]] = []
        self._files, self._ended = files, (code, out, err)

    def __call__(self, command: list[str], *, cwd: Path, **_: Any) -> subprocess.CompletedProcess[str]:
        self.commands.append(command)
        for name, data in self._files.items():
            (cwd / name).write_bytes(data)
        return subprocess.CompletedProcess(command, *self._ended)


Fake = Callable[..., Programs]


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Fake:
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")

    def fake(*args: Any, **options: Any) -> Programs:
        made = Programs(*args, **options)
        monkeypatch.setattr(subprocess, "run", made)
        return made

    return fake


def archive(loader: bytes = LOADER) -> bytes:
    """As npm packs Pyodide, with the loader alone."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as opened:
        entry = tarfile.TarInfo("package/pyodide.mjs")
        entry.size = len(loader)
        opened.addfile(entry, io.BytesIO(loader))
    return packed.getvalue()


@pytest.fixture
def pyodide(programs: Fake, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], Programs]:
    """Makes npm pack an archive with this loader, and that archive the pinned one."""

    def pack(loader: bytes) -> Programs:
        data = archive(loader)
        monkeypatch.setattr(downloads, "PYODIDE_SHA256", sha256(data).hexdigest())
        return programs({f"pyodide-{PYODIDE}.tgz": data})

    return pack


def network(monkeypatch: pytest.MonkeyPatch, answer: bytes | Exception) -> list[str]:
    """Makes it answer so; the addresses that are asked for."""
    asked: list[str] = []

    def urlopen(address: str, **_: Any) -> io.BytesIO:
        asked.append(address)
        if isinstance(answer, Exception):
            raise answer
        return io.BytesIO(answer)

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    return asked


def refused(fetch: Callable[[], Path]) -> str:
    with pytest.raises(InputError) as raised:
        fetch()
    return str(raised.value)


def kept(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_wheel_is_fetched_once(programs: Fake, tmp_path: Path) -> None:
    pip = programs({ONNX.file: CONTENT})
    for _ in range(2):
        found = Downloads(tmp_path / "kept").wheel(ONNX)
        assert (found.name, found.read_bytes()) == (ONNX.file, CONTENT)
    (command,) = pip.commands
    assert command[1:4] == ["-m", "pip", "download"]
    assert command[command.index("--platform") + 1] == "pyemscripten_2026_0_wasm32"
    assert command[-1] == "onnx==1.0"
    assert kept(tmp_path) == [ONNX.file]


def test_a_kept_file_with_other_bytes_is_fetched_anew(programs: Fake, tmp_path: Path) -> None:
    pip = programs({ONNX.file: CONTENT})
    found = Downloads(tmp_path).wheel(ONNX)
    found.write_bytes(b"damaged")
    assert Downloads(tmp_path).wheel(ONNX) == found
    assert found.read_bytes() == CONTENT
    assert len(pip.commands) == 2


def test_another_file_than_the_pinned_one_is_not_kept(programs: Fake, tmp_path: Path) -> None:
    programs({ONNX.file: b"another"})
    message = refused(lambda: Downloads(tmp_path).wheel(ONNX))
    digest = sha256(b"another").hexdigest()
    assert message == f"{ONNX.file} is not the file that is pinned: its sha256 is {digest}, not {ONNX.sha256}"
    assert kept(tmp_path) == []


def test_a_program_that_fetches_nothing(programs: Fake, tmp_path: Path) -> None:
    programs({"other.whl": CONTENT})
    assert f"{ONNX.file} was not among what was downloaded" in refused(lambda: Downloads(tmp_path).wheel(ONNX))
    assert kept(tmp_path) == []


@pytest.mark.parametrize(
    ("out", "err", "reason"),
    [
        ("", "WARNING: retrying\nERROR: No matching distribution found\n\n", "ERROR: No matching distribution found"),
        ("told here\n", "", "told here"),
        ('{"not": "npm"}', "", '{"not": "npm"}'),
        ("", "", "exit code 3"),
    ],
)
def test_pip_fails(programs: Fake, tmp_path: Path, out: str, err: str, reason: str) -> None:
    programs({}, 3, out, err)
    assert refused(lambda: Downloads(tmp_path).wheel(ONNX)) == f"pip cannot fetch onnx 1.0: {reason}"


def test_npm_packs_pyodide(pyodide: Callable[[bytes], Programs], tmp_path: Path) -> None:
    npm = pyodide(LOADER)
    for _ in range(2):
        assert Downloads(tmp_path).pyodide().name == f"pyodide-{PYODIDE}.tgz"
    (command,) = npm.commands
    assert (command[:2], command[-1]) == (["npm", "pack"], f"pyodide@{PYODIDE}")


def test_npm_is_missing(programs: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npm = programs({})
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert "npm is not installed" in refused(Downloads(tmp_path).pyodide)
    assert npm.commands == []


def test_npm_fails(programs: Fake, tmp_path: Path) -> None:
    """It writes nothing but JSON."""
    programs({}, 1, '{\n  "error": {"code": "ETARGET", "summary": "No matching version\\n", "detail": "..."}\n}\n')
    assert refused(Downloads(tmp_path).pyodide) == f"npm cannot fetch pyodide {PYODIDE}: No matching version"


def test_numpy_is_where_the_loader_says(
    pyodide: Callable[[bytes], Programs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyodide(LOADER)
    asked = network(monkeypatch, CONTENT)
    for _ in range(2):
        assert Downloads(tmp_path).wheel(NUMPY).read_bytes() == CONTENT
    assert asked == [ADDRESS]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (urllib.error.URLError("no route to host"), "no route to host"),
        (urllib.error.HTTPError(ADDRESS, 403, "Forbidden", None, None), "Forbidden"),  # type: ignore[arg-type]
        (TimeoutError("timed out"), "timed out"),
        (ConnectionResetError(104, "reset by peer"), "reset by peer"),
        (BadStatusLine("no HTTP"), "no HTTP"),
    ],
)
def test_the_distribution_cannot_be_reached(
    pyodide: Callable[[bytes], Programs],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    reason: str,
) -> None:
    pyodide(LOADER)
    network(monkeypatch, error)
    message = refused(lambda: Downloads(tmp_path).wheel(NUMPY))
    assert message.startswith(f"{ADDRESS} cannot be fetched: ")
    assert reason in message
    assert message.endswith("give it by --numpy WHEEL")
    assert kept(tmp_path) == [f"pyodide-{PYODIDE}.tgz"]


def test_a_loader_without_an_address(pyodide: Callable[[bytes], Programs], tmp_path: Path) -> None:
    pyodide(b"const from = './';")
    assert "give --numpy WHEEL" in refused(lambda: Downloads(tmp_path).wheel(NUMPY))


def test_a_wheel_that_is_given(programs: Fake, tmp_path: Path) -> None:
    """It is used where it lies."""
    run = programs({})
    given = tmp_path / "mine.whl"
    given.write_bytes(CONTENT)
    assert Downloads(tmp_path / "kept", numpy=given).wheel(NUMPY) == given
    assert run.commands == []
    assert not (tmp_path / "kept").exists()


def test_a_wheel_that_is_given_and_missing(tmp_path: Path) -> None:
    given = tmp_path / "none.whl"
    message = refused(lambda: Downloads(tmp_path, numpy=given).wheel(NUMPY))
    assert message == f"--numpy {given}: there is no such file"


def test_another_wheel_is_given(tmp_path: Path) -> None:
    given = tmp_path / "other.whl"
    given.write_bytes(b"other")
    message = refused(lambda: Downloads(tmp_path, numpy=given).wheel(NUMPY))
    digest = sha256(b"other").hexdigest()
    assert message == f"--numpy {given} is not {NUMPY.file}: its sha256 is {digest}, not {NUMPY.sha256}"


def test_a_folder_that_cannot_be_written(programs: Fake, tmp_path: Path) -> None:
    programs({ONNX.file: CONTENT})
    (tmp_path / "file").write_text("no folder")
    message = refused(lambda: Downloads(tmp_path / "file").wheel(ONNX))
    assert message.startswith(f"cannot keep {ONNX.file} in {tmp_path / 'file'}")
    assert message.endswith("choose another --downloads")


def test_a_lock_file_is_trimmed() -> None:
    made = {name: {"name": name, "file_name": f"https://example.org/a/{name}.whl", "sha256": "0"} for name in OURS}
    plain = {"name": "numpy", "file_name": "numpy.whl", "sha256": "0"}
    lock = {"info": {"python": "3"}, "packages": {"scipy": {"file_name": "scipy.whl"}, **made, "numpy": plain}, "x": 1}
    trimmed = trim_lock(lock)
    assert list(trimmed) == ["info", "packages"]
    assert trimmed["info"] == {"python": "3"}
    assert tuple(trimmed["packages"]) == OURS
    assert [p["file_name"] for p in trimmed["packages"].values()] == [f"{name}.whl" for name in OURS]
    assert made["onnx"]["file_name"].startswith("https://"), "what was given was changed"
