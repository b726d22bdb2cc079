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

from .file_store import FileStore, StoreError
from .leases import ANY, Device, Lease, Leases
from .messages import (
    LARGEST_FRAME,
    MALFORMED,
    REFUSED,
    TOO_MANY,
    VERSION,
    Assembler,
    Header,
    Message,
    ProtocolError,
)
from .pages import Pages
from .peer import Limits, Peer
from .publish import Publisher
from .relay import ClientSide, DeviceSide
from .serving import ServedModel

CLOSE_REASON = 100
"""Characters of the reason with which a connection is closed: WebSocket allows 123 bytes."""


class CallError(Exception):
    """What a request is answered with: `kind` is one of the words of PROTOCOL.md, section Errors."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Broker:
    """Holds no more than files, names and what is on its way."""

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
        self._sides: dict[str, DeviceSide] = {}
        self._connections = 0
        self._publisher = Publisher(model, files, pages.files_path)

    @contextlib.asynccontextmanager
    async def listen(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
        """Serves until the block ends. Raises OSError where the address is taken."""
        limits = self._limits
        async with serve(
            self._handle,
            host,
            port,
            process_request=self._pages.answer,
            compression=None,  # weights and tensors do not shrink, and it takes time
            max_size=LARGEST_FRAME,
            max_queue=4,
            ping_interval=limits.ping,
            ping_timeout=limits.ping,
            close_timeout=limits.close,
            ssl=tls,
        ) as server:
            watches = [asyncio.create_task(self._end_idle_leases()), asyncio.create_task(self._publisher.watch())]
            try:
                yield server
            finally:
                for watch in watches:
                    watch.cancel()

    async def _handle(self, connection: ServerConnection) -> None:
        if self._connections >= self._limits.connections:
            await connection.close(TOO_MANY, f"the broker has {self._connections} connections already")
            return
        self._connections += 1
        try:
            await self._serve(connection)
        except ProtocolError as error:
            await connection.close(MALFORMED, str(error)[:CLOSE_REASON])
        except ConnectionClosed:
            pass
        finally:
            self._connections -= 1

    async def _serve(self, connection: ServerConnection) -> None:
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
            return
        peer = Peer(connection)
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
            for task in peer.tasks:
                task.cancel()

    def _frames(self, peer: Peer) -> AsyncIterator[tuple[Header, memoryview, bytes]]:
        return peer.frames(self._limits.frames_per_second, self._clock)

    # Devices

    async def _serve_device(self, peer: Peer, hello: Header) -> None:
        name, backends, facts = (hello.get(key) for key in ("name", "backends", "facts"))
        if not isinstance(name, str) or not isinstance(backends, list) or not isinstance(facts, dict):
            raise ProtocolError("a device's hello lacks name, backends or facts")
        device = Device(name[:80], tuple(str(b) for b in backends), facts)
        self._leases.join(device)
        side = self._sides[device.name] = DeviceSide(peer)
        try:
            await peer.send({"re": hello.get("id"), "name": device.name, "files": self._pages.files_path})
            async for header, payload, _ in self._frames(peer):
                await side.relay_reply(header, payload)
        finally:
            del self._sides[device.name]
            side.fail_all("gone", f"device {device.name} is gone")
            self._leases.leave(device)

    def _lease_ended(self, lease: Lease) -> None:
        """Sends it to both sides; the device frees what the client had loaded."""
        client = lease.client
        assert isinstance(client, Peer)
        side = self._sides.get(lease.device.name)
        if side is not None:
            side.fail_all("gone", f"the lease of {lease.device.name} has ended", lease)
            side.peer.start(side.peer.send({"op": "released"}))
        client.start(client.send({"op": "ended", "lease": lease.id}))

    async def _end_idle_leases(self) -> None:
        while True:
            await asyncio.sleep(min(1.0, self._limits.idle_lease / 4))
            for device in list(self._leases.devices.values()):
                lease, side = device.lease, self._sides.get(device.name)
                if lease is None or (side is not None and side.calls):
                    continue
                if self._clock() - lease.used > self._limits.idle_lease:
                    self._leases.release(lease)

    # Clients

    async def _serve_client(self, peer: Peer, hello: Header) -> None:
        await peer.send({"re": hello.get("id")})
        assembler = Assembler(self._limits.payload)
        client = ClientSide(peer)
        try:
            async for header, payload, frame in self._frames(peer):
                if client.is_open(header):
                    await client.relay_rest(header, payload)
                elif header.get("op") == "call":
                    lease = self._leases.find(peer, header.get("lease"))
                    side = self._sides.get(lease.device.name) if lease is not None else None
                    await client.relay_call(side, lease, header, payload, self._limits.payload)
                elif message := assembler.feed(frame):
                    peer.start(self._answer(peer, message))
        finally:
            self._leases.release_all(peer)

    async def _answer(self, peer: Peer, message: Message) -> None:
        header = message.header
        try:
            reply = await self._carry_out(peer, message)
        except CallError as error:
            reply = {"error": {"kind": error.kind, "message": str(error)}}
        await peer.send({"re": header.get("id"), **reply})

    async def _carry_out(self, peer: Peer, message: Message) -> Header:
        header = message.header
        match header.get("op"):
            case "devices":
                return {"devices": [self._describe(d) for d in self._leases.devices.values()]}
            case "lease":
                return await self._lease(peer, header)
            case "release":
                lease = self._leases.find(peer, header.get("lease"))
                if lease is not None:
                    self._leases.release(lease)
                return {}
            case "have":
                wanted = header.get("files")
                if not isinstance(wanted, list):
                    raise CallError("request", "`have` lacks files")
                return {"missing": self._files.missing(map(str, wanted))}
            case "put":
                try:
                    self._files.put(str(header.get("sha256")), message.payload)
                except StoreError as error:
                    raise CallError("file", str(error)) from None
                return {}
            case op:
                raise CallError("request", f"the broker has no operation {op!r}")

    async def _lease(self, peer: Peer, header: Header) -> Header:
        name, backend, timeout = header.get("device", ANY), header.get("backend"), header.get("timeout")
        if (
            not isinstance(name, str)
            or not isinstance(backend, str | None)
            or not isinstance(timeout, int | float | None)
        ):
            raise CallError("request", "`lease` takes a device's name, a backend and a timeout")
        try:
            lease = await self._leases.lease(peer, name, backend, timeout)
        except TimeoutError:
            wanted = f"{'any device' if name == ANY else name}{f' with {backend}' if backend else ''}"
            raise CallError("busy", f"{wanted} was not free within {timeout:g} s") from None
        return {"lease": lease.id, "device": self._describe(lease.device)}

    def _describe(self, device: Device) -> Header:
        return {
            "name": device.name,
            "backends": list(device.backends),
            "facts": device.facts,
            "leased": device.lease is not None,
            "waiting": self._leases.waiting(device),
        }
