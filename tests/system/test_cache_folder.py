"""The folder of a cache: its entries, who may read them, and which are deleted."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import numpy as np
import pytest
from webnn_compile.system import cache as cache_module
from webnn_compile.system.cache import Cache


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that is not there yet."""
    return tmp_path / "cache"


def entries(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*.*") if p.is_file())


def test_an_entry_in_the_place_of_another_is_not_taken(folder: Path) -> None:
    store = Cache(folder)
    store.put("code", "a", b"of a")
    store.put("code", "b", b"of b")
    one, other = entries(folder)
    shutil.copy(one, other)
    fresh = Cache(folder)
    assert sorted([fresh.get("code", "a") or b"", fresh.get("code", "b") or b""])[0] == b""


def test_kinds_and_keys_are_apart(folder: Path) -> None:
    store = Cache(folder)
    store.put("code", "k", b"1")
    store.put("object", "k", b"2")
    fresh = Cache(folder)
    assert (fresh.get("code", "k"), fresh.get("object", "k"), fresh.get("code", "l")) == (b"1", b"2", None)
    assert (fresh.hits, fresh.misses) == (2, 1)


def test_folders_and_entries_are_the_users_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        Cache(folder).put("code", "k", b"data")
    finally:
        os.umask(before)
    (entry,) = entries(folder)
    assert [stat.S_IMODE(p.stat().st_mode) for p in (folder, entry.parent, entry)] == [0o700, 0o700, 0o600]


def test_a_write_that_fails_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    store = Cache(folder)
    store.put("code", "k", b"data")
    store.put("code", "l", b"data")
    assert entries(folder) == []
    assert store.note == f"nothing is written to {folder}: No space left on device"
    assert store.get("code", "k") == b"data"  # for as long as this process lasts


def test_what_was_not_used_for_longest_goes_first(folder: Path) -> None:
    random_bytes = np.random.default_rng(0).bytes
    store = Cache(folder, limit_bytes=10_000)
    for n in range(12):
        store.put("code", str(n), random_bytes(1000))
    for n in range(12):
        day = 1_000_000_000 + 86_400 * n
        os.utime(store._path(f"code-{n}"), (day, day))
    assert Cache(folder).get("code", "0") is not None  # marks it as used just now
    (folder / "00").mkdir(exist_ok=True)
    litter = folder / "00" / "old.unfinished"
    litter.write_bytes(b"")
    os.utime(litter, (0, 0))
    store.trim()
    left = [n for n in range(12) if Cache(folder).get("code", str(n)) is not None]
    assert left == [0, 6, 7, 8, 9, 10, 11]
    assert not litter.exists()


def test_a_folder_below_its_limit_keeps_everything(folder: Path) -> None:
    store = Cache(folder)
    store.put("code", "k", b"data")
    store.trim()
    assert len(entries(folder)) == 1


def test_a_folder_is_walked_after_a_part_of_its_limit(folder: Path) -> None:
    """By whichever process wrote it: in a folder of many entries a walk takes longer than a compilation."""

    def left_after(name: str, size: int) -> int:
        store = Cache(folder, limit_bytes=64 * 1024)
        store.put("code", name, np.random.default_rng(0).bytes(size))
        store.trim()
        return len(entries(folder))

    assert left_after("first", 100_000) == 0, "there was no count yet"
    assert (folder / "written").stat().st_size == 0
    (folder / "00").mkdir(exist_ok=True)
    (folder / "00" / "of another process.entry").write_bytes(bytes(100_000))
    assert [left_after(str(n), 500) for n in range(4)] == [2, 3, 4, 5]
    assert (folder / "written").stat().st_size == 4
    assert stat.S_IMODE((folder / "written").stat().st_mode) == 0o600
    assert left_after("last", 500) == 5, "the oldest is gone"
    (folder / "written").unlink()
    assert left_after("again", 500) == 6


def test_a_walk_survives_files_that_vanish(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process deletes all of them between the list of the names and the look at each."""
    store = Cache(folder, limit_bytes=1000)
    for n in range(4):
        store.put("code", str(n), np.random.default_rng(n).bytes(1000))
    listed = cache_module._files_of(folder)
    first = next(listed)

    def vanish(_: Path) -> list[os.DirEntry[str]]:
        found = [first, *listed]
        shutil.rmtree(folder)
        return found

    monkeypatch.setattr(cache_module, "_files_of", vanish)
    store.trim()
    assert not folder.exists()
