"""A folder over HTTP: media types, validators, ranges, compression, what is not there, and news of changes."""

from __future__ import annotations

import gzip
import http.client
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from webnn_compile.serve.serve_folder import EVENTS, RELOAD, Folder, serving
from webnn_compile.serve.watch_folder import watching

TEXT = b"export const a = 1;\n" * 200
WEIGHTS = bytes(range(256)) * 40


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "site"
    (root / "bundle").mkdir(parents=True)
    (root / "index.html").write_text("<!doctype html><html><head lang='en'><title>a</title></head></html>")
    (root / "bundle" / "model.js").write_bytes(TEXT)
    (root / "bundle" / "weights-0123456789ab.bin").write_bytes(WEIGHTS)
    (root / "bundle" / "plain-0123456789ab.wasm").write_bytes(b"\0asm")
    (root / "a name.txt").write_text("small")
    (root / "empty.bin").touch()
    (tmp_path / "secret.txt").write_text("secret")
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    return root


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    with serving(Folder(folder), "127.0.0.1", 0) as made:
        yield made


class Answer:
    """The answer to one request."""

    def __init__(self, address: str, path: str, method: str = "GET", **headers: str) -> None:
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=10)
        connection.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
        response = connection.getresponse()
        self.status, self.headers, self.body = response.status, response.headers, response.read()
        connection.close()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/bundle/model.js", "text/javascript; charset=utf-8"),
        ("/bundle/plain-0123456789ab.wasm", "application/wasm"),
        ("/bundle/weights-0123456789ab.bin", "application/octet-stream"),
        ("/a%20name.txt?x=1", "text/plain; charset=utf-8"),
    ],
)
def test_media_types(address: str, path: str, kind: str) -> None:
    answer = Answer(address, path)
    assert (answer.status, answer.headers["Content-Type"]) == (200, kind)
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "Cross-Origin-Embedder-Policy" not in answer.headers
    head = Answer(address, path, "HEAD")
    assert (head.status, head.body, head.headers["Content-Length"]) == (200, b"", str(len(answer.body)))


def test_what_is_compressed_beside_a_file_is_sent(folder: Path, address: str) -> None:
    """Where the browser takes it, whole, and by its own validator; not what is older than the file."""
    (folder / "bundle" / "model.js.br").write_bytes(b"by brotli")
    (folder / "bundle" / "model.js.gz").write_bytes(gzip.compress(TEXT[::-1]))
    (folder / "bundle" / "weights-0123456789ab.bin.gz").write_bytes(gzip.compress(WEIGHTS))
    path = "/bundle/model.js"
    found = Answer(address, path, Accept_Encoding="gzip, deflate, br")
    assert (found.headers["Content-Encoding"], found.body) == ("br", b"by brotli")
    assert found.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert found.headers["Vary"] == "Accept-Encoding"
    assert found.headers["ETag"] != Answer(address, path).headers["ETag"]
    again = Answer(address, path, Accept_Encoding="br", If_None_Match=found.headers["ETag"])
    assert (again.status, again.body) == (304, b"")
    assert gzip.decompress(Answer(address, path, Accept_Encoding="br;q=0, gzip").body) == TEXT[::-1]
    assert Answer(address, path).body == TEXT
    assert Answer(address, path, Accept_Encoding="br", Range="bytes=0-9").body == TEXT[:10]
    weights = Answer(address, "/bundle/weights-0123456789ab.bin", Accept_Encoding="gzip")
    assert gzip.decompress(weights.body) == WEIGHTS
    assert Answer(address, "/bundle/weights-0123456789ab.bin", Accept_Encoding="br").body == WEIGHTS
    os.utime(folder / "bundle" / "model.js.br", (1, 1))
    os.utime(folder / "bundle" / "model.js.gz", (1, 1))
    assert gzip.decompress(Answer(address, path, Accept_Encoding="br, gzip").body) == TEXT


def test_caching(address: str) -> None:
    """Names with a hash are kept for good, others are asked for again, and not sent where they are the same."""
    assert "immutable" in Answer(address, "/bundle/weights-0123456789ab.bin").headers["Cache-Control"]
    first = Answer(address, "/bundle/model.js")
    assert first.headers["Cache-Control"] == "no-cache"
    again = Answer(address, "/bundle/model.js", If_None_Match=f'"other", {first.headers["ETag"]}')
    assert (again.status, again.body) == (304, b"")
    assert Answer(address, "/bundle/model.js", If_None_Match='"other"').body == TEXT


