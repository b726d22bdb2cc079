"""A device without a browser, and raw connections, for tests of the broker."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from ssl import SSLContext
from typing import Any

from webnn_compile.rpc.messages import VERSION, Assembler, Message, encode, join_frame
from webnn_compile.rpc.pages import SOCKET
from webnn_compile.rpc.start_broker import Address
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

Answer = tuple[dict[str, Any], bytes] | None
"""Header and payload of a reply, None for none."""

UPGRADE = """GET /socket HTTP/1.1\r
Host: x\r
Upgrade: websocket\r
Connection: Upgrade\r
Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
Sec-WebSocket-Version: 13\r
\r
"""
"""The request with which a WebSocket begins."""


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
        ssl: SSLContext | None = None,
        **more: Any,
    ) -> None:
        """`more` are further fields of its hello."""
        self._opened = ExitStack()
        self.socket = self._opened.enter_context(open_socket(address, close_timeout=0.1, ssl=ssl))
        self.messages: list[Message] = []
        self._answer = answer
        self._ids = itertools.count()
        self._assembler = Assembler()
        hello = {"op": "hello", "version": VERSION, "role": "device", "token": address.token}
        self.send({**hello, "name": name, "backends": list(backends), "facts": {"browser": "none"}, **more})
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


class RawClient:
    """A client that sends frames as they are given, malformed ones, too."""

    def __init__(self, address: Address, **options: Any) -> None:
        self._opened = ExitStack()
        self.socket = self._opened.enter_context(open_socket(address, close_timeout=0.1, **options))
        self._assembler = Assembler()
        self.send({"id": 0, "op": "hello", "version": VERSION, "role": "client", "token": address.token})
        self.receive()

    def send(self, header: dict[str, Any], payload: bytes = b"") -> None:
        self.socket.send(join_frame(header, payload))

    def send_text(self, header: str) -> None:
        """A header that need be no JSON."""
        data = header.encode()
        self.socket.send(len(data).to_bytes(4, "little") + data)

    def receive(self, timeout: float = 10) -> Message:
        """The next message. Raises ConnectionClosed and TimeoutError."""
        message = None
        while message is None:
            message = self._assembler.feed(self.socket.recv(timeout))
        return message

    def ask(self, header: dict[str, Any], payload: bytes = b"") -> dict[str, Any]:
        """The header of the reply."""
        self.send(header, payload)
        while (message := self.receive()).header.get("re") != header["id"]:
            pass
        return message.header

    def lease(self) -> int:
        number: int = self.ask({"id": 1, "op": "lease"})["lease"]
        return number

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._opened.close()
