"""A device without a browser, and raw connections, for tests of the broker."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from webnn_compile.rpc.messages import VERSION, Assembler, Message, encode
from webnn_compile.rpc.pages import SOCKET
from webnn_compile.rpc.start_broker import Address
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

Answer = tuple[dict[str, Any], bytes] | None
"""Header and payload of a reply, None for none."""


def open_socket(address: Address, **options: Any) -> ClientConnection:
    return connect(address.url.replace("http", "ws") + SOCKET, compression=None, max_size=None, **options)


class PythonDevice:
    """Joins the broker as `name`; `answer` is called with each message, on a thread of its own. `messages` are all that
    arrived."""

    def __init__(
        self,
        address: Address,
        answer: Callable[[Message], Answer] = lambda m: (m.header | {"op": "echo"}, bytes(m.payload)),
        name: str = "python",
        backends: tuple[str, ...] = ("wasm",),
    ) -> None:
        self._opened = ExitStack()
        self.socket = self._opened.enter_context(open_socket(address))
        self.messages: list[Message] = []
        self._answer = answer
        self._ids = itertools.count()
        self._assembler = Assembler()
        hello = {"op": "hello", "version": VERSION, "role": "device", "token": address.token}
        self.send({**hello, "name": name, "backends": list(backends), "facts": {"browser": "none"}})
        welcome = self._assembler.feed(self.socket.recv())
        assert welcome is not None
        self.name, self.files = welcome.header["name"], welcome.header["files"]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def send(self, header: dict[str, Any], payload: bytes = b"", chunk: int = 2**20) -> None:
        for frame in encode(Message({**header, "id": next(self._ids)}, payload), chunk):
            self.socket.send(frame)

    def close(self) -> None:
        self._opened.close()
        self._thread.join()

    def _serve(self) -> None:
        try:
            for frame in self.socket:
                message = self._assembler.feed(frame)
                if message is None:
                    continue
                self.messages.append(message)
                answer = self._answer(message) if message.header.get("op") not in ("released", "cancel") else None
                if answer is not None:
                    self.send({**answer[0], "re": message.header["id"]}, answer[1])
        except ConnectionClosed:
            pass


@contextmanager
def python_device(address: Address, *given: Any, **options: Any) -> Iterator[PythonDevice]:
    device = PythonDevice(address, *given, **options)
    try:
        yield device
    finally:
        device.close()
