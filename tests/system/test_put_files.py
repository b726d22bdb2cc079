"""Files that options name: all or nothing."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from webnn_compile.errors import InputError
from webnn_compile.system.put_files import OutputFile, check_distinct, check_output, put_files, putting_files

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


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="no names of descriptors")
@pytest.mark.parametrize("by_link", [False, True])
@pytest.mark.parametrize("append", [False, True])
def test_a_descriptor_of_a_file_is_written_to_itself(tmp_path: Path, append: bool, by_link: bool) -> None:
    """As by `> log` and `>> log`: what is printed before and after stays."""
    log, name = tmp_path / "log", Path("/dev/stdout")
    log.write_text("old\n")
    if by_link:
        name = tmp_path / "link"
        name.symlink_to("/dev/stdout")
    code = f"""
from pathlib import Path
from webnn_compile.system.put_files import OutputFile, put_files
print("before", flush=True)
put_files([OutputFile("--a", Path({str(name)!r}), b"text\\n")])
print("after")"""
    with log.open("a" if append else "w") as opened:
        subprocess.run([sys.executable, "-c", code], stdout=opened, check=True)
    assert log.read_text() == ("old\n" if append else "") + "before\ntext\nafter\n"


def test_a_name_may_be_as_long_as_names_can_be(tmp_path: Path) -> None:
    name = "r" * 255
    put_files([OutputFile("--a", tmp_path / name, b"text")])
    assert contents(tmp_path) == {name: b"text"}


def test_the_mode_of_a_file_stays(tmp_path: Path) -> None:
    (tmp_path / "own").touch(0o600)
    (tmp_path / "usual").touch()
    put_files([OutputFile("--a", tmp_path / name, b"text") for name in ("own", "new")])
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
    assert modes == {"own": 0o600, "new": modes["usual"], "usual": modes["usual"]}


def test_a_link_to_itself_is_a_mistake(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for path in (loop, loop / "file"):
        for check in (
            lambda path: check_output("--a", path),
            lambda path: check_distinct([("--a", path)], [loop]),
            lambda path: put_files([OutputFile("--a", path, b"")]),
        ):
            with pytest.raises(InputError, match=r"--a .*: cannot be written: Too many levels of symbolic links"):
                check(path)
    assert [p.name for p in tmp_path.iterdir()] == ["loop"]
    assert loop.is_symlink()


def test_files_are_not_those_that_are_read(tmp_path: Path) -> None:
    model, link = tmp_path / "model", tmp_path / "link"
    model.touch()
    link.symlink_to(model)
    for outputs, read, message in (
        ([link], [model], "--0 .*link is a file that is read, too"),
        ([model], [link], "--0 .*model is a file that is read, too"),
        ([tmp_path / "new"], [tmp_path], "--0 .*new lies in .*, which is read, too; give a file in another folder"),
        ([link, model], [], "--1 .*model is the file of --0, too; give each another one"),
        ([tmp_path / "new", tmp_path / "no" / ".." / "new"], [], "--1 .*new is the file of --0, too"),
    ):
        with pytest.raises(InputError, match=message):
            check_distinct([(f"--{i}", path) for i, path in enumerate(outputs)], read)
    check_distinct([("--a", tmp_path / "a"), ("--b", tmp_path / "b")], [model, link])


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
