"""The broker: devices (browser tabs) and clients (Python) join it by WebSocket; it leases devices and relays calls.

PROTOCOL.md describes the messages; `pages` answers HTTP on the same port.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ssl
import time
from collections.abc import AsyncIterator, Callable

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from .client_side import ClientSide
from .connection import Connection, Connections
from .file_store import FileStore
from .leases import Device, Lease, Leases
from .limits import Limits
from .messages import LARGEST_FRAME, REFUSED, TOO_MANY, VERSION, Assembler, Header, ProtocolError, join_frame
from .pages import Pages
from .peer import Peer
from .publish import Publisher
from .relay import DeviceSide
from .serving import ServedModel

CLOSE_REASON = 123
"""Bytes of UTF-8 that WebSocket allows for the reason with which a connection is closed."""

LARGEST_FACTS = 2**15
"""Bytes of a device's facts as JSON: those of all devices travel in one header."""

DEEPEST_FACTS = 16
"""Levels of objects and lists in them."""


class Broker:
    """Keeps files, the names of devices and messages in transit, and nothing else."""

    def __init__(
        self,
        token: str,
        pages: Pages,
        files: FileStore,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.monotonic,
        model: ServedModel | None = None,
    ) -> None:
        """`model` is compiled for pages that subscribe to it."""
        self._token = token.encode()
        self._pages = pages
        self._files = files
        self._limits = limits or Limits()
        self._clock = clock
        self._leases = Leases(clock, self._lease_ended)
        self._sides: dict[Device, DeviceSide] = {}
        self._joined = 0
        self._publisher = Publisher(model, files, pages.files_path)

    @contextlib.asynccontextmanager
    async def listen(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
        """Serves until the block ends. Raises OSError where the address is taken."""
        limits = self._limits
        connections = Connections(limits, tls)
        async with serve(
            self._handle,
            host,
            port,
            process_request=self._pages.answer,
            create_connection=connections.make,  # type: ignore[arg-type]
            open_timeout=None,  # which would end a slow download of a file
            compression=None,  # weights and tensors do not shrink, and it takes time
            max_size=LARGEST_FRAME,
            max_queue=4,
            ping_interval=limits.ping,
            ping_timeout=limits.ping,
            close_timeout=limits.close,
        ) as server:
            watches = [asyncio.create_task(self._end_idle_leases()), asyncio.create_task(self._publisher.watch())]
            try:
                yield server
            finally:
                for watch in watches:
                    watch.cancel()
                await _accept_no_more(server)
                server.close()
                await connections.abort_http()

    async def _handle(self, connection: ServerConnection) -> None:
        assert isinstance(connection, Connection)
        try:
            header = await self._receive_hello(connection)
            if header is not None:
                await self._serve(connection, header)
        except ProtocolError as error:
            await connection.close(error.code, str(error).encode()[:CLOSE_REASON].decode(errors="ignore"))
        except ConnectionClosed:
            pass

    async def _receive_hello(self, connection: Connection) -> Header | None:
        """None where the connection was refused, as it has no token. Raises ProtocolError."""
        try:
            frame = await asyncio.wait_for(connection.recv(), self._limits.hello)
        except TimeoutError:
            raise ProtocolError("no hello came") from None
        hello = Assembler(0).feed(frame)
        if hello is None or hello.header.get("op") != "hello":
            raise ProtocolError("the first message is no hello")
        header = hello.header
        if header.get("version") != VERSION:
            raise ProtocolError(f"version {header.get('version')!r} of the protocol, the broker has {VERSION}")
        token = header.get("token")
        if not isinstance(token, str) or not hmac.compare_digest(token.encode(), self._token):
            await asyncio.sleep(self._limits.wrong_token)
            await connection.close(REFUSED, "the token is wrong: take the address that the broker prints")
            return None
        connection.admit()
        return header

    async def _serve(self, connection: Connection, header: Header) -> None:
        if self._joined >= self._limits.connections:
            raise ProtocolError(f"the broker has {self._joined} connections already", TOO_MANY)
        peer = Peer(connection)
        self._joined += 1
        try:
            match header.get("role"):
                case "device":
                    await self._serve_device(peer, header)
                case "client":
                    await self._serve_client(peer, header)
                case "page":
                    await self._publisher.serve(peer, header, self._frames(peer))
                case role:
                    raise ProtocolError(f"the role {role!r} is none of device, client and page")
        finally:
            self._joined -= 1
            for task in peer.tasks:
                task.cancel()

    def _frames(self, peer: Peer) -> AsyncIterator[tuple[Header, memoryview]]:
        return peer.frames(self._limits.frames_per_second, self._clock)

    # Devices

    async def _serve_device(self, peer: Peer, hello: Header) -> None:
        name, backends, facts, tab = (hello.get(key) for key in ("name", "backends", "facts", "tab"))
        if not isinstance(name, str) or not isinstance(backends, list) or not isinstance(facts, dict):
            raise ProtocolError("a device's hello lacks name, backends or facts")
        if not _is_shallow(facts, DEEPEST_FACTS) or len(join_frame(facts, b"")) > LARGEST_FACTS:
            raise ProtocolError(f"a device's facts have {LARGEST_FACTS} bytes at most, in {DEEPEST_FACTS} levels")
        for lost, of_same_tab in list(self._sides.items()):
            if tab is not None and of_same_tab.tab == tab:
                self._leave(lost)
                of_same_tab.peer.connection.transport.abort()
        device = Device(name[:80], tuple(str(b)[:80] for b in backends[:8]), facts)
        side = self._sides[device] = DeviceSide(peer, tab)
        self._leases.join(device)
        try:
            await peer.send({"re": hello.get("id"), "name": device.name, "files": self._pages.files_path})
            async for header, payload in self._frames(peer):
                await side.relay_reply(header, payload)
        finally:
            self._leave(device)

    def _leave(self, device: Device) -> None:
        """Its connection has ended, or counts as lost since its tab has opened another."""
        side = self._sides.pop(device, None)
        if side is not None:
            side.fail_all("gone", f"device {device.name} is gone")
            self._leases.leave(device)

    def _lease_ended(self, lease: Lease) -> None:
        """Sends it to both sides; the device frees what the client had loaded."""
        client = lease.client
        assert isinstance(client, Peer)
        side = self._sides.get(lease.device)
        if side is not None:
            side.fail_all("gone", f"the lease of {lease.device.name} has ended", lease)
            side.peer.start(side.peer.send({"op": "released"}))
        client.start(client.send({"op": "ended", "lease": lease.id}))

    async def _end_idle_leases(self) -> None:
        while True:
            await asyncio.sleep(min(1.0, self._limits.idle_lease / 4))
            for device in list(self._leases.devices.values()):
                if device.lease is None:
                    continue
                if self._sides[device].calls:
                    device.lease.used = self._clock()
                elif self._clock() - device.lease.used > self._limits.idle_lease:
                    self._leases.release(device.lease)

    # Clients

    async def _serve_client(self, peer: Peer, hello: Header) -> None:
        await peer.send({"re": hello.get("id")})
        client = ClientSide(peer, self._leases, self._sides, self._files, self._limits)
        try:
            async for header, payload in self._frames(peer):
                await client.receive(header, payload)
        finally:
            client.close()


def _is_shallow(value: object, levels: int) -> bool:
    """Whether objects and lists are nested in so many levels at most."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_is_shallow(v, levels - 1) for v in inner)


async def _accept_no_more(server: Server) -> None:
    """Stops accepting, and waits until what was accepted belongs to the server: asyncio 3.11 drops, and never closes, a
    socket whose server is closed between `accept` and the task that makes its transport."""
    loop = asyncio.get_running_loop()
    for listening in server.sockets:
        with contextlib.suppress(NotImplementedError):  # a loop that does not wait for sockets to be readable
            loop.remove_reader(listening)
    await asyncio.sleep(0)
