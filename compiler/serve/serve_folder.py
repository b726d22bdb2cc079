"""A server of a folder's files: for a look at a bundle, and for pages while they are written.

By HTTP (RFC 9110): media types that browsers insist on, validators, ranges of bytes, gzip. Pages that are open hear of
changes by server-sent events.
"""

from __future__ import annotations

import gzip
import mimetypes
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import AF_INET6
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from .watch_folder import Changes

TYPES = {
    ".bin": "application/octet-stream",
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
    ".md": "text/markdown",
    ".mjs": "text/javascript",
    ".onnx": "application/octet-stream",
    ".svg": "image/svg+xml",
    ".ts": "text/plain",
    ".txt": "text/plain",
    ".wasm": "application/wasm",
    ".webp": "image/webp",
}
"""Media types by suffix, whatever the system's own table says."""

TEXTS = re.compile(r"text/|application/(?:json|wasm|javascript|xml)|image/svg")
"""Media types that shrink."""

LEAST_COMPRESSED, MOST_COMPRESSED = 1 << 10, 1 << 22
"""Bytes of files that are compressed."""

HASHED = re.compile(r"-[0-9a-f]{12}\.[a-z]+$")
"""Names that carry a hash of the content: a browser need not ask for them again."""

_ENCODED = re.compile(r'-(?:br|gzip)"')
"""End of the validator of a compressed file."""

RELOAD = "/.webnn-serve/reload.js"
EVENTS = "/.webnn-serve/changes"
SCRIPT = f"""new EventSource('{EVENTS}').onmessage = () => location.reload();
"""

CODINGS = {".br": "br", ".gz": "gzip"}
"""Codings of HTTP by the suffixes of files that are compressed already, the smallest first."""

ISOLATED = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}

SILENCE = 15.0
"""Seconds after which a stream of events says that it is alive."""

PIECE = 1 << 18


