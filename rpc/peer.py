"""A connection to the broker after its hello, and what one connection may take."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from .messages import LARGEST_PAYLOAD, Header, Message, ProtocolError, encode, join_frame, split_frame


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one connection. Times are in seconds."""

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


class Peer:
    """A connection after its hello. Messages of the broker's own have ids from it."""

    def __init__(self, connection: ServerConnection) -> None:
        self.connection = connection
        self.ids = itertools.count(1)
        self.tasks: set[asyncio.Task[None]] = set()

    async def send(self, header: Header, payload: bytes = b"") -> None:
        """Waits while the other side's buffers are full; a connection that has ended is no error here."""
        with contextlib.suppress(ConnectionClosed):
            for frame in encode(Message({"id": next(self.ids), **header}, payload)):
                await self.connection.send(frame)

    async def forward(self, header: Header, payload: memoryview) -> None:
        """One frame of a message of another connection."""
        with contextlib.suppress(ConnectionClosed):
            await self.connection.send(join_frame(header, payload))

    def start(self, work: Any) -> None:
        """Runs the coroutine beside the reading of further messages."""
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def frames(
        self, per_second: int, clock: Callable[[], float]
    ) -> AsyncIterator[tuple[Header, memoryview, bytes]]:
        """Header, payload and the whole of each frame. Raises ProtocolError where more than `per_second` come."""
        second, count = 0, 0
        async for frame in self.connection:
            now = int(clock())
            second, count = (second, count + 1) if now == second else (now, 1)
            if count > per_second:
                raise ProtocolError(f"more than {per_second} frames in a second")
            header, payload = split_frame(frame)
            yield header, payload, frame  # type: ignore[misc]
