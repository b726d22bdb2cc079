"""The broker: devices (browser tabs) and clients (Python) join it by WebSocket; it leases devices and relays calls.

PROTOCOL.md describes what is said here; `pages` answers HTTP on the same port.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import itertools
import ssl
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from .file_store import FileStore, StoreError
from .leases import ANY, Device, Lease, Leases
from .messages import (
    LARGEST_FRAME,
    LARGEST_PAYLOAD,
    MALFORMED,
    REFUSED,
    TOO_MANY,
    VERSION,
    Assembler,
    Header,
    Message,
    ProtocolError,
    encode,
    join_frame,
    split_frame,
)
from .pages import Pages
from .serving import POLL, ServedModel, ServingError


@dataclass(frozen=True, slots=True)
class Limits:
    """What one connection may ask of the broker. Times are in seconds."""

    connections: int = 1024
    frames_per_second: int = 2000
    payload: int = LARGEST_PAYLOAD
    hello: float = 10
    """From the connection to its first message."""
    idle_lease: float = 600
    """A lease without a call for so long ends."""
    ping: float = 20
    """Between two pings, and from a ping to its answer, after which a connection counts as lost."""
    close: float = 1
    """From the end of a connection to the other side's agreement."""
    wrong_token: float = 1
    """Before a wrong token is answered."""


CLOSE_REASON = 100
"""Characters of the reason with which a connection is closed: WebSocket allows 123 bytes."""


class CallError(Exception):
    """What a request is answered with: `kind` is one of the words of PROTOCOL.md, section Errors."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Peer:
    """A connection after its hello. Messages of the broker's own have ids from it."""

    def __init__(self, connection: ServerConnection) -> None:
        self.connection = connection
        self.ids = itertools.count(1)
        self.tasks: set[asyncio.Task[None]] = set()

    async def send(self, header: Header, payload: bytes = b"") -> None:
        """Waits while the other side takes nothing; a connection that is gone is no error here."""
        with contextlib.suppress(ConnectionClosed):
            for frame in encode(Message({"id": next(self.ids), **header}, payload)):
                await self.connection.send(frame)

    def start(self, work: Any) -> None:
        """Runs the coroutine beside the reading of further messages."""
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


@dataclass(eq=False, slots=True)
class _Call:
    """One call on its way: from `client`, where it has the id `client_id`, to a device."""

    client: Peer
    client_id: int
    lease: Lease
    device_id: int
    deadline: asyncio.TimerHandle | None = None


