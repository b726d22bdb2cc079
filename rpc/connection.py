"""Connections to the broker's port, from `accept` on: TLS, the limits before a hello, and keepalive."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import ssl
from collections.abc import Coroutine
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.protocol import State

from .descriptors import most_sockets
from .limits import Limits

SILENT = 3
"""Intervals between pings without a byte from the other side, after which a connection counts as lost."""


TURNS = 10
"""Turns of the event loop for which the end of a broker waits."""


class Connections:
    """All connections of a broker: WebSockets, HTTP, and those before their request or TLS handshake. Where there are
    too many, the unauthenticated ones are closed, the oldest first."""

    def __init__(self, limits: Limits, tls: ssl.SSLContext | None = None) -> None:
        self.limits = limits
        self.tls = tls
        self.opened: set[Connection] = set()
        self._most = min(limits.sockets, most_sockets())
        self._unauthenticated: dict[Connection, None] = {}  # oldest first
        self._of_address: dict[str, dict[Connection, None]] = {}
        self._handshakes: set[asyncio.Task[None]] = set()

    def make(self, *args: Any, **options: Any) -> Connection:
        return Connection(*args, connections=self, **options)

    def add(self, connection: Connection) -> None:
        """Makes room for it: closes unauthenticated connections from its address first."""
        self.opened.add(connection)
        self._unauthenticated[connection] = None
        same = self._of_address.setdefault(connection.network, {})
        same[connection] = None
        if len(same) > self.limits.unauthenticated:
            self._abort(next(iter(same)))
        elif len(self.opened) > self._most:
            self._abort(next(iter(self._unauthenticated)))

    def admit(self, connection: Connection) -> None:
        """Its sender is authenticated."""
        self._unauthenticated.pop(connection, None)
        same = self._of_address.get(connection.network, {})
        same.pop(connection, None)
        if not same:
            self._of_address.pop(connection.network, None)

    def remove(self, connection: Connection) -> None:
        self.opened.discard(connection)
        self.admit(connection)

    def start(self, handshake: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(handshake)
        self._handshakes.add(task)
        task.add_done_callback(self._handshakes.discard)

    async def abort_http(self) -> None:
        """Ends the connections that are no WebSockets, which a slow reader would keep open, and those accepted last:
        from `accept` to `connection_made`, and from `abort` to the end of its tasks, each takes some turns."""
        for _ in range(TURNS):
            for connection in list(self.opened):
                if connection.state is State.CONNECTING:
                    connection.transport.abort()
            await asyncio.sleep(0)
        await asyncio.gather(*self._handshakes)

    def _abort(self, connection: Connection) -> None:
        self.remove(connection)
        connection.transport.abort()


class Connection(ServerConnection):
    """Its request must come in time; the response may take as long as the other side reads. `transport` is the socket's
    until the TLS handshake is done, then that of TLS."""

    def __init__(self, *args: Any, connections: Connections, **options: Any) -> None:
        super().__init__(*args, **options)
        self._connections = connections
        self._arrived = 0
        self._admitted = False
        self._early: bytearray | None = None  # what arrives before the end of `_start_tls`
        self.network = ""

    def admit(self) -> None:
        """Its hello has been accepted, or it requests a file by a secret path: frames of any size may
        come, and no unauthenticated connection takes its place."""
        self._admitted = True
        self._connections.admit(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The broker does TLS itself: asyncio's server calls this after the handshake alone, so that sockets that never
        begin it would count nowhere."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._timer = asyncio.get_running_loop().call_later(self._connections.limits.hello, self._require_request)
        self.network = network_of(transport.get_extra_info("peername"))
        self._connections.add(self)
        if self._connections.tls is None:
            super().connection_made(transport)
        else:
            transport.pause_reading()
            self._early = bytearray()
            self._connections.start(self._start_tls(transport, self._connections.tls))

    async def _start_tls(self, socket: asyncio.Transport, context: ssl.SSLContext) -> None:
        transport = None
        with contextlib.suppress(OSError):  # a failed handshake, or the other side has left
            if not socket.is_closing():
                transport = await asyncio.get_running_loop().start_tls(
                    socket, self, context, server_side=True, ssl_shutdown_timeout=self._connections.limits.stall
                )
        if transport is None or self not in self._connections.opened:
            socket.abort()
            self._end()
            return
        early, self._early = bytes(self._early or b""), None
        super().connection_made(transport)
        if early:
            super().data_received(early)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()
        if self._early is None:
            super().connection_lost(exc)

    def _end(self) -> None:
        self._connections.remove(self)
        self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        self._arrived += len(data)
        if not self._admitted and self._arrived > self._connections.limits.hello_bytes:
            self.transport.abort()
        elif self._early is not None:
            self._early += data
        else:
            super().data_received(data)

    def eof_received(self) -> None:
        if self._early is None:
            super().eof_received()
        else:
            self.transport.abort()

    async def keepalive(self) -> None:
        """In place of the library's, which closes a connection whose pongs wait behind data that the broker
        does not read, since their receiver is slow. Here any byte counts as activity, and none is expected while
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
    """The network that a connection counts for: its address, of IPv6 the first 64 bits, as one site has all others."""
    host = str(peername[0]) if isinstance(peername, tuple) and peername else ""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 6 and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return host
