"""Connections to the broker's port, from their first byte on: the limits before a hello, and signs of life."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.protocol import State

from .descriptors import most_sockets
from .limits import Limits

SILENT = 3
"""Pings in a row without any sign of life, after which a connection counts as lost."""


class Connections:
    """All connections of a broker: WebSockets, HTTP, and those of which no request has come. Where there are too many,
    those without an authenticated sender are closed, the oldest first."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.opened: set[Connection] = set()
        self._most = min(limits.sockets, most_sockets())
        self._strangers: dict[Connection, None] = {}  # oldest first
        self._of_address: dict[str, dict[Connection, None]] = {}

    def make(self, *args: Any, **options: Any) -> Connection:
        return Connection(*args, connections=self, **options)

    def add(self, connection: Connection) -> None:
        """Makes room for it: of strangers from its address first."""
        self.opened.add(connection)
        self._strangers[connection] = None
        same = self._of_address.setdefault(connection.network, {})
        same[connection] = None
        if len(same) > self.limits.strangers:
            self._abort(next(iter(same)))
        elif len(self.opened) > self._most:
            self._abort(next(iter(self._strangers)))

    def admit(self, connection: Connection) -> None:
        """It is no stranger any more."""
        self._strangers.pop(connection, None)
        same = self._of_address.get(connection.network, {})
        same.pop(connection, None)
        if not same:
            self._of_address.pop(connection.network, None)

    def remove(self, connection: Connection) -> None:
        self.opened.discard(connection)
        self.admit(connection)

    def abort_http(self) -> None:
        """Ends the connections that are no WebSockets, which a slow reader would keep open."""
        for connection in list(self.opened):
            if connection.state is State.CONNECTING:
                connection.transport.abort()

    def _abort(self, connection: Connection) -> None:
        self.remove(connection)
        connection.transport.abort()


class Connection(ServerConnection):
    """Its request must come in time; the response may take as long as the other side reads."""

    def __init__(self, *args: Any, connections: Connections, **options: Any) -> None:
        super().__init__(*args, **options)
        self._connections = connections
        self._arrived = 0
        self._admitted = False
        self.network = ""

    def admit(self) -> None:
        """Its hello has been accepted, or it requests a file by a secret path: frames of any size may
        come, and no stranger takes its place."""
        self._admitted = True
        self._connections.admit(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._timer = asyncio.get_running_loop().call_later(self._connections.limits.hello, self._require_request)
        self.network = network_of(transport.get_extra_info("peername"))
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.remove(self)
        self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._arrived += len(data)
        if not self._admitted and self._arrived > self._connections.limits.hello_bytes:
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


def network_of(peername: object) -> str:
    """Whose connection it is, by the address of its socket: of IPv6 the first 64 bits, as one site has all others."""
    host = str(peername[0]) if isinstance(peername, tuple) and peername else ""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 6 and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return host
