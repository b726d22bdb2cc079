"""What the broker answers to HTTP: the device page, the runtime, and stored files."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from urllib.parse import urlsplit

from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

SOCKET = "/socket"
"""The path of WebSocket connections."""

_TYPES = {".js": "text/javascript", ".wasm": "application/wasm", ".json": "application/json", ".svg": "image/svg+xml"}
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; "
        "img-src 'self'; connect-src 'self' ws: wss:"
    ),
    # Shared memory, and so threads, are for isolated pages.
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class Pages:
    """`static` are the files of the page by path, "/" among them; `find` gives a stored file by its hash, below
    `files_path`, which is part of the reply to a hello. Sockets are opened by pages of `origins` (and of the
    broker itself), and by programs, which send no Origin."""

    def __init__(
        self,
        static: Mapping[str, bytes],
        find: Callable[[str], bytes | None],
        secret: str,
        origins: Sequence[str] = (),
    ) -> None:
        self.files_path = f"/files/{secret}/"
        self._static = static
        self._find = find
        self._origins = frozenset(o.rstrip("/") for o in origins)

    def answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """The response, None to go on with a WebSocket."""
        path = urlsplit(request.path).path
        origin = request.headers.get("Origin")
        if path == SOCKET:
            return None if self._trusted(origin, request) else _plain(HTTPStatus.FORBIDDEN, _REFUSED.format(origin))
        if path.startswith(self.files_path):
            data = self._find(path.removeprefix(self.files_path))
            if data is not None:
                return self._response(path, data, "public, max-age=31536000, immutable", origin)
        elif path in self._static:
            return self._response(path, self._static[path], "no-cache", origin)
        return _plain(HTTPStatus.NOT_FOUND, "There is no such file.\n")

    def _trusted(self, origin: str | None, request: Request) -> bool:
        """The broker's own pages have the requested host as origin."""
        if origin is None or origin in self._origins:
            return True
        return urlsplit(origin).netloc == request.headers.get("Host")

    def _response(self, path: str, data: bytes, caching: str, origin: str | None) -> Response:
        name = path if "." in path else "index.html" if path == "/" else ""
        kind = next((t for suffix, t in _TYPES.items() if name.endswith(suffix)), None)
        kind = kind or mimetypes.guess_type(name)[0] or "application/octet-stream"
        headers = Headers(_HEADERS)
        headers.update({"Content-Type": kind, "Content-Length": str(len(data)), "Cache-Control": caching})
        if origin in self._origins:
            headers.update({"Access-Control-Allow-Origin": origin, "Vary": "Origin"})
        headers["Connection"] = "close"
        return Response(HTTPStatus.OK, "OK", headers, data)


_REFUSED = "Pages of {} may not use this broker: allow them by --allow-origin.\n"


def _plain(status: HTTPStatus, text: str) -> Response:
    data = text.encode()
    headers = Headers({"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(data))})
    headers["Connection"] = "close"
    return Response(status, status.phrase, headers, data)
