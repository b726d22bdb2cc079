"""The client: lists and leases devices, loads compiled models on them, runs and times them.

with connect(url) as session, session.lease(backend="webgpu") as device:
    with device.load(files) as model:
        results = model.run({"x": x})
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import os
import ssl
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self
from urllib.parse import urlsplit, urlunsplit

from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import ClientConnection
from websockets.sync.client import connect as open_socket

from .arrays import Array, pack_arrays, unpack_arrays
from .leases import ANY
from .messages import (
    LARGEST_FRAME,
    LARGEST_PAYLOAD,
    REFUSED,
    VERSION,
    Assembler,
    Buffer,
    Header,
    Message,
    ProtocolError,
    encode,
)
from .pages import SOCKET

TOKEN_VARIABLE = "WEBNN_RPC_TOKEN"
FINGERPRINT_VARIABLE = "WEBNN_RPC_FINGERPRINT"

ANSWER = 30.0
"""Seconds in which the broker answers what it need not wait for."""


class RpcError(Exception):
    """What a call ended with. `kind` is one of PROTOCOL.md, section Errors; the message says what to do."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Loadable(Protocol):
    """A compiled model: the manifest of a bundle as JSON, and the contents of its files by sha256."""

    @property
    def fields(self) -> Mapping[str, Any]: ...
    @property
    def contents(self) -> Mapping[str, Buffer]: ...


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A device that has joined. `facts` are what its page says of browser and adapter; `waiting` clients are queued."""

    name: str
    backends: tuple[str, ...]
    facts: Mapping[str, Any]
    leased: bool
    waiting: int


def connect(url: str, token: str | None = None, *, fingerprint: str | None = None) -> Session:
    """A session with the broker at `url`, as `webnn-rpc serve` prints it. The token may stand in the url's fragment, in
    `token` or in WEBNN_RPC_TOKEN. A certificate that no authority has signed is taken if its SHA-256 is `fingerprint`,
    or WEBNN_RPC_FINGERPRINT, as the broker prints it. Raises RpcError."""
    parts = urlsplit(url if "//" in url else f"http://{url}")
    token = token or parts.fragment or os.environ.get(TOKEN_VARIABLE, "")
    scheme = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}.get(parts.scheme)
    if scheme is None or not parts.netloc:
        raise RpcError("address", f"{url!r} is no address of a broker: give the one that `webnn-rpc serve` prints")
    address = urlunsplit((scheme, parts.netloc, SOCKET, "", ""))
    fingerprint = fingerprint or os.environ.get(FINGERPRINT_VARIABLE)
    tls = _unverified() if scheme == "wss" and fingerprint else None
    stack = ExitStack()
    try:
        opening = open_socket(address, max_size=LARGEST_FRAME, compression=None, open_timeout=ANSWER, ssl=tls)
        socket = stack.enter_context(opening)
    except (OSError, TimeoutError, InvalidHandshake) as error:
        reason = str(error.__cause__ or error) or type(error).__name__
        raise RpcError("address", f"no broker answers at {parts.netloc}: {reason}; start `webnn-rpc serve`") from None
    if tls is not None and not _has_fingerprint(socket, fingerprint or ""):
        stack.close()
        raise RpcError("address", f"the certificate of {parts.netloc} has another fingerprint than {fingerprint}")
    session = Session(socket, stack)
    try:
        session.call({"op": "hello", "version": VERSION, "role": "client", "token": token})
    except RpcError:
        session.close()
        raise
    return session


def _unverified() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _has_fingerprint(socket: ClientConnection, fingerprint: str) -> bool:
    connection = socket.socket
    certificate = connection.getpeercert(binary_form=True) if isinstance(connection, ssl.SSLSocket) else None
    found = hashlib.sha256(certificate or b"").hexdigest()
    return hmac.compare_digest(found, fingerprint.replace(":", "").lower())


class Session:
    """A connection to a broker. Its methods may be called from several threads. All of them raise RpcError."""

    def __init__(self, socket: ClientConnection, opened: ExitStack) -> None:
        """`opened` closes the socket."""
        self._socket = socket
        self._opened = opened
        self._ids = itertools.count()
        self._pending: dict[int, Future[Message]] = {}
        self._closed: RpcError | None = None
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def devices(self) -> list[DeviceInfo]:
        return [_device_info(d) for d in self.call({"op": "devices"}).header["devices"]]

    def lease(self, device: str = ANY, backend: str | None = None, timeout: float | None = None) -> LeasedDevice:
        """A device of this name, or any, that has the backend: at once or when it is free, within `timeout` seconds."""
        wanted = {"op": "lease", "device": device, "backend": backend, "timeout": timeout}
        header = self.call(wanted, limit=None).header
        return LeasedDevice(self, header["lease"], _device_info(header["device"]))

    def put(self, files: Mapping[str, Buffer]) -> None:
        """Sends the files, by their sha256, that the broker lacks."""
        missing = self.call({"op": "have", "files": list(files)}).header["missing"]
        for sha256 in missing:
            self.call({"op": "put", "sha256": sha256}, files[sha256], limit=None)

    def call(self, header: Header, payload: Buffer = b"", limit: float | None = ANSWER) -> Message:
        """The reply to a request, within `limit` seconds."""
        id, reply = next(self._ids), Future[Message]()
        with self._lock:
            if self._closed is not None:
                raise self._closed
            self._pending[id] = reply
        try:
            for frame in encode(Message({**header, "id": id}, payload)):
                self._socket.send(frame)
            message = reply.result(limit)
        except ConnectionClosed:
            raise self._closed or _lost(self._socket) from None
        except FutureTimeout:
            raise RpcError("timeout", f"the broker has not answered for {limit:g} s") from None
        finally:
            self._pending.pop(id, None)
        error = message.header.get("error")
        if error is not None:
            raise RpcError(str(error.get("kind")), str(error.get("message")))
        return message

    def close(self) -> None:
        self._opened.close()
        self._reader.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _read(self) -> None:
        """Hands replies to the threads that wait for them, until the connection ends."""
        assembler = Assembler(LARGEST_PAYLOAD)
        try:
            for frame in self._socket:
                message = assembler.feed(frame)
                reply = self._pending.get(message.header.get("re", -1)) if message else None
                if message and reply:
                    reply.set_result(message)
            closed = _lost(self._socket)
        except ConnectionClosed:
            closed = _lost(self._socket)
        except ProtocolError as error:
            closed = RpcError("protocol", f"the broker sent {error}")
        with self._lock:
            self._closed = closed
            waiting = list(self._pending.values())
        for reply in waiting:
            if not reply.done():
                reply.set_exception(closed)


def _lost(socket: ClientConnection) -> RpcError:
    if socket.close_code == REFUSED:
        return RpcError("refused", socket.close_reason or "the broker refused the connection")
    return RpcError("gone", f"the connection to the broker ended: {socket.close_reason or 'no reason given'}")


def _device_info(d: Mapping[str, Any]) -> DeviceInfo:
    return DeviceInfo(d["name"], tuple(d["backends"]), d["facts"], d["leased"], d["waiting"])


class LeasedDevice:
    """A device that is ours until `release`. Its models are freed then."""

    def __init__(self, session: Session, lease: int, info: DeviceInfo) -> None:
        self._session = session
        self._lease = lease
        self.info = info

    def load(
        self, compiled: Loadable, options: Mapping[str, Any] | None = None, *, deadline: float | None = 120
    ) -> RemoteModel:
        """The model, started with `options`, those of the runtime's `load`. Files that the device has are not sent."""
        self._session.put(compiled.contents)
        request = {"op": "load", "manifest": compiled.fields, "options": dict(options or {})}
        header = self.call(request, deadline=deadline).header
        return RemoteModel(self, header["model"], header["info"])

    def call(self, request: Header, payload: Buffer = b"", *, deadline: float | None = 120) -> Message:
        """The device's answer to a request of its own, within `deadline` seconds."""
        header = {"op": "call", "lease": self._lease, "deadline": deadline, "request": request}
        return self._session.call(header, payload, limit=None)

    def release(self) -> None:
        self._session.call({"op": "release", "lease": self._lease})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if not (isinstance(error, RpcError) and error.kind in ("gone", "refused")):
            self.release()


