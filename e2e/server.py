"""A loopback HTTP server for one folder, with the headers and the faults that a test asks for.

Also for scripts: `with serve(folder, port=8000) as site: print(site.url)`.
"""

from __future__ import annotations

import contextlib
import fnmatch
import http.server
import mimetypes
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

Fault = Literal[
    "truncate",
    "extend",
    "alter",
    "html",
    "missing",
    "refuse",
    "break",
    "break once",
    "wait",
    "silent",
    "empty",
    "none",
    "swap",
    "type",
]
PIECE = 8192
"""Bytes that pass a line at once."""

BURST = 0.1
"""Seconds that a line may make up for where this process had to wait for a processor."""

STRICT_CSP = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'"
ISOLATION = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}
_TYPES = {".js": "text/javascript", ".wasm": "application/wasm", ".bin": "application/octet-stream"}
_HTML = b"<!DOCTYPE html>\n<html><body><h1>My app</h1></body></html>\n"


@dataclass
class Site:
    """A site and its state. `faults` (pattern of the file name -> fault) may change at any time; `requests` are the
    paths."""

    url: str
    faults: dict[str, Fault] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    release: threading.Event = field(default_factory=threading.Event)
    """Ends every "wait", which holds an answer back in the middle of its body, and "silent", which does before it."""
    ranges: bool = False
    """Whether the rest of a file can be asked for."""
    line: Line | None = None
    """The line that bodies pass, if any."""
    compressed: bool = False
    """Whether the file `name.gz` is sent in place of `name` where it is there."""
    sent: dict[str, tuple[int, float]] = field(default_factory=dict)
    """By path: bytes of bodies sent so far, and the time (`time.time()`) of the last of them."""


class Line:
    """A line of so many bits per second, which all answers share."""

    def __init__(self, bits_per_second: float) -> None:
        self._seconds_per_byte = 8 / bits_per_second
        self._free = 0.0
        self._lock = threading.Lock()

    def take(self, size: int) -> None:
        """Waits until so many bytes have passed."""
        with self._lock:
            self._free = max(self._free, time.monotonic() - BURST) + size * self._seconds_per_byte
            left = self._free - time.monotonic()
        time.sleep(max(0.0, left))


@contextlib.contextmanager
def serve(
    folder: Path, port: int = 0, *, host: str = "127.0.0.1", prefix: str = "", headers: Mapping[str, str] | None = None
) -> Iterator[Site]:
    """Serve `folder` below `/prefix/` until the block ends; port 0 takes a free one, which `Site.url` names."""
    base = f"/{prefix.strip('/')}/".replace("//", "/")
    handler = type("Handler", (_Handler,), {"folder": folder.resolve(), "base": base, "extra": dict(headers or {})})
    server = _Server((host, port), handler)
    server.daemon_threads = True
    site = Site(f"http://{host}:{server.server_address[1]}{base}")
    handler.site = site  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        site.release.set()
        server.shutdown()
        server.server_close()


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A page that leaves closes its connections, which is no error."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else every small file takes 40 ms
    folder: Path
    base: str
    extra: Mapping[str, str]
    site: Site

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.site.requests.append(path)
        file = (self.folder / path.removeprefix(self.base)).resolve() if path.startswith(self.base) else None
        if file is not None and file.is_dir():
            file = file / "index.html"
        fault = next(
            (fault for pattern, fault in self.site.faults.items() if fnmatch.fnmatch(path, f"*{pattern}")), None
        )
        if fault == "refuse":
            self.close_connection = True
            return None
        if fault == "silent":
            self.site.release.wait(60)
        if fault == "none":
            self.send_response(204)
            return self.end_headers()
        if fault == "html":
            return self._answer(200, "text/html", _HTML)
        if file is None or not file.is_relative_to(self.folder) or not file.is_file() or fault == "missing":
            return self._answer(404, "text/plain", b"not found\n")
        body = file.read_bytes()
        type_ = _TYPES.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        match fault:
            case "truncate":
                body = body[: len(body) // 2]
            case "extend":
                body += b"\0"
            case "empty":
                body = b""
            case "alter":
                body = bytes([body[0] ^ 1]) + body[1:]
            case "swap":
                files = sorted(file.parent.iterdir())
                body = files[files.index(file) - 1].read_bytes()
            case "type":
                type_ = "text/plain"
            case _:
                pass
        if fault == "break once":
            self.site.faults = {k: v for k, v in self.site.faults.items() if v != "break once"}
        start = int(self.headers.get("Range", "bytes=0-")[6:-1]) if self.site.ranges else 0
        partial = fault if fault in ("break", "break once", "wait") else None
        packed = file.with_name(f"{file.name}.gz")
        if self.site.compressed and packed.is_file() and not start:
            return self._answer(200, type_, packed.read_bytes(), partial, encoding="gzip")
        return self._answer(206 if start else 200, type_, body, partial, start)

    def _answer(
        self, status: int, type_: str, body: bytes, fault: str | None = None, start: int = 0, encoding: str = ""
    ) -> None:
        self.send_response(status)
        if encoding:
            self.send_header("Content-Encoding", encoding)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            body = body[start:]
        self.send_header("Content-Type", type_)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        for name, value in self.extra.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        half = len(body) // 2 if fault else len(body)
        with contextlib.suppress(ConnectionError):
            self._send(body[:half])
            if fault == "wait":
                self.site.release.wait(30)
            if fault == "break once":
                time.sleep(0.3)  # browsers drop what they have not handed over when a connection ends
            if fault in ("break", "break once"):
                self.close_connection = True
            else:
                self._send(body[half:])

    def _send(self, body: bytes) -> None:
        site, path = self.site, unquote(urlsplit(self.path).path)
        step = PIECE if site.line else max(1, len(body))
        for at in range(0, len(body), step):
            piece = body[at : at + step]
            if site.line:
                site.line.take(len(piece))
            site.sent[path] = (site.sent.get(path, (0, 0.0))[0] + len(piece), time.time())
            self.wfile.write(piece)
            self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        pass
