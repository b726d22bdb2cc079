"""Relays calls from clients to devices and replies back, frame by frame, with each connection's own ids."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from .leases import Lease
from .messages import Header, Incomplete, is_count
from .peer import Peer


@dataclass(eq=False, slots=True)
class Call:
    """One call in progress: from `client`, where it has the id `client_id`, to a device; `reply_id` is the id of its
    reply at the client, once that has begun."""

    client: Peer
    client_id: int
    lease: Lease
    device_id: int
    reply_id: int | None = None
    deadline: asyncio.TimerHandle | None = None


@dataclass(eq=False, slots=True)
class DeviceSide:
    """The connection of a device, and its calls, by the ids that they have there, until their replies are complete.
    `tab` is the page's own random id, the same when it connects again."""

    peer: Peer
    tab: object = None
    calls: dict[int, Call] = field(default_factory=dict)
    _replies: Incomplete[Call | None] = field(default_factory=Incomplete)

    async def relay_reply(self, header: Header, payload: memoryview) -> None:
        """Forwards a frame of a reply to the client, with the client's ids; drops replies to calls that have ended.
        Raises ProtocolError."""
        if "at" in header:
            call, complete = self._replies.add(header, payload)
            if call is None or call.device_id not in self.calls:
                return
            passed = {"id": call.reply_id, "at": header["at"]}
        else:
            re = header.get("re")
            call = self.calls.get(re) if is_count(re) else None
            if call is not None and call.reply_id is not None:
                call = None  # which has a reply already
            complete = self._replies.begin(header, payload, call)
            if call is None:
                return
            call.reply_id = next(call.client.ids)
            passed = {**header, "id": call.reply_id, "re": call.client_id}
        if complete:
            self._end(call)
        await call.client.forward(passed, payload)

    def begin(self, call: Call, deadline: float | None) -> None:
        """Waits for the reply to a call, `deadline` seconds at most."""
        self.calls[call.device_id] = call
        if deadline is not None:
            message = f"device {call.lease.device.name} has not answered for {deadline:g} s"
            call.deadline = asyncio.get_running_loop().call_later(deadline, self._expire, call, message)

    def fail_all(self, kind: str, message: str, lease: Lease | None = None) -> None:
        """Ends all calls, or those of one lease, that the device does not answer."""
        for call in list(self.calls.values()):
            if lease is None or call.lease is lease:
                self._fail(call, kind, message)

    def _end(self, call: Call) -> None:
        self.calls.pop(call.device_id, None)
        if call.deadline is not None:
            call.deadline.cancel()

    def _fail(self, call: Call, kind: str, message: str) -> None:
        """With the id of a reply that has begun, so that the client drops what it has of it."""
        self._end(call)
        error: Header = {"re": call.client_id, "error": {"kind": kind, "message": message}}
        if call.reply_id is not None:
            error["id"] = call.reply_id
        call.client.start(call.client.send(error))

    def _expire(self, call: Call, message: str) -> None:
        """Ends a call whose deadline has passed, and cancels it on the device."""
        self._fail(call, "timeout", message)
        self.peer.start(self.peer.send({"op": "cancel", "call": call.device_id}))
