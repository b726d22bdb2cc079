"""Connections to the broker's port, from their first byte on: the limits before a hello, and signs of life."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.protocol import State

from .limits import Limits

SILENT = 3
"""Pings in a row without any sign of life, after which a connection counts as lost."""


class Connections:
    """All connections of a broker: WebSockets, HTTP, and those of which no request has come."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.opened: set[Connection] = set()

    def make(self, *args: Any, **options: Any) -> Connection:
        return Connection(*args, connections=self, **options)

    def abort_http(self) -> None:
        """Ends the connections that are no WebSockets, which a slow reader would keep open."""
        for connection in list(self.opened):
            if connection.state is State.CONNECTING:
                connection.transport.abort()


class Connection(ServerConnection):
    """Its request must come in time; the response may take as long as the other side reads."""

    def __init__(self, *args: Any, connections: Connections, **options: Any) -> None:
        super().__init__(*args, **options)
        self._connections = connections
        self._arrived = 0
        self._joined = False

    def joined(self) -> None:
        """The hello has been accepted: from now on, frames of any size may come."""
        self._joined = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        limits, opened = self._connections.limits, self._connections.opened
        self._timer = asyncio.get_running_loop().call_later(limits.hello, self._require_request)
        opened.add(self)
        if len(opened) > limits.sockets:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.opened.discard(self)
        self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._arrived += len(data)
        if not self._joined and self._arrived > self._connections.limits.hello_bytes:
            self.transport.abort()
            return
        super().data_received(data)

    async def keepalive(self) -> None:
        """In place of the library's, which takes a connection for lost where pongs wait behind data that the broker
        does not read, since their receiver is slow. Here any byte is a sign of life, and none is expected while
        reading is paused."""
        interval, silent = self._connections.limits.ping, 0
        with contextlib.suppress(ConnectionClosed):
            while silent < SILENT:
                arrived = self._arrived
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(interval):
                        await self.ping()  # waits while the other side's buffers are full
                        await asyncio.Event().wait()
                alive = self._arrived != arrived or not self.transport.is_reading()
                silent = 0 if alive else silent + 1
            self.transport.abort()

    def _require_request(self) -> None:
        if self.request is None:
            self.transport.abort()
