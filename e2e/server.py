"""A loopback HTTP server for one folder, with the headers and the faults that a test asks for.

Also for scripts: `with serve(folder, port=8000) as site: print(site.url)`.
"""

from __future__ import annotations

import contextlib
import fnmatch
import http.server
import mimetypes
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

Fault = Literal[
    "truncate",
    "extend",
    "alter",
    "html",
    "missing",
    "refuse",
    "break",
    "wait",
    "silent",
    "empty",
    "none",
    "swap",
    "type",
]
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


@contextlib.contextmanager
def serve(
    folder: Path, port: int = 0, *, host: str = "127.0.0.1", prefix: str = "", headers: Mapping[str, str] | None = None
) -> Iterator[Site]:
    """Serve `folder` below `/prefix/` until the block ends; port 0 takes a free one, which `Site.url` names."""
    base = f"/{prefix.strip('/')}/".replace("//", "/")
    handler = type("Handler", (_Handler,), {"folder": folder.resolve(), "base": base, "extra": dict(headers or {})})
    server = http.server.ThreadingHTTPServer((host, port), handler)
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
        return self._answer(200, type_, body, fault if fault in ("break", "wait") else None)

    def _answer(self, status: int, type_: str, body: bytes, fault: str | None = None) -> None:
        self.send_response(status)
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
            self.wfile.write(body[:half])
            self.wfile.flush()
            if fault == "wait":
                self.site.release.wait(30)
            if fault == "break":
                self.close_connection = True
            else:
                self.wfile.write(body[half:])

    def log_message(self, format: str, *args: object) -> None:
        pass