@pytest.mark.parametrize(
    ("given", "status", "begin", "end"),
    [
        ("bytes=0-9", 206, 0, 10),
        ("bytes=100-", 206, 100, None),
        ("bytes=-7", 206, len(WEIGHTS) - 7, None),
        ("bytes=10000-99999999", 206, 10000, None),
        ("bytes=0-", 200, 0, None),
        ("bytes=5-3", 416, 0, 0),
        ("bytes=99999999-", 416, 0, 0),
        ("bytes=-0", 416, 0, 0),
        ("bytes=0-1,4-5", 200, 0, None),
        ("lines=0-1", 200, 0, None),
    ],
)
def test_ranges(address: str, given: str, status: int, begin: int, end: int | None) -> None:
    answer = Answer(address, "/bundle/weights-0123456789ab.bin", Range=given)
    assert answer.status == status
    assert answer.body == WEIGHTS[begin:end]
    if status == 206:
        assert answer.headers["Content-Range"] == f"bytes {begin}-{(end or len(WEIGHTS)) - 1}/{len(WEIGHTS)}"


def test_ranges_of_another_version(address: str) -> None:
    tag = Answer(address, "/bundle/weights-0123456789ab.bin").headers["ETag"]
    path = "/bundle/weights-0123456789ab.bin"
    assert Answer(address, path, Range="bytes=0-9", If_Range=tag).status == 206
    assert Answer(address, path, Range="bytes=0-9", If_Range='"other"').body == WEIGHTS
    assert Answer(address, "/empty.bin", Range="bytes=0-").status == 416
    assert Answer(address, "/empty.bin").body == b""


@pytest.mark.parametrize(
    ("path", "accepted", "packed"),
    [
        ("/bundle/model.js", "br, gzip;q=0.8", True),
        ("/bundle/model.js", "*", True),
        ("/bundle/model.js", "gzip;q=0", False),
        ("/bundle/model.js", "br", False),
        ("/bundle/weights-0123456789ab.bin", "gzip", False),
        ("/a%20name.txt", "gzip", False),
    ],
)
def test_compression(address: str, path: str, accepted: str, packed: bool) -> None:
    """Texts that are not small are, where the browser takes it."""
    plain, answer = Answer(address, path), Answer(address, path, Accept_Encoding=accepted)
    assert answer.headers.get("Content-Encoding") == ("gzip" if packed else None)
    assert (gzip.decompress(answer.body) if packed else answer.body) == plain.body
    if packed:
        assert answer.headers["Vary"] == "Accept-Encoding"
        assert answer.headers["ETag"] != plain.headers["ETag"]


@pytest.mark.parametrize(
    "path",
    [
        "/none.js",
        "/../secret.txt",
        "/bundle/../../secret.txt",
        "/%2e%2e/secret.txt",
        "/link.txt",
        "/%00",
        "//etc/passwd",
    ],
)
def test_what_is_not_there(address: str, path: str) -> None:
    """Nothing above the folder is, whatever leads there."""
    answer = Answer(address, path)
    assert answer.status == 404
    assert answer.body.endswith(b" is not in the folder that webnn-serve serves\n")


def test_folders(address: str) -> None:
    answer = Answer(address, "/bundle")
    assert (answer.status, answer.headers["Location"]) == (301, "/bundle/")
    assert Answer(address, "/bundle/").status == 404
    assert Answer(address, "/", "POST").status == 501


def test_isolated_pages(folder: Path) -> None:
    with serving(Folder(folder, isolated=True), "127.0.0.1", 0) as address:
        headers = Answer(address, "/bundle/model.js").headers
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert headers["Cross-Origin-Embedder-Policy"] == "require-corp"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"


def test_pages_hear_of_changes(folder: Path) -> None:
    with watching(folder, period=0.05) as changes, serving(Folder(folder, changes=changes), "127.0.0.1", 0) as address:
        page = Answer(address, "/").body
        assert page.startswith(b'<!doctype html><html><head lang=\'en\'><script type="module" src="' + RELOAD.encode())
        assert b"EventSource" in Answer(address, RELOAD).body
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=20)
        connection.request("GET", EVENTS)
        stream = connection.getresponse()
        assert stream.headers["Content-Type"] == "text/event-stream"
        (folder / "bundle" / "model.js").write_text("other")
        assert stream.readline() == b"data: changed\n"
        connection.close()
        assert Answer(address, "/bundle/model.js").body == b"other"


def test_a_change_counts_once(folder: Path) -> None:
    """However many files it is of: when all is quiet."""
    with watching(folder, period=0.8) as changes:
        for i in range(5):
            (folder / f"{i}.bin").write_bytes(b"x")
        assert changes.count == 0
        assert changes.wait(0, 20) == 1
        (folder / "0.bin").unlink()
        assert changes.wait(1, 20) == 2
    assert changes.ended
