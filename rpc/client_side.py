"""The broker's side of a client's connection: calls go on to the leased device, files into the store, and other
requests are carried out here."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial

from .file_store import FileStore, StoreError, Upload
from .leases import ANY, Device, Leases
from .limits import Limits
from .messages import LONGEST_WAIT, Header, Incomplete, ProtocolError, id_of
from .peer import Peer
from .relay import Call, DeviceSide

OF_FRAMES = ("id", "re", "at", "bytes")
"""Fields of headers that a call's request must not have: the broker sets them."""

NOTHING = memoryview(b"")
_LOG = logging.getLogger("webnn-rpc")


class RequestError(Exception):
    """The error that answers a request; `kind` is one of the words of PROTOCOL.md, section Errors."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.fields = {"kind": kind, "message": message}


@dataclass(frozen=True, eq=False, slots=True)
class _Relay:
    """Passes the frames of a call on."""

    side: DeviceSide
    call: Call
    request: Header

    async def receive(self, header: Header, piece: memoryview) -> None:
        if self.call.device_id not in self.side.calls:
            return  # it has been answered by an error
        kept = {"at": header["at"]} if "at" in header else self.request
        if "bytes" in header:
            kept = {**kept, "bytes": header["bytes"]}
        await self.side.peer.forward({**kept, "id": self.call.device_id}, piece)


class ClientSide:
    """A client from its hello until `close`. `sides` are the devices' connections."""

    def __init__(
        self, peer: Peer, leases: Leases, sides: Mapping[Device, DeviceSide], files: FileStore, limits: Limits
    ) -> None:
        self._peer, self._leases, self._sides, self._files, self._limits = peer, leases, sides, files, limits
        self._incomplete = Incomplete[_Relay | Upload | None](limits.payload)
        self._waiting = 0

    async def receive(self, header: Header, piece: memoryview) -> None:
        """One frame. Returns when it has been passed on, or answered: a client that reads too slowly is not read
        either. Raises ProtocolError."""
        if "at" in header:
            target, complete = self._incomplete.add(header, piece)
        else:
            target = await self._begin(header)
            complete = self._incomplete.begin(header, piece, target)
        if isinstance(target, _Relay):
            await target.receive(header, piece)
        elif isinstance(target, Upload):
            target.write(piece)
            if complete:
                await self._answer(header["id"], partial(_finish, target))

    def close(self) -> None:
        """Its connection has ended."""
        for target in self._incomplete:
            if isinstance(target, Upload):
                target.close()
        self._leases.release_all(self._peer)

    async def _begin(self, header: Header) -> _Relay | Upload | None:
        """The receiver of the message's payload, if it has one."""
        id = id_of(header)
        match header.get("op"):
            case "put":
                return self._files.upload(str(header.get("sha256")))
            case "call":
                try:
                    return self._begin_call(id, header)
                except RequestError as error:
                    await self._peer.send({"re": id, "error": error.fields})
            case "lease" if self._waiting < self._limits.requests:
                self._waiting += 1
                self._peer.start(self._answer(id, partial(self._lease, header)))
            case "lease":
                await self._answer(id, self._refuse_lease)
            case _:
                await self._answer(id, partial(self._carry_out, header))
        return None

    def _begin_call(self, id: int, header: Header) -> _Relay:
        """Raises RequestError."""
        request, deadline = header.get("request"), _seconds(header, "deadline")
        if not isinstance(request, dict) or any(key in request for key in OF_FRAMES):
            raise RequestError("request", f"`call` takes a request without {', '.join(OF_FRAMES)}")
        lease = self._leases.find(self._peer, header.get("lease"))
        side = self._sides.get(lease.device) if lease is not None else None
        if lease is None or side is None:
            raise RequestError("gone", "the lease has ended")
        if len(side.calls) >= self._limits.requests:
            raise RequestError("request", f"{self._limits.requests} calls are under way already")
        call = Call(self._peer, id, lease, next(side.peer.ids))
        side.begin(call, deadline)
        return _Relay(side, call, request)

    async def _answer(self, id: int, carry_out: Callable[[], Awaitable[Header]]) -> None:
        """Sends what it returns, or why it fails: a request without a reply would be waited for."""
        try:
            await self._peer.forward({"id": next(self._peer.ids), "re": id, **await carry_out()}, NOTHING)
            return
        except RequestError as error:
            failed = error
        except ProtocolError as error:
            failed = RequestError("request", f"the reply would have {error}")
        except Exception as error:
            _LOG.exception("a request failed")
            failed = RequestError("request", f"the broker failed: {type(error).__name__}: {error}")
        await self._peer.send({"re": id, "error": failed.fields})

    async def _carry_out(self, header: Header) -> Header:
        match header.get("op"):
            case "devices":
                return {"devices": [self._describe(d) for d in self._leases.devices.values()]}
            case "release":
                lease = self._leases.find(self._peer, header.get("lease"))
                if lease is not None:
                    self._leases.release(lease)
                return {}
            case "have":
                digests = header.get("files")
                if not isinstance(digests, list):
                    raise RequestError("request", "`have` lacks files")
                return {"missing": self._files.missing(map(str, digests))}
            case op:
                raise RequestError("request", f"the broker has no operation {op!r}")

    async def _refuse_lease(self) -> Header:
        raise RequestError("request", f"{self._limits.requests} requests for a lease wait already")

    async def _lease(self, header: Header) -> Header:
        name, backend = header.get("device", ANY), header.get("backend")
        try:
            timeout = _seconds(header, "timeout")
            if not isinstance(name, str) or not isinstance(backend, str | None):
                raise RequestError("request", "`lease` takes a device's name, a backend and a timeout")
            lease = await self._leases.lease(self._peer, name, backend, timeout)
        except TimeoutError:
            description = f"{'any device' if name == ANY else name}{f' with {backend}' if backend else ''}"
            raise RequestError("busy", f"{description} was not free within {timeout:g} s") from None
        finally:
            self._waiting -= 1
        return {"lease": lease.id, "device": self._describe(lease.device)}

    def _describe(self, device: Device) -> Header:
        return {
            "name": device.name,
            "backends": list(device.backends),
            "facts": device.facts,
            "leased": device.lease is not None,
            "waiting": self._leases.waiting(device),
        }


async def _finish(upload: Upload) -> Header:
    try:
        upload.finish()
    except StoreError as error:
        raise RequestError("file", str(error)) from None
    return {}


def _seconds(header: Header, key: str) -> float | None:
    value = header.get(key)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= LONGEST_WAIT:
        raise RequestError("request", f"{key} is a number of seconds from 0 to {LONGEST_WAIT:g}, or null")
    return float(value)