@dataclass(eq=False, slots=True)
class _DeviceSide:
    """The connection of a device, its calls by the ids that they have there, and the replies that are incomplete, with
    the ids that they have on either side."""

    peer: Peer
    calls: dict[int, _Call] = field(default_factory=dict)
    replies: dict[int, tuple[Peer, int] | None] = field(default_factory=dict)


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
        """`model` is compiled for pages that ask for one."""
        self._token = token.encode()
        self._pages = pages
        self._files = files
        self._limits = limits or Limits()
        self._clock = clock
        self._leases = Leases(clock, self._lease_ended)
        self._sides: dict[str, _DeviceSide] = {}
        self._connections = 0
        self._model = model
        self._subscribers: dict[Peer, tuple[str, tuple[str, ...]]] = {}

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
            watches = [asyncio.create_task(self._end_idle_leases()), asyncio.create_task(self._watch_model())]
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
                    await self._serve_page(peer, header)
                case role:
                    raise ProtocolError(f"the role {role!r} is none of device, client and page")
        finally:
            for task in peer.tasks:
                task.cancel()

    async def _frames(self, peer: Peer) -> AsyncIterator[tuple[Header, memoryview, bytes]]:
        """Header, payload and the whole of each frame, no faster than allowed."""
        second, count = 0, 0
        async for frame in peer.connection:
            now = int(self._clock())
            second, count = (second, count + 1) if now == second else (now, 1)
            if count > self._limits.frames_per_second:
                raise ProtocolError(f"more than {self._limits.frames_per_second} frames in a second")
            header, payload = split_frame(frame)
            yield header, payload, frame  # type: ignore[misc]

    # Pages that use the model

    async def _serve_page(self, peer: Peer, hello: Header) -> None:
        """Sends the model now, and again whenever its file changes."""
        backend, features = hello.get("backend"), hello.get("features")
        if not isinstance(backend, str) or not isinstance(features, list):
            raise ProtocolError("a page's hello lacks backend or features")
        await peer.send({"re": hello.get("id"), "files": self._pages.files_path})
        self._subscribers[peer] = backend, tuple(map(str, features))
        try:
            peer.start(self._send_model(peer))
            async for _ in self._frames(peer):
                raise ProtocolError("a page has nothing to say after its hello")
        finally:
            del self._subscribers[peer]

    async def _send_model(self, peer: Peer) -> None:
        model, (backend, features) = self._model, self._subscribers[peer]
        if model is None:
            await peer.send({"op": "failed", "message": "this broker serves no model: start `webnn-rpc serve MODEL`"})
            return
        try:
            made = await asyncio.to_thread(model.compiled, backend, features)
            for sha256, data in made.contents.items():
                if self._files.missing([sha256]):
                    self._files.put(sha256, data)
        except (ServingError, StoreError) as error:
            await peer.send({"op": "failed", "message": str(error)})
            return
        await peer.send({"op": "model", "name": model.name, "manifest": made.fields})

    async def _watch_model(self) -> None:
        while self._model is not None:
            await asyncio.sleep(POLL)
            if self._model.has_changed():
                for peer in list(self._subscribers):
                    peer.start(self._send_model(peer))

    # Devices

    async def _serve_device(self, peer: Peer, hello: Header) -> None:
        name, backends, facts = (hello.get(key) for key in ("name", "backends", "facts"))
        if not isinstance(name, str) or not isinstance(backends, list) or not isinstance(facts, dict):
            raise ProtocolError("a device's hello lacks name, backends or facts")
        device = Device(name[:80], tuple(str(b) for b in backends), facts)
        self._leases.join(device)
        side = self._sides[device.name] = _DeviceSide(peer)
        try:
            await peer.send({"re": hello.get("id"), "name": device.name, "files": self._pages.files_path})
            async for header, payload, _ in self._frames(peer):
                await self._relay_reply(side, header, payload)
        finally:
            del self._sides[device.name]
            for call in list(side.calls.values()):
                self._fail(side, call, "gone", f"device {device.name} is gone")
            self._leases.leave(device)

    async def _relay_reply(self, side: _DeviceSide, header: Header, payload: memoryview) -> None:
        """A frame of a reply goes on to the client with that one's ids. What nobody waits for any more is dropped."""
        own = header.get("id")
        if not isinstance(own, int):
            raise ProtocolError(f"a message with the id {own!r}")
        if "at" in header:
            target = side.replies.get(own)
            if target is not None:
                await _forward(target[0], {"id": target[1], "at": header["at"]}, payload)
            return
        call = side.calls.pop(header.get("re"), None)  # type: ignore[arg-type]
        side.replies = {own: None}  # a device sends one message after the other
        if call is None:
            return
        if call.deadline is not None:
            call.deadline.cancel()
        id = next(call.client.ids)
        side.replies = {own: (call.client, id)}
        await _forward(call.client, {**header, "id": id, "re": call.client_id}, payload)

    def _fail(self, side: _DeviceSide, call: _Call, kind: str, message: str) -> None:
        """Ends a call that the device does not answer."""
        side.calls.pop(call.device_id, None)
        if call.deadline is not None:
            call.deadline.cancel()
        call.client.start(call.client.send({"re": call.client_id, "error": {"kind": kind, "message": message}}))

    def _lease_ended(self, lease: Lease) -> None:
        """Tells both sides; the device frees what the client had loaded."""
        client = lease.client
        assert isinstance(client, Peer)
        side = self._sides.get(lease.device.name)
        if side is not None:
            for call in [c for c in side.calls.values() if c.lease is lease]:
                self._fail(side, call, "gone", f"the lease of {lease.device.name} has ended")
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
        relayed: dict[int, _Call] = {}  # calls of which more frames come
        try:
            async for header, payload, frame in self._frames(peer):
                if "at" in header and header.get("id") in relayed:
                    await self._relay_rest(relayed, header, payload)
                elif header.get("op") == "call":
                    await self._relay_call(peer, relayed, header, payload)
                elif message := assembler.feed(frame):
                    peer.start(self._answer(peer, message))
        finally:
            self._leases.release_all(peer)

    async def _relay_call(self, peer: Peer, relayed: dict[int, _Call], header: Header, payload: memoryview) -> None:
        id, request, deadline = header.get("id"), header.get("request"), header.get("deadline")
        size = header.get("bytes", len(payload))
        if not isinstance(id, int) or not isinstance(request, dict) or not isinstance(size, int):
            raise ProtocolError("a call lacks id or request")
        if size > self._limits.payload:
            raise ProtocolError(f"a message of {size} bytes; {self._limits.payload} are the most")
        lease = self._leases.find(peer, header.get("lease"))
        side = self._sides.get(lease.device.name) if lease is not None else None
        if lease is None or side is None:
            error = {"kind": "gone", "message": "the lease has ended"}
            await peer.send({"re": id, "error": error})
            return
        call = _Call(peer, id, lease, next(side.peer.ids))
        side.calls[call.device_id] = call
        if isinstance(deadline, int | float):
            message = f"device {lease.device.name} has not answered for {deadline:g} s"
            loop = asyncio.get_running_loop()
            call.deadline = loop.call_later(deadline, self._expire, side, call, message)
        passed = {**request, "id": call.device_id}
        if size > len(payload):
            relayed[id] = call
            passed["bytes"] = size
        await _forward(side.peer, passed, payload)

    async def _relay_rest(self, relayed: dict[int, _Call], header: Header, payload: memoryview) -> None:
        call = relayed[header["id"]]
        side = self._sides.get(call.lease.device.name)
        if side is None or call.device_id not in side.calls:
            return  # answered already, by an error
        await _forward(side.peer, {"id": call.device_id, "at": header["at"]}, payload)

    def _expire(self, side: _DeviceSide, call: _Call, message: str) -> None:
        self._fail(side, call, "timeout", message)
        side.peer.start(side.peer.send({"op": "cancel", "call": call.device_id}))

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


async def _forward(peer: Peer, header: Header, payload: memoryview) -> None:
    with contextlib.suppress(ConnectionClosed):
        await peer.connection.send(join_frame(header, payload))