class RemoteModel:
    """A model on a device. `info` is what the runtime's `info()` says: the backend that really runs among it."""

    def __init__(self, device: LeasedDevice, number: int, info: Mapping[str, Any]) -> None:
        self._device = device
        self._number = number
        self.info = info

    def run(self, inputs: Mapping[str, Array], *, deadline: float | None = 120) -> dict[str, Array]:
        """Arrays by name, as `CompiledModel.run`."""
        return unpack_arrays(self._call("run", inputs, {}, deadline))

    def time(
        self, inputs: Mapping[str, Array], *, repeat: int = 10, warmup: int = 3, deadline: float | None = 120
    ) -> list[float]:
        """Milliseconds of each of `repeat` runs, on the device, after `warmup` others."""
        reply = self._call("time", inputs, {"repeat": repeat, "warmup": warmup}, deadline)
        return [float(t) for t in reply.header["times"]]

    def profile(
        self, inputs: Mapping[str, Array], *, repeat: int = 1, deadline: float | None = 120
    ) -> list[dict[str, Any]]:
        """What the runtime's `profile` gives, of each kernel: its name, its nodes, milliseconds, the mean of `repeat`
        launches."""
        reply = self._call("profile", inputs, {"repeat": repeat}, deadline)
        profile: list[dict[str, Any]] = reply.header["profile"]
        return profile

    def unload(self) -> None:
        self._device.call({"op": "unload", "model": self._number})

    def _call(
        self, op: str, inputs: Mapping[str, Array], options: Mapping[str, Any], deadline: float | None
    ) -> Message:
        arrays, payload = pack_arrays(inputs)
        request = {"op": op, "model": self._number, "arrays": arrays, **options}
        return self._device.call(request, payload, deadline=deadline)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if not isinstance(error, RpcError):
            self.unload()
