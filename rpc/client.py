"""The client: lists and leases devices, loads compiled models on them, runs and times them.

with connect(url) as session:
    device = session.lease(target="webgpu")
    model = device.load(compiled)
    results = model.run({"x": x})
    milliseconds = device.time(model, {"x": x}, repeat=20)
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import itertools
import os
import ssl
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self
from urllib.parse import SplitResult, urlsplit, urlunsplit

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage, InvalidURI
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
from .replies import read_error, read_loaded, read_profile, read_times

TOKEN_VARIABLE = "WEBNN_RPC_TOKEN"
FINGERPRINT_VARIABLE = "WEBNN_RPC_FINGERPRINT"

_SCHEMES = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}
ANSWER = 30.0
"""Seconds within which the broker answers requests that do not wait for a device."""


class RpcError(Exception):
    """The error that ends a call. `kind` is one of PROTOCOL.md, section Errors; the message says what to do."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Loadable(Protocol):
    """A compiled model: the manifest of a bundle as JSON, and the contents of its files by sha256. `check_outputs`
    raises ValueError where `outputs` cannot be those of a run on `inputs`."""

    @property
    def fields(self) -> Mapping[str, Any]: ...
    @property
    def contents(self) -> Mapping[str, Buffer]: ...
    def check_outputs(self, inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> None: ...


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
    parts = _split_address(url)
    token = token or parts.fragment or os.environ.get(TOKEN_VARIABLE, "")
    if not token:
        advice = f"give the whole address that `webnn-rpc serve` prints, or set {TOKEN_VARIABLE}"
        raise RpcError("refused", f"no token for {parts.netloc}: {advice}")
    address = urlunsplit((_SCHEMES[parts.scheme], parts.netloc, SOCKET, "", ""))
    fingerprint = fingerprint or os.environ.get(FINGERPRINT_VARIABLE)
    tls = _unverified() if address.startswith("wss:") and fingerprint else None
    stack = contextlib.ExitStack()
    try:
        opening = open_socket(address, max_size=LARGEST_FRAME, compression=None, open_timeout=ANSWER, ssl=tls)
        socket = stack.enter_context(opening)
    except ssl.SSLCertVerificationError as error:
        raise RpcError(
            "address",
            f"the certificate of {parts.netloc} cannot be verified: {error.verify_message}; where the broker made it, "
            f"set {FINGERPRINT_VARIABLE} to the fingerprint that `webnn-rpc serve` prints",
        ) from None
    except (OSError, TimeoutError, InvalidHandshake, InvalidURI, UnicodeError) as error:  # names of hosts are IDNA
        reason = str(error.__cause__ or error) or type(error).__name__
        advice = "start `webnn-rpc serve`"
        if isinstance(error, ssl.SSLError | ConnectionResetError | InvalidMessage):
            other = "out TLS, give http" if address.startswith("wss:") else " TLS, give https"
            advice = f"if the broker was started with{other}://{parts.netloc}"
        raise RpcError("address", f"no broker answers at {parts.netloc}: {reason}; {advice}") from None
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


def _split_address(url: str) -> SplitResult:
    """Raises RpcError for what is no address of a broker."""
    with contextlib.suppress(ValueError):
        parts = urlsplit(url if "//" in url else f"http://{url}")
        if parts.scheme in _SCHEMES and parts.hostname and parts.port != 0:  # `port` raises ValueError, too
            return parts
    raise RpcError("address", f"{url!r} is no address of a broker: give the one that `webnn-rpc serve` prints")


def _unverified() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _has_fingerprint(socket: ClientConnection, fingerprint: str) -> bool:
    connection = socket.socket
    certificate = connection.getpeercert(binary_form=True) if isinstance(connection, ssl.SSLSocket) else None
    actual = hashlib.sha256(certificate or b"").hexdigest()
    return hmac.compare_digest(actual, fingerprint.replace(":", "").lower())


class Session:
    """A connection to a broker. Its methods may be called from several threads. All of them raise RpcError."""

    def __init__(self, socket: ClientConnection, opened: contextlib.ExitStack) -> None:
        """`opened` closes the socket."""
        self._socket = socket
        self._opened = opened
        self._ids = itertools.count()
        self._pending: dict[int, Future[Message]] = {}
        self._closed: RpcError | None = None
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def closed(self) -> bool:
        """Whether the connection has ended: no call succeeds any more."""
        return self._closed is not None

    def devices(self) -> list[DeviceInfo]:
        with _read_as("the broker", self.call({"op": "devices"})) as header:
            return [_device_info(d) for d in header["devices"]]

    def lease(self, device: str = ANY, target: str | None = None, timeout: float | None = None) -> LeasedDevice:
        """A device of this name, or any, that runs models for the target, "webgpu", "webgl" or "wasm": at once or when
        it is free, within `timeout` seconds. It is ours until `release`, or the end of the session."""
        request = {"op": "lease", "device": device, "backend": target, "timeout": timeout}
        try:
            reply = self.call(request, limit=None)
        except RpcError as error:
            reason = self._unmet(device, target) if error.kind == "busy" else None
            raise RpcError("busy", reason) if reason else error from None
        with _read_as("the broker", reply) as header:
            return LeasedDevice(self, header["lease"], _device_info(header["device"]))

    def _unmet(self, device: str, target: str | None) -> str | None:
        """Why no device could have been leased, where that is not because others use it."""
        joined = self.devices()
        if not joined:
            return "no device has joined: open the broker's address in a browser"
        named = [d for d in joined if device in (ANY, d.name)]
        if not named:
            return f"no device named {device} has joined; the devices are {', '.join(d.name for d in joined)}"
        if target is None or any(target in d.backends for d in named):
            return None
        return "; ".join(lack_of(d, target) for d in named)

    def put(self, files: Mapping[str, Buffer]) -> None:
        """Sends the files, by their sha256, that the broker lacks."""
        with _read_as("the broker", self.call({"op": "have", "files": list(files)})) as header:
            missing = {sha256: files[sha256] for sha256 in header["missing"]}
        for sha256, data in missing.items():
            self.call({"op": "put", "sha256": sha256}, data, limit=None)

    def call(
        self, header: Header, payload: Buffer = b"", limit: float | None = ANSWER, sender: str = "the broker"
    ) -> Message:
        """The reply of `sender` to a request, within `limit` seconds."""
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
        except (TypeError, ValueError) as error:  # no JSON
            raise RpcError("request", f"the request cannot be sent: {error}") from None
        finally:
            self._pending.pop(id, None)
        with _read_as(sender, message) as reply_header:
            failure = read_error(reply_header)
        if failure is not None:
            raise RpcError(*failure)
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
                re = message.header.get("re") if message else None
                reply = self._pending.get(re) if isinstance(re, int) else None
                if message and reply and not reply.done():
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


def _device_info(d: object) -> DeviceInfo:
    match d:
        case {"name": str(name), "backends": [*own], "facts": {} as facts, "leased": bool(leased), "waiting": int(n)}:
            return DeviceInfo(name, tuple(map(str, own)), facts, leased, n)
    raise ProtocolError(f"no device is described by {str(d)[:100]}")


def lack_of(device: DeviceInfo, target: str) -> str:
    """Why a device lacks a target: a sentence, with the reason if its page reported one."""
    missing = device.facts.get("missing")
    reason = missing.get(target) if isinstance(missing, Mapping) else None
    return f"{device.name} has no {target}, only {', '.join(device.backends)}{f': {reason}' if reason else ''}"


@contextlib.contextmanager
def _read_as(sender: str, reply: Message) -> Iterator[Header]:
    """The header of a reply, for reading it: RpcError where it lacks what a reply has, or has it otherwise."""
    try:
        yield reply.header
    except (ProtocolError, LookupError, TypeError, ValueError, OverflowError) as error:
        reason = error if isinstance(error, ProtocolError | ValueError) else repr(error)
        raise RpcError("protocol", f"{sender} sent a reply that cannot be taken: {reason}") from None


class LeasedDevice:
    """A leased device, until `release`, which frees its models."""

    def __init__(self, session: Session, lease: int, info: DeviceInfo) -> None:
        self._session = session
        self._lease = lease
        self.info = info

    def load(
        self, compiled: Loadable, options: Mapping[str, Any] | None = None, *, deadline: float | None = 120
    ) -> RemoteModel:
        """The model, started with `options`, those of the runtime's `load`. Files that the device has are not sent."""
        self._session.put(compiled.contents)
        options = dict(options or {})
        request = {"op": "load", "manifest": compiled.fields, "options": options}
        with _read_as(self.info.name, self.call(request, deadline=deadline)) as header:
            number, info = read_loaded(header, options.get("backend"))
        return RemoteModel(self, number, info, compiled)

    def time(
        self,
        model: RemoteModel,
        inputs: Mapping[str, Array],
        *,
        repeat: int = 10,
        warmup: int = 3,
        deadline: float | None = 120,
    ) -> list[float]:
        """Milliseconds of each of `repeat` runs of a model that is loaded here, after `warmup` others."""
        if model.device is not self:
            raise RpcError("request", f"the model is not on {self.info.name}: load it there")
        reply = model.call("time", inputs, {"repeat": repeat, "warmup": warmup}, deadline)
        with _read_as(self.info.name, reply) as header:
            return read_times(header, repeat)

    def call(self, request: Header, payload: Buffer = b"", *, deadline: float | None = 120) -> Message:
        """The device's answer to a request of its own, within `deadline` seconds."""
        header = {"op": "call", "lease": self._lease, "deadline": deadline, "request": request}
        return self._session.call(header, payload, limit=None, sender=self.info.name)

    def release(self) -> None:
        self._session.call({"op": "release", "lease": self._lease})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if not (isinstance(error, RpcError) and error.kind in ("gone", "refused")):
            self.release()


class RemoteModel:
    """A model on a device. `info` is what the runtime's `info()` says: the backend that really runs among it."""

    def __init__(self, device: LeasedDevice, number: int, info: Mapping[str, Any], compiled: Loadable) -> None:
        self.device = device
        self._number = number
        self.info = info
        self._compiled = compiled

    def run(self, inputs: Mapping[str, Array], *, deadline: float | None = 120) -> dict[str, Array]:
        """Arrays by name, as `CompiledModel.run`; of the model's names, dtypes and shapes."""
        reply = self.call("run", inputs, {}, deadline)
        with _read_as(self.device.info.name, reply):
            outputs = unpack_arrays(reply)
            self._compiled.check_outputs(inputs, outputs)
            return outputs

    def profile(
        self, inputs: Mapping[str, Array], *, repeat: int = 1, deadline: float | None = 120
    ) -> list[dict[str, Any]]:
        """The result of the runtime's `profile` for each kernel: its name, its nodes, milliseconds, the mean of
        `repeat` launches."""
        reply = self.call("profile", inputs, {"repeat": repeat}, deadline)
        with _read_as(self.device.info.name, reply) as header:
            return read_profile(header)

    def unload(self) -> None:
        self.device.call({"op": "unload", "model": self._number})

    def call(self, op: str, inputs: Mapping[str, Array], options: Mapping[str, Any], deadline: float | None) -> Message:
        """The device's answer to a request about this model, which takes inputs."""
        try:
            arrays, payload = pack_arrays(inputs)
        except TypeError as error:
            raise RpcError("request", str(error)) from None
        request = {"op": op, "model": self._number, "arrays": arrays, **options}
        return self.device.call(request, payload, deadline=deadline)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # Nor after an interrupt: a run may still be executing, and the end of the lease frees the model, too.
        if error is None or (isinstance(error, Exception) and not isinstance(error, RpcError)):
            self.unload()
