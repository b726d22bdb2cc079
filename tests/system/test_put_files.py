"""Files that options name: all or nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from webnn_compile.errors import InputError
from webnn_compile.system.put_files import OutputFile, check_output, put_files, putting_files

FULL = Path("/dev/full")


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def test_files_are_there_once_the_block_ends(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with putting_files([OutputFile("--a", tmp_path / "a", b"new"), OutputFile("--b", tmp_path / "b", b"b")]):
        assert (tmp_path / "a").read_bytes() == b"old"
    assert contents(tmp_path) == {"a": b"new", "b": b"b"}


def test_an_error_leaves_all_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), putting_files([OutputFile("--a", tmp_path / "a", b"new")]):
        raise KeyboardInterrupt
    assert contents(tmp_path) == {"a": b"old"}
    long = OutputFile("--b", tmp_path / ("b" * 300), b"")
    with pytest.raises(InputError, match=r"--b .*: cannot be written: File name too long; give another file"):
        put_files([OutputFile("--a", tmp_path / "a", b"new"), long])
    assert contents(tmp_path) == {"a": b"old"}


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
def test_what_is_no_file_is_written_to_first(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--b /dev/full: cannot be written: No space left"):
        put_files([OutputFile("--a", tmp_path / "a", b"new"), OutputFile("--b", FULL, b"b")])
    assert contents(tmp_path) == {}
    assert FULL.is_char_device()


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    end, start = os.pipe()
    put_files([OutputFile("--a", Path(f"/dev/fd/{start}"), b"text")])
    assert os.read(end, 10) == b"text"
    for file in (end, start):
        os.close(file)


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    put_files([OutputFile("--a", tmp_path / "link", b"text")])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"text"


def test_what_cannot_be_written_is_known_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    for path, message in (
        (tmp_path, "is a folder; give the path of a file"),
        (tmp_path / "none" / "file", "there is no folder .*none; make it first"),
        (tmp_path / "file" / "below", "there is no folder .*file; make it first"),
        (tmp_path / ("a" * 300), "cannot be written: File name too long"),
    ):
        with pytest.raises(InputError, match=f"--a .*{message}"):
            check_output("--a", path)
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write anywhere
    with pytest.raises(InputError, match=r"--a .*: permission denied; give another file"):
        check_output("--a", tmp_path / "file")
