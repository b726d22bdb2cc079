"""Answers of the broker to HTTP and TLS: its page, stored files however slowly they are read, limits of sockets."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import random
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from functools import partial

import pytest
from python_device import UPGRADE, PythonDevice, open_socket, python_device
from webnn_compile.rpc.client import FINGERPRINT_VARIABLE, Session, connect
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


TRUSTING = ssl.create_default_context()
TRUSTING.check_hostname, TRUSTING.verify_mode = False, ssl.CERT_NONE


@pytest.fixture(scope="module")
def certificate() -> tuple[ssl.SSLContext, str]:
    """With its fingerprint."""
    return self_signed_certificate(("127.0.0.1",))


@pytest.fixture(params=["http", "https"])
def tls(request: pytest.FixtureRequest, certificate: tuple[ssl.SSLContext, str]) -> Iterator[ssl.SSLContext | None]:
    """The TLS context of a broker; clients know its fingerprint."""
    if request.param == "http":
        yield None
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FINGERPRINT_VARIABLE, certificate[1])
        yield certificate[0]


@contextlib.contextmanager
def _download(broker: Address, size: int) -> Iterator[socket.socket]:
    """A connection that has asked for a file of `size` bytes and has read nothing."""
    data = random.Random(2).randbytes(size)
    sha256 = hashlib.sha256(data).hexdigest()
    with python_device(broker, ssl=_trusting(broker)) as device, connect(broker.page) as session:
        session.put({sha256: data})
        with _open(broker) as opened:
            opened.sendall(f"GET {device.files}{sha256} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            yield opened


def _plain_socket(broker: Address) -> socket.socket:
    host, _, port = broker.url.rpartition("/")[2].partition(":")
    return socket.create_connection((host, int(port)), 20)


def _open(broker: Address) -> socket.socket:
    """After the handshake, where the broker has TLS."""
    opened = _plain_socket(broker)
    return TRUSTING.wrap_socket(opened) if _trusting(broker) else opened


def _trusting(broker: Address) -> ssl.SSLContext | None:
    return TRUSTING if broker.url.startswith("https:") else None


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
def test_a_download_over_tls_is_whole(certificate: tuple[ssl.SSLContext, str], pause: float) -> None:
    """However late the other side reads the last of it: longer than the second after which sockets are aborted."""
    data = random.Random(4).randbytes(9_000_000)
    sha256 = hashlib.sha256(data).hexdigest()
    with start_broker(tls=certificate[0]) as own, connect(own.page, fingerprint=certificate[1]) as session:
        session.put({sha256: data})
        with python_device(own, ssl=TRUSTING) as device, _open(own) as opened:
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


def test_a_connection_without_a_tls_handshake_ends(certificate: tuple[ssl.SSLContext, str]) -> None:
    with start_broker(tls=certificate[0], limits=Limits(hello=0.2)) as own:
        for start in (b"", b"\x16\x03\x01\x02"):
            with _plain_socket(own) as opened:
                opened.sendall(start)
                assert _read_all(opened) == 0


def test_a_request_that_comes_with_the_end_of_the_tls_handshake(certificate: tuple[ssl.SSLContext, str]) -> None:
    """In one packet, so that it arrives while TLS begins."""
    arrived, left = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = TRUSTING.wrap_bio(arrived, left)
    with start_broker(tls=certificate[0]) as own, _plain_socket(own) as opened:
        while tls.version() is None or left.pending == 0:
            try:
                tls.do_handshake()
                tls.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            except ssl.SSLWantReadError:
                opened.sendall(left.read())
                arrived.write(opened.recv(2**16))
        opened.sendall(left.read())
        arrived.write(opened.recv(2**16))
        assert tls.read(15) == b"HTTP/1.1 200 OK"


def test_tls_handshakes_that_fail(
    certificate: tuple[ssl.SSLContext, str], caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whatever the other side sends instead, or where it leaves."""
    with start_broker(tls=certificate[0]) as own:
        for sent in (b"", b"\x16\x03\x01\x02", b"GET / HTTP/1.1\r\n\r\n", bytes(2**18)):
            with _plain_socket(own) as opened, contextlib.suppress(ConnectionError):
                opened.sendall(sent)
        with _plain_socket(own) as opened:
            opened.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            _read_all(opened)
        with connect(own.page, fingerprint=certificate[1]) as session:
            assert session.devices() == []
    assert not caplog.records
    assert capfd.readouterr().err == ""


