"""A broker in a thread of its own, with the pages that it serves."""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from .broker import Broker
from .file_store import FileStore
from .limits import Limits
from .origins import origin_of
from .pages import Pages
from .serving import ServedModel

_SERVED = (".js", ".css", ".svg", ".html")
START = 10.0
"""Seconds in which a broker listens, or does not."""

_TOKEN = re.compile(r"[A-Za-z0-9._~-]+")
"""Characters that stand in the fragment of an address as they are."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a broker listens. `page` is what a browser opens to become a device; the token stands in its fragment,
    which browsers send to no server."""

    url: str
    token: str

    @property
    def page(self) -> str:
        return f"{self.url}/#{self.token}"


@contextlib.contextmanager
def start_broker(
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    token: str | None = None,
    origins: Sequence[str] = (),
    tls: ssl.SSLContext | None = None,
    limits: Limits | None = None,
    model: ServedModel | None = None,
) -> Iterator[Address]:
    """Serves until the block ends, `model` to pages that subscribe to it. Port 0 takes a free one, no token a random
    one. Raises OSError where the address is taken, ValueError where host, token or one of `origins` is none."""
    check_host(host)
    if token is None:
        token = secrets.token_urlsafe(24)
    check_token(token)
    store = FileStore()
    limits = limits or Limits()
    hosts = (host, socket.gethostname())
    pages = Pages(
        static_files(), store.open, secrets.token_urlsafe(24), hosts, tuple(map(origin_of, origins)), limits.stall
    )
    broker = Broker(token, pages, store, limits, model=model)
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    ports: list[int] = []
    failed: list[BaseException] = []
    ready = threading.Event()

    async def serve() -> None:
        try:
            async with broker.listen(host, port, tls) as server:
                ports.append(next(iter(server.sockets)).getsockname()[1])
                ready.set()
                await stop.wait()
        except BaseException as error:
            failed.append(error)
            raise
        finally:
            ready.set()

    def run() -> None:
        with contextlib.suppress(OSError):
            loop.run_until_complete(serve())

    thread = threading.Thread(target=run, name="webnn-rpc broker", daemon=True)
    thread.start()
    try:
        ready.wait(START)
        if failed:
            raise failed[0]
        shown = f"[{host}]" if ":" in host else host
        yield Address(f"{'https' if tls else 'http'}://{shown}:{ports[0]}", token)
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()
        store.close()


def check_token(token: str) -> None:
    """Raises ValueError for one that cannot stand in an address as it is."""
    if not _TOKEN.fullmatch(token):
        raise ValueError("give a token of letters A to Z, digits and the characters - . _ ~, or none for a random one")


def check_host(host: str) -> None:
    """Raises ValueError for what no host is named."""
    try:
        if host.encode("idna"):  # an empty one would be all addresses of this machine
            return
    except UnicodeError:
        pass
    raise ValueError("give an address or a name of this machine, 0.0.0.0 for all its addresses")


def static_files() -> dict[str, bytes]:
    """The device page and the runtime, by path: the tree of the sources."""
    page, runtime = files("webnn_compile.rpc") / "device_page", files("webnn_compile.runtime_js")
    served = {**_read(page, "/rpc/device_page"), **_read(runtime, "/runtime-js")}
    served["/"] = served["/rpc/device_page/index.html"]
    served["/rpc.js"] = b'export { connect } from "/rpc/device_page/connect.js";\n'
    return served


def _read(folder: Traversable, path: str) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    for entry in folder.iterdir():
        if entry.is_dir():
            contents |= _read(entry, f"{path}/{entry.name}")
        elif entry.name.endswith(_SERVED):
            contents[f"{path}/{entry.name}"] = entry.read_bytes()
    return contents
