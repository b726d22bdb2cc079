"""What the broker answers to HTTP: its page, stored files however slowly they are read, and nothing to strangers."""

from __future__ import annotations

import contextlib
import hashlib
import random
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial

import pytest
from python_device import UPGRADE, PythonDevice, open_socket, python_device
from webnn_compile.rpc.client import Session, connect
from webnn_compile.rpc.connection import network_of
from webnn_compile.rpc.limits import Limits
from webnn_compile.rpc.start_broker import Address, start_broker
from webnn_compile.rpc.tls import self_signed_certificate
from websockets.exceptions import InvalidStatus


def test_files_are_sent_once_and_served(device: PythonDevice, session: Session, address: Address) -> None:
    data = random.Random(1).randbytes(9_000_000)
    sha256 = hashlib.sha256(data).hexdigest()
    session.put({sha256: data})
    url = address.url + device.files + sha256
    with urllib.request.urlopen(url) as response:
        assert response.read() == data
        assert "immutable" in response.headers["Cache-Control"]
    session.put({sha256: b"not looked at: the broker has it"})
    for other in (url[:-1] + "?", address.url + "/files/guessed/" + sha256, address.url + "/files/" + sha256):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(other)


@contextlib.contextmanager
def _download(broker: Address, size: int) -> Iterator[socket.socket]:
    """A connection that has asked for a file of `size` bytes and has read nothing."""
    data = random.Random(2).randbytes(size)
    sha256 = hashlib.sha256(data).hexdigest()
    with python_device(broker) as device, connect(broker.page) as session:
        session.put({sha256: data})
        with _plain_socket(broker) as opened:
            opened.sendall(f"GET {device.files}{sha256} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            yield opened


def _plain_socket(broker: Address) -> socket.socket:
    host, _, port = broker.url.rpartition("/")[2].partition(":")
    return socket.create_connection((host, int(port)), 20)


def _read_all(opened: socket.socket) -> int:
    """The number of bytes until the end, or a reset."""
    count = 0
    with contextlib.suppress(ConnectionError):
        while piece := opened.recv(2**20):
            count += len(piece)
    return count


def test_a_slow_download_is_whole(address: Address) -> None:
    """Longer than the 10 s that the library gives to responses."""
    size = 40_000_000
    with _download(address, size) as opened:
        time.sleep(12)
        assert _read_all(opened) > size


@pytest.mark.parametrize("pause", [0, 3], ids=["fast", "slow"])
def test_a_download_over_tls_is_whole(pause: float) -> None:
    """However late the other side reads the last of it: longer than the second after which sockets are aborted."""
    certificate, fingerprint = self_signed_certificate(("127.0.0.1",))
    data = random.Random(4).randbytes(9_000_000)
    sha256 = hashlib.sha256(data).hexdigest()
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    with start_broker(tls=certificate) as own, connect(own.page, fingerprint=fingerprint) as session:
        session.put({sha256: data})
        with python_device(own, ssl=trusting) as device, trusting.wrap_socket(_plain_socket(own)) as opened:
            opened.sendall(f"GET {device.files}{sha256} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            found = b""
            while not found.endswith(data[-50:]) and (piece := opened.recv(2**16)):
                found += piece
                if pause and len(found) > len(data) - 2_000_000:
                    time.sleep(pause)
                    pause = 0
            assert found.partition(b"\r\n\r\n")[2] == data


def test_a_download_that_stalls_ends() -> None:
    size = 40_000_000
    with start_broker(limits=Limits(stall=0.2)) as own, _download(own, size) as opened:
        time.sleep(1)
        assert _read_all(opened) < size


def test_a_connection_without_a_request_ends(address: Address) -> None:
    with _plain_socket(address) as opened:
        opened.sendall(b"GET / HTTP/1.1\r\n")
        assert _read_all(opened) == 0


def test_the_device_page_and_the_runtime_are_served(address: Address) -> None:
    for path, kind in (
        ("/", "text/html"),
        ("/rpc/page/device.js", "text/javascript"),
        ("/runtime-js/errors.js", "text/j"),
    ):
        with urllib.request.urlopen(address.url + path) as response:
            assert response.headers["Content-Type"].startswith(kind)
            assert response.headers["Cross-Origin-Opener-Policy"] == "same-origin"
            assert "unsafe-eval" not in response.headers["Content-Security-Policy"].replace("wasm-unsafe-eval", "")
    for path in ("/rpc/broker.py", "/../pyproject.toml", "/%2e%2e/x", "/rpc/page"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(address.url + path)


def test_sockets_of_other_origins_are_refused(address: Address) -> None:
    for origin in ("https://example.org", address.url):
        with open_socket(address, origin=origin):
            pass
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1"):
        with pytest.raises(InvalidStatus, match="403"), open_socket(address, origin=origin):
            pass


def test_names_that_lead_here_are_no_reason_for_trust(address: Address) -> None:
    """A stranger's page may have a name with this machine's address; its own origin is then the requested host."""
    port = address.url.rpartition(":")[2]
    for host, trusted in (("localhost", True), ("[::1]", True), ("10.0.0.7", True), ("evil.example", False)):
        url = f"{host}:{port}"
        with contextlib.ExitStack() as stack:
            if not trusted:
                stack.enter_context(pytest.raises(InvalidStatus, match="403"))
            stack.enter_context(
                open_socket(Address(f"http://{url}", ""), sock=_plain_socket(address), origin=f"http://{url}")
            )


def test_requests_that_are_no_urls(address: Address, capfd: pytest.CaptureFixture[str]) -> None:
    for path, extra, status in (("//[", "", b" 400 "), ("/socket", "Origin: http://[\r\n", b" 403 ")):
        with _plain_socket(address) as opened:
            opened.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{extra}\r\n".encode())
            assert status in opened.recv(1000).partition(b"\r\n")[0]
    assert "Traceback" not in capfd.readouterr().err


def test_a_download_that_is_not_read_does_not_hold_up_the_end() -> None:
    with contextlib.ExitStack() as downloads:
        with start_broker() as own:
            opened = downloads.enter_context(_download(own, 40_000_000))
            assert opened.recv(1)
            start = time.monotonic()
        assert time.monotonic() - start < 10


def test_too_many_connections_of_any_kind() -> None:
    """The oldest unauthenticated connection is closed for the next one."""
    with start_broker(limits=Limits(sockets=2)) as own, contextlib.ExitStack() as stack:
        opened = [stack.enter_context(_plain_socket(own)) for _ in range(3)]
        assert _read_all(opened[0]) == 0
        opened[2].sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert _read_all(opened[2]) > 0


def test_sockets_that_say_nothing_keep_nobody_out() -> None:
    """Neither those that have sent nothing, nor WebSockets without a hello; what has joined stays."""
    with start_broker(limits=Limits(sockets=12, strangers=4, connections=5)) as own, contextlib.ExitStack() as stack:
        device = stack.enter_context(python_device(own))
        session = stack.enter_context(connect(own.page))
        download = stack.enter_context(_download(own, 40_000_000))
        assert download.recv(1)
        for _ in range(20):
            stack.enter_context(_plain_socket(own))
            silent = stack.enter_context(_plain_socket(own))
            silent.sendall(UPGRADE.encode())
        with connect(own.page) as other:
            assert device.name in [d.name for d in other.devices()]
        assert len(session.devices()) == 2
        assert _read_all(download) >= 40_000_000


def test_whose_connection_it_is() -> None:
    """Of IPv6 a site has more addresses than a limit for each of them could count."""
    assert network_of(("192.0.2.7", 5)) == "192.0.2.7"
    assert network_of(("2001:db8::7", 5, 0, 0)) == network_of(("2001:db8::ffff:1", 6, 0, 0)) == "2001:db8::/64"
    assert network_of(("2001:db8:0:1::7", 5, 0, 0)) == "2001:db8:0:1::/64"
    assert network_of(("::ffff:192.0.2.7", 5, 0, 0)) != network_of(("::ffff:192.0.2.8", 5, 0, 0))
    assert network_of(("fe80::1%eth0", 5, 0, 0)) == "fe80::/64"
    assert network_of(None) == network_of("") == ""


@pytest.mark.parametrize("name", ["Origin", "Host"])
@pytest.mark.parametrize("path", ["/socket", "/"])
def test_headers_that_are_there_twice(address: Address, caplog: pytest.LogCaptureFixture, name: str, path: str) -> None:
    request = UPGRADE.replace("/socket", path).replace("Host: x\r\n", f"{name}: {address.url}\r\n" * 2)
    with _plain_socket(address) as opened:
        opened.sendall(request.encode())
        answer = b"".join(iter(partial(opened.recv, 1000), b""))
    assert b" 400 " in answer.partition(b"\r\n")[0]
    assert f"There are several headers '{name}'".encode() in answer
    assert not caplog.records


@pytest.mark.parametrize("rest", [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"abc", bytes(1000)])
def test_more_than_a_request(address: Address, caplog: pytest.LogCaptureFixture, rest: bytes) -> None:
    with _plain_socket(address) as opened:
        opened.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + rest)
        _read_all(opened)
    with connect(address.page) as session:
        assert session.devices() == []
    assert not caplog.records