def test_the_device_page_and_the_runtime_are_served(address: Address) -> None:
    for path, kind in (
        ("/", "text/html"),
        ("/rpc/device_page/device.js", "text/javascript"),
        ("/runtime-js/errors.js", "text/j"),
    ):
        with urllib.request.urlopen(address.url + path) as response:
            assert response.headers["Content-Type"].startswith(kind)
            assert response.headers["Cross-Origin-Opener-Policy"] == "same-origin"
            assert "unsafe-eval" not in response.headers["Content-Security-Policy"].replace("wasm-unsafe-eval", "")
    for path in ("/rpc/broker.py", "/../pyproject.toml", "/%2e%2e/x", "/rpc/device_page"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(address.url + path)


def _answer(broker: Address, request: str) -> tuple[Message, bytes]:
    """Headers, the status among them as "Status", and the body."""
    with _plain_socket(broker) as opened:
        opened.sendall(request.encode())
        head, _, body = b"".join(iter(partial(opened.recv, 2**20), b"")).partition(b"\r\n\r\n")
    return message_from_bytes(b"Status: " + head), body


def test_head_has_the_headers_of_get_alone(address: Address, device: PythonDevice, session: Session) -> None:
    sha256 = hashlib.sha256(b"123").hexdigest()
    session.put({sha256: b"123"})
    for path, length in ((f"{device.files}{sha256}", 3), ("/", None), ("/none", None)):
        asked, body = _answer(address, f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")
        assert len(body) == int(asked["Content-Length"])
        assert length in (None, len(body))
        head, nothing = _answer(address, f"HEAD {path} HTTP/1.1\r\nHost: x\r\n\r\n")
        assert [(k, v) for k, v in head.items() if k != "Date"] == [(k, v) for k, v in asked.items() if k != "Date"]
        assert nothing == b""


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "get", "HEAD"])
def test_other_methods_are_refused(address: Address, method: str) -> None:
    for path, allowed in (("/", "GET, HEAD"), ("/none", "GET, HEAD"), ("/socket", "GET")):
        if method in allowed:
            continue
        head, body = _answer(address, f"{UPGRADE.replace('GET', method).replace('/socket', path)}")
        assert head["Status"].startswith("HTTP/1.1 405")
        assert head["Allow"] == allowed
        assert bool(body) == (method != "HEAD")


def test_sockets_of_other_origins_are_refused(address: Address) -> None:
    for origin in ("https://example.org", address.url):
        with open_socket(address, origin=origin):
            pass
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1"):
        with pytest.raises(InvalidStatus, match="403"), open_socket(address, origin=origin):
            pass


def test_names_that_lead_here_are_no_reason_for_trust(address: Address) -> None:
    """With DNS rebinding the origin of a page of another site is the requested host."""
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


def test_too_many_connections_of_any_kind(tls: ssl.SSLContext | None) -> None:
    """The oldest unauthenticated connection is closed for the next one, TLS handshakes among them."""
    with start_broker(limits=Limits(sockets=2), tls=tls) as own, contextlib.ExitStack() as stack:
        opened = [stack.enter_context(_plain_socket(own)) for _ in range(3)]
        assert _read_all(opened[0]) == 0
        last = stack.enter_context(_open(own))
        last.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert _read_all(last) > 0


def test_silent_sockets_keep_no_other_connection_out(
    tls: ssl.SSLContext | None, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither those that have sent nothing, nor WebSockets without a hello; what has joined stays."""
    limits = Limits(sockets=12, unauthenticated=4, connections=5)
    with contextlib.ExitStack() as outer:
        with start_broker(limits=limits, tls=tls) as own, contextlib.ExitStack() as stack:
            device = stack.enter_context(python_device(own, ssl=_trusting(own)))
            session = stack.enter_context(connect(own.page))
            download = stack.enter_context(_download(own, 40_000_000))
            assert download.recv(1)
            for _ in range(20):
                stack.enter_context(_plain_socket(own))
                silent = stack.enter_context(_open(own))
                silent.sendall(UPGRADE.encode())
            with connect(own.page) as other:
                assert device.name in [d.name for d in other.devices()]
            assert len(session.devices()) == 2
            assert _read_all(download) >= 40_000_000
            last = outer.enter_context(_plain_socket(own))
        assert _read_all(last) == 0
    assert not caplog.records


@pytest.mark.filterwarnings("error")
def test_sockets_that_come_as_the_broker_ends(tls: ssl.SSLContext | None, caplog: pytest.LogCaptureFixture) -> None:
    """They are closed, even those that were accepted and not yet counted."""
    for _ in range(100):
        with start_broker(tls=tls) as own:
            last = _plain_socket(own)
        with last:
            assert _read_all(last) == 0
    gc.collect()  # tasks that are still pending are logged when they are freed
    assert not caplog.records


def test_the_network_of_a_connection() -> None:
    """IPv6 addresses count by network: a site has more of them than a limit for each could count."""
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