@dataclass(frozen=True, slots=True)
class Folder:
    """Files below `root`, for pages that are cross-origin `isolated`, and load anew when a file changes where
    `changes` are watched."""

    root: Path
    isolated: bool = False
    changes: Changes | None = None


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], folder: Folder) -> None:
        self.folder = folder
        if ":" in address[0]:
            self.address_family = AF_INET6
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing: a browser that goes away is no error."""


@contextmanager
def serving(folder: Folder, host: str, port: int) -> Iterator[str]:
    """Serves until the block ends; the address of the root. Raises OSError where the port is taken."""
    server = _Server((host, port), folder)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        yield f"http://{f'[{host}]' if ':' in host else host}:{server.server_address[1]}/"
    finally:
        if folder.changes is not None:
            folder.changes.end()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "webnn-serve"
    sys_version = ""
    server: _Server

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: browsers show requests."""

    def _answer(self, *, body: bool) -> None:
        path = unquote(urlsplit(self.path).path)
        if path == RELOAD and self.server.folder.changes is not None:
            self._send(SCRIPT.encode(), "text/javascript", body=body)
        elif path == EVENTS and self.server.folder.changes is not None:
            self._stream(self.server.folder.changes, body=body)
        else:
            self._send_path(path, body=body)

    def _send_path(self, path: str, *, body: bool) -> None:
        root = self.server.folder.root.resolve()
        file = Path(f"{root}{path}").resolve() if "\0" not in path else root / "none"
        if not (file == root or root in file.parents):
            file = root / "none"  # above the folder
        if file.is_dir():
            if not path.endswith("/"):
                self._head(HTTPStatus.MOVED_PERMANENTLY, {"Location": quote(f"{path}/"), "Content-Length": "0"})
                return
            file = file / "index.html"
        if not file.is_file():
            what = f"{path} is not in the folder that webnn-serve serves\n"
            self._send(what.encode(), "text/plain", status=HTTPStatus.NOT_FOUND, body=body)
            return
        self._send_file(file, body=body)

    def _send_file(self, file: Path, *, body: bool) -> None:
        facts = file.stat()
        kind = TYPES.get(file.suffix.lower()) or mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        page = kind == "text/html" and self.server.folder.changes is not None
        tag = f'"{facts.st_mtime_ns:x}-{facts.st_size:x}{"-r" if page else ""}"'
        forever = HASHED.search(file.name) is not None
        headers = {
            "ETag": tag,
            "Last-Modified": self.date_time_string(facts.st_mtime),
            "Cache-Control": "max-age=31536000, immutable" if forever else "no-cache",
            "Accept-Ranges": "none" if page else "bytes",
        }
        if tag in _ENCODED.sub('"', self.headers.get("If-None-Match", "")).replace(" ", "").split(","):
            self._head(HTTPStatus.NOT_MODIFIED, headers)
            return
        if page:
            self._send(_reloading(file.read_bytes()), kind, headers, body=body)
            return
        wanted = self._range(facts.st_size, tag)
        if wanted is None:
            self._head(
                HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
                {"Content-Range": f"bytes */{facts.st_size}", "Content-Length": "0"},
            )
            return
        begin, end = wanted
        whole = (begin, end) == (0, facts.st_size)
        small = LEAST_COMPRESSED <= facts.st_size <= MOST_COMPRESSED and TEXTS.match(kind) is not None
        beside = _compressed_beside(file, facts.st_mtime_ns)
        if whole and (small or beside):
            headers["Vary"] = "Accept-Encoding"
            accepted = "" if "Range" in self.headers else self.headers.get("Accept-Encoding", "")
            coding = next((c for c in beside if _takes(accepted, c)), "gzip" if small else "")
            if coding and _takes(accepted, coding):
                ready = beside.get(coding)
                packed = ready.read_bytes() if ready else _packed(file, facts.st_mtime_ns, facts.st_size)
                headers |= {"Content-Encoding": coding, "ETag": f'{tag[:-1]}-{coding}"'}
                self._send(packed, kind, headers, body=body)
                return
        status = HTTPStatus.OK if "Range" not in self.headers or whole else HTTPStatus.PARTIAL_CONTENT
        if status == HTTPStatus.PARTIAL_CONTENT:
            headers["Content-Range"] = f"bytes {begin}-{end - 1}/{facts.st_size}"
        self._head(status, {**headers, "Content-Type": _with_charset(kind), "Content-Length": str(end - begin)})
        if body:
            with file.open("rb") as opened:
                opened.seek(begin)
                while begin < end and (piece := opened.read(min(PIECE, end - begin))):
                    self.wfile.write(piece)
                    begin += len(piece)

    def _range(self, size: int, tag: str) -> tuple[int, int] | None:
        """The bytes that are asked for, from the first to behind the last: all, or one range; None where there are
        none of it."""
        given = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if given is None or given[0] == "bytes=-" or self.headers.get("If-Range", tag) != tag:
            return 0, size
        if not given[1]:
            return (max(size - int(given[2]), 0), size) if int(given[2]) and size else None
        begin = int(given[1])
        end = min(int(given[2]) + 1, size) if given[2] else size
        return (begin, end) if begin < end else None

    def _send(
        self,
        data: bytes,
        kind: str,
        headers: dict[str, str] | None = None,
        *,
        status: HTTPStatus = HTTPStatus.OK,
        body: bool,
    ) -> None:
        own = {"Content-Type": _with_charset(kind), "Content-Length": str(len(data))}
        self._head(status, {"Cache-Control": "no-cache", **(headers or {}), **own})
        if body:
            self.wfile.write(data)

    def _head(self, status: HTTPStatus, headers: dict[str, str]) -> None:
        self.send_response(status)
        isolated = {**ISOLATED, "Cross-Origin-Resource-Policy": "same-origin"} if self.server.folder.isolated else {}
        for name, value in {**headers, **isolated, "X-Content-Type-Options": "nosniff"}.items():
            self.send_header(name, value)
        self.end_headers()

    def _stream(self, changes: Changes, *, body: bool) -> None:
        """Events until the page goes away."""
        self.close_connection = True
        self._head(HTTPStatus.OK, {"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        seen = changes.count
        while body and not changes.ended:
            count = changes.wait(seen, SILENCE)
            self.wfile.write(b"data: changed\n\n" if count != seen else b": alive\n\n")
            self.wfile.flush()
            seen = count


def _takes(accepted: str, coding: str) -> bool:
    """Whether a header Accept-Encoding has a coding, and not with the weight 0."""
    parts = (part.partition(";") for part in accepted.lower().split(","))
    return any(name.strip() in (coding, "*") and not re.search(r"q=0(\.0*)?$", rest.strip()) for name, _, rest in parts)


def _compressed_beside(file: Path, changed: int) -> dict[str, Path]:
    """Files beside one that are it in a coding, by the coding: not those that are older."""
    found = {coding: file.with_name(file.name + suffix) for suffix, coding in CODINGS.items()}
    return {coding: p for coding, p in found.items() if p.is_file() and p.stat().st_mtime_ns >= changed}


def _with_charset(kind: str) -> str:
    return f"{kind}; charset=utf-8" if kind.startswith("text/") and kind != "text/event-stream" else kind


@lru_cache(maxsize=64)
def _packed(file: Path, changed: int, size: int) -> bytes:
    """A file of this time and size, compressed."""
    return gzip.compress(file.read_bytes(), compresslevel=6, mtime=0)


def _reloading(page: bytes) -> bytes:
    """A page with the script that loads it anew, as the first of its head, or of all."""
    script = f'<script type="module" src="{RELOAD}"></script>'.encode()
    head = re.search(rb"<head[^>]*>", page, re.IGNORECASE)
    at = head.end() if head else 0
    return page[:at] + script + page[at:]
