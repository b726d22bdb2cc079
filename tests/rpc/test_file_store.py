"""Files are stored whole or not at all, within the room that there is."""

from __future__ import annotations

import errno
import hashlib
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from webnn_compile.rpc.file_store import FileStore, StoreError


@pytest.fixture
def store() -> Iterator[FileStore]:
    made = FileStore(100)
    yield made
    made.close()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read(store: FileStore, data: bytes) -> bytes | None:
    file = store.open(sha256(data))
    if file is None:
        return None
    with file:
        return file.read()


def names(store: FileStore) -> set[str]:
    return {path.name for path in store.folder.iterdir()}


def fill_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    made = tempfile.NamedTemporaryFile

    def full(*given: Any, **options: Any) -> Any:
        file = made(*given, **options)

        def write(piece: bytes) -> None:
            file.file.write(piece[: len(piece) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")

        file.write = write
        return file

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", full)


def test_a_full_disk_harms_no_stored_file(store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = b"o" * 10, b"n" * 10
    store.put(sha256(old), old)
    fill_disk(monkeypatch)
    for data in (old, new):
        with pytest.raises(StoreError, match="cannot keep the file: No space left"):
            store.put(sha256(data), data)
    assert (read(store, old), read(store, new)) == (old, None)
    assert names(store) == {sha256(old)}


def test_a_file_comes_in_pieces(store: FileStore) -> None:
    uploads = [store.upload(sha256(b"abcd")) for _ in range(2)]
    for piece in (b"ab", b"cd"):
        for upload in uploads:
            upload.write(piece)
    assert read(store, b"abcd") is None
    for upload in uploads:
        upload.finish()
    assert read(store, b"abcd") == b"abcd"
    assert names(store) == {sha256(b"abcd")}


def test_a_file_that_is_not_what_it_is_called(store: FileStore) -> None:
    with pytest.raises(StoreError, match="another sha256"):
        store.put(sha256(b"1"), b"2")
    assert names(store) == set()


def test_the_least_recently_used_file_makes_room(store: FileStore) -> None:
    for data in (b"a" * 40, b"b" * 40):
        store.put(sha256(data), data)
    assert read(store, b"a" * 40)
    store.put(sha256(b"c" * 40), b"c" * 40)
    assert [read(store, c * 40) is not None for c in (b"a", b"b", b"c")] == [True, False, True]


def test_uploads_have_the_room_of_the_store_together(store: FileStore) -> None:
    first, second, later = b"f" * 80, b"s" * 80, b"l" * 80
    left = store.upload(sha256(first))
    left.write(first)
    with pytest.raises(StoreError, match="100 bytes are kept in all"):
        store.put(sha256(second), second)
    left.close()
    assert names(store) == set()
    store.put(sha256(later), later)
    assert read(store, later) == later
