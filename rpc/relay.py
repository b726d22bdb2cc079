"""Relays calls from clients to devices and replies back, frame by frame, with each connection's own ids."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from .leases import Lease
from .messages import Header, ProtocolError
from .peer import Peer


@dataclass(eq=False, slots=True)
class Call:
    """One call on its way: from `client`, where it has the id `client_id`, to a device."""

    client: Peer
    client_id: int
    lease: Lease
    device_id: int
    deadline: asyncio.TimerHandle | None = None


@dataclass(eq=False, slots=True)
class DeviceSide:
    """The connection of a device, its calls by the ids that they have there, and the replies that are incomplete, with
    the ids that they have on either side."""

    peer: Peer
    calls: dict[int, Call] = field(default_factory=dict)
    _replies: dict[int, tuple[Peer, int] | None] = field(default_factory=dict)

    async def relay_reply(self, header: Header, payload: memoryview) -> None:
        """A frame of a reply goes on to the client with that one's ids; replies to calls that have ended are dropped.
        Raises ProtocolError."""
        own = header.get("id")
        if not isinstance(own, int):
            raise ProtocolError(f"a message with the id {own!r}")
        if "at" in header:
            target = self._replies.get(own)
            if target is not None:
                await target[0].forward({"id": target[1], "at": header["at"]}, payload)
            return
        call = self.calls.pop(header.get("re"), None)  # type: ignore[arg-type]
        self._replies = {own: None}  # a device sends one message after the other
        if call is None:
            return
        if call.deadline is not None:
            call.deadline.cancel()
        id = next(call.client.ids)
        self._replies = {own: (call.client, id)}
        await call.client.forward({**header, "id": id, "re": call.client_id}, payload)

    def fail(self, call: Call, kind: str, message: str) -> None:
        """Ends a call that the device does not answer."""
        self.calls.pop(call.device_id, None)
        if call.deadline is not None:
            call.deadline.cancel()
        call.client.start(call.client.send({"re": call.client_id, "error": {"kind": kind, "message": message}}))

    def fail_all(self, kind: str, message: str, lease: Lease | None = None) -> None:
        """All calls, or those of one lease."""
        for call in list(self.calls.values()):
            if lease is None or call.lease is lease:
                self.fail(call, kind, message)

    def expire(self, call: Call, message: str) -> None:
        """Ends a call whose deadline has passed, and cancels it on the device."""
        self.fail(call, "timeout", message)
        self.peer.start(self.peer.send({"op": "cancel", "call": call.device_id}))


@dataclass(eq=False, slots=True)
class ClientSide:
    """The connection of a client, and its calls of which more frames come: with the devices that they go to and the
    bytes that are left."""

    peer: Peer
    _open: dict[int, tuple[DeviceSide, Call, int]] = field(default_factory=dict)

    async def relay_call(
        self, side: DeviceSide | None, lease: Lease | None, header: Header, payload: memoryview, largest: int
    ) -> None:
        """The first frame of a call to the device of `lease`. Raises ProtocolError where its message is malformed or
        larger than `largest` bytes."""
        id, request, deadline = header.get("id"), header.get("request"), header.get("deadline")
        size = header.get("bytes", len(payload))
        if not isinstance(id, int) or not isinstance(request, dict) or not isinstance(size, int):
            raise ProtocolError("a call lacks id or request")
        if size > largest:
            raise ProtocolError(f"a message of {size} bytes; {largest} are the most")
        if lease is None or side is None:
            await self.peer.send({"re": id, "error": {"kind": "gone", "message": "the lease has ended"}})
            return
        call = Call(self.peer, id, lease, next(side.peer.ids))
        side.calls[call.device_id] = call
        if isinstance(deadline, int | float):
            message = f"device {lease.device.name} has not answered for {deadline:g} s"
            call.deadline = asyncio.get_running_loop().call_later(deadline, side.expire, call, message)
        passed = {**request, "id": call.device_id}
        if size > len(payload):
            self._open[id] = side, call, size - len(payload)
            passed["bytes"] = size
        await side.peer.forward(passed, payload)

    def is_open(self, header: Header) -> bool:
        """Whether the frame belongs to a call of which more frames come."""
        return "at" in header and header.get("id") in self._open

    async def relay_rest(self, header: Header, payload: memoryview) -> None:
        id = header["id"]
        side, call, left = self._open[id]
        if left > len(payload):
            self._open[id] = side, call, left - len(payload)
        else:
            del self._open[id]
        if call.device_id in side.calls:  # otherwise answered already, by an error
            await side.peer.forward({"id": call.device_id, "at": header["at"]}, payload)
