"""Faults of a client, a device or the broker itself end where they belong, and end every call that waits for them."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from broker_process import broker_process, soon
from python_device import UPGRADE, PythonDevice, RawClient, open_socket, python_device
from webnn_compile.rpc.client import RpcError, Session, connect
from webnn_compile.rpc.leases import Leases
from webnn_compile.rpc.limits import Limits
from webnn_compile.rpc.messages import LARGEST_FRAME, MALFORMED, MOST_OPEN, Message, encode, join_frame
from webnn_compile.rpc.start_broker import Address, start_broker
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode


def begin_reply(device: PythonDevice) -> None:
    """Sends a part of the reply to the first call."""
    soon(lambda: device.messages)
    reply = Message({"id": 7, "re": device.messages[0].header["id"]}, bytes(3_000_000))
    for frame in list(encode(reply))[:2]:
        device.socket.send(frame)


def test_a_device_that_is_gone_in_the_middle_of_its_reply(
    address: Address, threads: ThreadPoolExecutor, session: Session
) -> None:
    for _ in range(MOST_OPEN + 1):
        with python_device(address, lambda _: None) as lost:
            leased = session.lease()
            reply = threads.submit(leased.call, {"op": "run"}, deadline=None)
            begin_reply(lost)
        with pytest.raises(RpcError, match="device python is gone") as caught:
            reply.result(10)
        assert caught.value.kind == "gone"


def test_a_reply_that_stays_incomplete(address: Address, threads: ThreadPoolExecutor, session: Session) -> None:
    with python_device(address, lambda _: None) as device, session.lease() as leased:
        reply = threads.submit(leased.call, {"op": "run"}, deadline=0.3)
        begin_reply(device)
        with pytest.raises(RpcError, match=r"has not answered for 0\.3 s"):
            reply.result(10)
        soon(lambda: device.messages[-1].header.get("op") == "cancel")


@pytest.mark.parametrize("field", ["id", "re", "at", "bytes"])
def test_requests_have_no_fields_of_frames(device: PythonDevice, session: Session, field: str) -> None:
    with session.lease() as leased:
        with pytest.raises(RpcError, match="`call` takes a request without id, re, at, bytes") as caught:
            leased.call({"op": "run", field: 5}, deadline=5)
        assert caught.value.kind == "request"
        assert leased.call({"op": "run"}, bytes(5)).payload == bytes(5)


def test_a_large_call_after_its_lease(device: PythonDevice, session: Session) -> None:
    leased = session.lease()
    leased.release()
    with pytest.raises(RpcError, match="the lease has ended"):
        leased.call({"op": "run"}, bytes(3_000_000))
    assert len(session.devices()) == 1


@pytest.mark.parametrize("seconds", ["1" + "0" * 400, "-1", "true", '"1"', "[]"])
def test_times_that_are_none(address: Address, device: PythonDevice, seconds: str) -> None:
    with RawClient(address) as client:
        lease = client.lease()
        for name, text in (
            ("timeout", f'{{"id": 2, "op": "lease", "timeout": {seconds}}}'),
            ("deadline", f'{{"id": 2, "op": "call", "lease": {lease}, "request": {{}}, "deadline": {seconds}}}'),
        ):
            client.send_text(text)
            error = client.receive().header["error"]
            assert error["kind"] == "request"
            assert f"{name} is a number of seconds" in error["message"]


@pytest.mark.parametrize(
    "text", ['{"id": 1, "op": "lease", "timeout": NaN}', '{"id": 1, "op": "\\ud800"}', '{"id": []}']
)
def test_malformed_requests_end_their_connection(address: Address, text: str) -> None:
    with RawClient(address) as client:
        client.send_text(text)
        with pytest.raises(ConnectionClosed) as closed:
            client.receive()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == MALFORMED


@pytest.mark.parametrize(
    ("key", "facts"),
    [
        ("a", '{"a": NaN}'),
        ("b", '{"b": "\\ud800"}'),
        ("c", '{"c":' * 20 + "1" + "}" * 20),
        ("d", '{"d": "' + "x" * 40_000 + '"}'),
    ],
)
def test_facts_that_no_client_could_read(address: Address, session: Session, key: str, facts: str) -> None:
    with open_socket(address) as opened:
        start = (
            f'{{"op": "hello", "version": 1, "role": "device", "token": "{address.token}", "name": "d", "backends": [],'
        )
        text = f'{start} "facts": {facts}}}'.encode()
        opened.send(len(text).to_bytes(4, "little") + text)
        with pytest.raises(ConnectionClosed, match="4400"):
            opened.recv(10)
    assert session.devices() == []


def test_a_failure_of_the_broker_is_answered(
    device: PythonDevice, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise KeyError("planted")

    with monkeypatch.context() as patch:
        patch.setattr(Leases, "waiting", fail)
        with pytest.raises(RpcError, match="the broker failed: KeyError: 'planted'"):
            session.devices()
    assert len(session.devices()) == 1


def test_too_many_requests_are_refused() -> None:
    with (
        start_broker(limits=Limits(requests=3)) as own,
        python_device(own, lambda _: None),
        RawClient(own) as client,
    ):
        lease = client.lease()
        for id in range(2, 6):
            client.send({"id": id, "op": "call", "lease": lease, "request": {}})
        first = client.receive()
        assert first.header["re"] == 5
        assert "3 calls are under way already" in first.header["error"]["message"]
        for id in range(6, 10):
            client.send({"id": id, "op": "lease"})
        second = client.receive()
        assert second.header["re"] == 9
        assert "3 requests for a lease wait already" in second.header["error"]["message"]


def test_a_lease_is_used_until_its_last_call_ends() -> None:
    def slowly(_: Message) -> tuple[dict[str, Any], bytes]:
        time.sleep(0.6)
        return {}, b""

    with start_broker(limits=Limits(idle_lease=0.4)) as own, python_device(own, slowly), connect(own.page) as session:
        leased = session.lease()
        leased.call({"op": "run"})
        time.sleep(0.15)
        leased.call({"op": "run"})


def test_a_tab_that_comes_back_has_its_name(address: Address, session: Session) -> None:
    """The broker need not have noticed that the first connection is lost."""
    with python_device(address, name="phone", tab="1a2b") as lost:
        leased = session.lease("phone")
        with (
            python_device(address, name="phone", tab="1a2b") as back,
            python_device(address, name="phone", tab="3c4d") as other,
        ):
            assert (back.name, other.name) == ("phone", "phone-2")
            lost._thread.join(10)
            assert not lost._thread.is_alive()
            assert [d.name for d in session.devices()] == ["phone", "phone-2"]
            with pytest.raises(RpcError, match="the lease has ended"):
                leased.call({"op": "run"})
            with session.lease("phone") as again:
                assert again.call({"op": "run"}, b"1").payload == b"1"
    soon(lambda: not session.devices())


def test_a_peer_that_is_not_read_is_not_lost(threads: ThreadPoolExecutor) -> None:
    """Its pongs stand behind data whose receiver is slow: here a device that shows signs of life, and reads nothing."""
    pong = Frame(Opcode.PONG, b"").serialize(mask=True, extensions=[])
    with start_broker(limits=Limits(ping=0.1)) as own, connect(own.page) as session, RawClient(own) as client:
        with silent_device(own) as device:
            soon(session.devices)
            lease = client.lease()
            call = {"id": 2, "op": "call", "lease": lease, "request": {}}
            sending = threads.submit(lambda: [client.socket.send(f) for f in encode(Message(call, bytes(48 * 2**20)))])
            for _ in range(20):
                time.sleep(0.05)
                device.sendall(pong)
            assert not sending.done()
            assert len(session.devices()) == 1
        messages = [client.receive().header for _ in range(2)]
        assert {m.get("op") or m["error"]["kind"] for m in messages} == {"ended", "gone"}


def test_a_silent_connection_is_lost() -> None:
    with start_broker(limits=Limits(ping=0.05)) as own, connect(own.page) as session, silent_device(own):
        soon(session.devices)
        soon(lambda: not session.devices())


@contextlib.contextmanager
def silent_device(address: Address) -> Iterator[socket.socket]:
    """One that reads nothing, and answers nothing, not even pings."""
    host, _, port = address.url.rpartition("/")[2].partition(":")
    hello = (
        f'{{"op":"hello","version":1,"role":"device","token":"{address.token}","name":"d","backends":[],"facts":{{}}}}'
    )
    data = len(hello).to_bytes(4, "little") + hello.encode()
    with socket.create_connection((host, int(port)), 20) as opened:
        opened.sendall(UPGRADE.encode() + Frame(Opcode.BINARY, data).serialize(mask=True, extensions=[]))
        yield opened


@pytest.mark.parametrize("who", ["client", "device"])
def test_a_frame_that_is_too_large(address: Address, session: Session, who: str) -> None:
    """Ends its own connection."""
    large = join_frame({"id": 5, "op": "have"}, bytes(LARGEST_FRAME))
    with python_device(address, lambda _: None) as device, RawClient(address) as client:
        client.send({"id": 2, "op": "call", "lease": client.lease(), "request": {}})
        soon(lambda: device.messages)
        sender = client.socket if who == "client" else device.socket
        with contextlib.suppress(ConnectionClosed):
            sender.send(large)
        if who == "client":
            with pytest.raises(ConnectionClosed, match="1009"):
                client.receive()
            soon(lambda: device.messages[-1].header.get("op") == "released")
            assert not session.devices()[0].leased
        else:
            messages = [client.receive().header for _ in range(2)]
            assert {m.get("op") or m["error"]["kind"] for m in messages} == {"ended", "gone"}
            assert session.devices() == []


def test_a_call_that_is_too_large() -> None:
    """Ends the client's connection before the device gets any of it."""
    with (
        start_broker(limits=Limits(payload=2**20)) as own,
        python_device(own) as device,
        connect(own.page) as session,
        connect(own.page) as other,
    ):
        leased = session.lease()
        assert leased.call({"op": "run"}, bytes(2**20))
        with pytest.raises(RpcError, match="a message of 1048577 bytes; 1048576 are the most"):
            leased.call({"op": "run"}, bytes(2**20 + 1))
        soon(lambda: device.messages[-1].header.get("op") == "released")
        with other.lease() as leased:
            assert leased.call({"op": "run"}, b"1").payload == b"1"


def test_a_broker_that_is_killed() -> None:
    """Its peers hear of it, and may join the next one at the same address."""
    token = "the-same-token"
    with broker_process(token=token) as killed, connect(killed.address.page) as session:
        device = PythonDevice(killed.address, lambda _: None)
        leased = session.lease()
        with ThreadPoolExecutor(1) as threads:
            reply = threads.submit(leased.call, {"op": "run"}, deadline=None)
            soon(lambda: device.messages)
            killed.kill()
            with pytest.raises(RpcError, match="the connection to the broker ended") as caught:
                reply.result(10)
        assert caught.value.kind == "gone"
        device._thread.join(10)
        assert not device._thread.is_alive()
        port = int(killed.address.url.rpartition(":")[2])
        with (
            start_broker(port=port, token=token) as next_one,
            python_device(next_one),
            connect(next_one.page) as again,
            again.lease() as leased,
        ):
            assert leased.call({"op": "run"}, b"1").payload == b"1"
