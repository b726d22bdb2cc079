"""The broker's answers to HTTP: the device page, the runtime, and stored files."""

from __future__ import annotations

import asyncio
import io
import mimetypes
import os
from collections.abc import Callable, Collection, Mapping
from http import HTTPStatus
from typing import BinaryIO
from urllib.parse import urlsplit

from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers, MultipleValuesError
from websockets.http11 import Request, Response

from .connection import Connection
from .origins import is_address

SOCKET = "/socket"
"""The path of WebSocket connections."""

PIECE = 2**18
"""Bytes of a file that are written at once. Over TLS one piece may still wait in this process when all is written."""

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


class _Sent(Response):
    """A response that has been written already."""

    def serialize(self) -> bytes:
        return b""


class Pages:
    """`static` are the files of the page by path, "/" among them; `find` opens a stored file by its hash, below
    `files_path`, which is part of the reply to a hello. Sockets are opened by pages of `origins`, by the broker's own,
    whose host is an address or one of `hosts`, and by programs, which send no Origin. A response of which nothing is
    read for `stall` seconds ends."""

    def __init__(
        self,
        static: Mapping[str, bytes],
        find: Callable[[str], BinaryIO | None],
        secret: str,
        hosts: Collection[str] = (),
        origins: Collection[str] = (),
        stall: float = 60,
    ) -> None:
        self.files_path = f"/files/{secret}/"
        self._static = static
        self._find = find
        self._stall = stall
        self._hosts = frozenset(h.lower() for h in (*hosts, "localhost"))
        self._origins = frozenset(origins)

    async def answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """The response, None to go on with a WebSocket."""
        status, headers, file = self._find_response(request)
        if status is HTTPStatus.SWITCHING_PROTOCOLS:
            return None
        if isinstance(connection, Connection) and request.path.startswith(self.files_path):
            connection.admit()
        with file:
            body = io.BytesIO() if _method(request) == "HEAD" else file
            return await _send(connection, Response(status, status.phrase, headers), body, self._stall)

    def _find_response(self, request: Request) -> tuple[HTTPStatus, Headers, BinaryIO]:
        try:
            path = urlsplit(request.path).path
        except ValueError:
            return _plain(HTTPStatus.BAD_REQUEST, "This is no path.\n")
        try:
            origin, host = request.headers.get("Origin"), request.headers.get("Host", "")
        except MultipleValuesError as error:  # a proxy in front may have looked at another one
            return _plain(HTTPStatus.BAD_REQUEST, f"There are several headers {error}.\n")
        methods = ("GET",) if path == SOCKET else ("GET", "HEAD")
        if _method(request) not in methods:
            allowed = ", ".join(methods)
            return _plain(HTTPStatus.METHOD_NOT_ALLOWED, f"Methods of this path: {allowed}.\n", Allow=allowed)
        if path == SOCKET:
            if self._trusted(origin, host):
                return HTTPStatus.SWITCHING_PROTOCOLS, Headers(), io.BytesIO()
            return _plain(HTTPStatus.FORBIDDEN, _REFUSED.format(origin))
        if path.startswith(self.files_path):
            file = self._find(path.removeprefix(self.files_path))
            if file is not None:
                size = os.fstat(file.fileno()).st_size
                return HTTPStatus.OK, self._headers(path, size, "public, max-age=31536000, immutable", origin), file
        elif path in self._static:
            data = self._static[path]
            return HTTPStatus.OK, self._headers(path, len(data), "no-cache", origin), io.BytesIO(data)
        return _plain(HTTPStatus.NOT_FOUND, "There is no such file.\n")

    def _trusted(self, origin: str | None, host: str) -> bool:
        """The broker's own pages have the requested host as origin. That host is checked, too: with DNS rebinding, a
        page of another site has its own name as both."""
        if origin is None or origin in self._origins:
            return True
        try:
            name = urlsplit(f"//{host}").hostname or ""
            return urlsplit(origin).netloc == host and (name.lower() in self._hosts or is_address(name))
        except ValueError:
            return False

    def _headers(self, path: str, size: int, caching: str, origin: str | None) -> Headers:
        name = path if "." in path else "index.html" if path == "/" else ""
        kind = next((t for suffix, t in _TYPES.items() if name.endswith(suffix)), None)
        kind = kind or mimetypes.guess_type(name)[0] or "application/octet-stream"
        headers = Headers(_HEADERS)
        headers.update({"Content-Type": kind, "Content-Length": str(size), "Cache-Control": caching})
        if origin in self._origins:
            headers.update({"Access-Control-Allow-Origin": origin, "Vary": "Origin"})
        headers["Connection"] = "close"
        return headers


async def _send(connection: ServerConnection, head: Response, file: BinaryIO, stall: float) -> Response:
    """Writes the file as fast as the other side reads it, and no faster, so that it takes little memory."""
    transport = connection.transport
    # `drain` then waits until all is written, and over TLS until all but one piece is. A limit of 0 would be reached by
    # an empty buffer: TLS's transport then counts as full for good.
    transport.set_write_buffer_limits(high=1, low=0)
    connection.close_timeout = stall  # for what the other side has not read yet
    piece = head.serialize()
    try:
        while piece and not transport.is_closing():
            transport.write(piece)
            await asyncio.wait_for(connection.drain(), stall)
            piece = file.read(PIECE)
    # The other side is gone or reads no more; or it has sent more than a request, after which nothing can be written.
    except (OSError, TimeoutError, RuntimeError):
        transport.abort()
        await connection.wait_closed()
    return _Sent(head.status_code, head.reason_phrase, head.headers)


def _method(request: Request) -> str:
    """Versions of `websockets` without it refuse all but GET themselves."""
    return getattr(request, "method", "GET")


_REFUSED = "Pages of {} may not use this broker: allow them by --allow-origin.\n"


def _plain(status: HTTPStatus, text: str, **more: str) -> tuple[HTTPStatus, Headers, BinaryIO]:
    data = text.encode()
    headers = Headers({"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(data))})
    headers.update({"Connection": "close", **more})
    return status, headers, io.BytesIO(data)
