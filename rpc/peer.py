"""A connection to the broker after its hello."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable
from typing import Any

from websockets.exceptions import ConnectionClosed

from .connection import Connection
from .messages import LARGEST_HEADER, TOO_MANY, Header, Message, ProtocolError, encode, join_frame, split_frame


class Peer:
    """A connection after its hello. Messages of the broker's own have ids from it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.ids = itertools.count(1)
        self.tasks: set[asyncio.Task[None]] = set()

    async def send(self, header: Header, payload: bytes = b"") -> None:
        """Waits while the other side's buffers are full; a connection that has ended is no error here."""
        with contextlib.suppress(ConnectionClosed):
            for frame in encode(Message({"id": next(self.ids), **header}, payload)):
                await self.connection.send(frame)

    async def forward(self, header: Header, payload: memoryview) -> None:
        """One frame, of a message of another connection. Raises ProtocolError where its header is too large."""
        try:
            frame = join_frame(header, payload)
        except RecursionError:
            raise ProtocolError("a header that is nested too deeply") from None
        if len(frame) - len(payload) > LARGEST_HEADER:
            raise ProtocolError(f"a header of {len(frame) - len(payload)} bytes; {LARGEST_HEADER} are the most")
        with contextlib.suppress(ConnectionClosed):
            await self.connection.send(frame)

    def start(self, work: Any) -> None:
        """Runs the coroutine beside the reading of further messages."""
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def frames(self, per_second: int, clock: Callable[[], float]) -> AsyncIterator[tuple[Header, memoryview]]:
        """Header and payload of each. Raises ProtocolError where more than `per_second` come."""
        second, count = 0, 0
        async for frame in self.connection:
            now = int(clock())
            second, count = (second, count + 1) if now == second else (now, 1)
            if count > per_second:
                raise ProtocolError(f"more than {per_second} frames in a second", TOO_MANY)
            yield split_frame(frame)
