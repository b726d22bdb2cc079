"""The broker over real sockets: calls are relayed, what each side may not do, and what ends a connection."""

from __future__ import annotations

import random
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from broker_process import soon
from python_device import PythonDevice, open_socket, python_device
from webnn_compile.rpc.client import RpcError, Session, connect
from webnn_compile.rpc.limits import Limits
from webnn_compile.rpc.messages import MALFORMED, REFUSED, TOO_MANY, VERSION, Message, join_frame
from webnn_compile.rpc.start_broker import Address, start_broker
from websockets.exceptions import ConnectionClosed


def test_calls_reach_the_device_and_replies_the_client(device: PythonDevice, session: Session) -> None:
    (info,) = session.devices()
    assert (info.name, info.backends, info.facts) == ("python", ("wasm",), {"browser": "none"})
    assert not info.leased
    with session.lease() as leased:
        (info,) = session.devices()
        assert info.leased
        for size in (0, 1, 3_000_000, 20_000_000):
            payload = random.Random(size).randbytes(size)
            reply = leased.call({"op": "run", "n": size}, payload)
            assert bytes(reply.payload) == payload
            assert reply.header["n"] == size
    soon(lambda: device.messages[-1].header.get("op") == "released")
    assert not session.devices()[0].leased


def test_calls_of_several_threads_get_their_own_replies(device: PythonDevice, session: Session) -> None:
    with session.lease() as leased:
        wrong: list[int] = []

        def call(n: int) -> None:
            for i in range(30):
                reply = leased.call({"op": "run", "n": [n, i]}, bytes([n]) * (n * 400_000))
                if reply.header["n"] != [n, i] or bytes(reply.payload) != bytes([n]) * (n * 400_000):
                    wrong.append(n)

        threads = [threading.Thread(target=call, args=[n]) for n in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert wrong == []


def test_an_error_of_the_device_is_the_clients(address: Address, session: Session) -> None:
    error = {"kind": "device", "name": "RangeError", "message": "there is no model 7 here"}
    with (
        python_device(address, lambda _: ({"error": error}, b"")),
        session.lease() as leased,
        pytest.raises(RpcError, match="no model 7") as caught,
    ):
        leased.call({"op": "run"})
    assert caught.value.kind == "device"


def test_a_device_that_never_answers(address: Address, session: Session) -> None:
    """Its late answer is dropped, and the next call gets its own."""
    answers = iter([None, ({"n": 2}, b"")])
    with python_device(address, lambda _: next(answers)) as silent, session.lease() as leased:
        with pytest.raises(RpcError, match=r"device python has not answered for 0\.1 s") as caught:
            leased.call({"op": "run"}, deadline=0.1)
        assert caught.value.kind == "timeout"
        soon(lambda: silent.messages[-1].header.get("op") == "cancel")
        assert silent.messages[-1].header["call"] == silent.messages[0].header["id"]
        silent.send({"re": silent.messages[0].header["id"], "n": 1}, bytes(3_000_000))
        assert leased.call({"op": "run"}).header["n"] == 2


@pytest.mark.parametrize("when", ["between calls", "in a call"])
def test_a_device_that_is_gone(address: Address, session: Session, when: str) -> None:
    lost = PythonDevice(address, lambda _: None)
    with session.lease() as leased:
        if when == "in a call":
            threading.Timer(0.1, lost.close).start()
        else:
            lost.close()
            soon(lambda: not session.devices())
        with pytest.raises(RpcError) as caught:
            leased.call({"op": "run"})
        assert caught.value.kind == "gone"
        assert session.devices() == []


def test_a_client_that_is_gone_leaves_its_device_free(address: Address, device: PythonDevice, session: Session) -> None:
    other = connect(address.page)
    other.lease()
    waiting = threading.Thread(target=lambda: session.lease(timeout=20))
    waiting.start()
    soon(lambda: session.devices()[0].waiting == 1)
    other._socket.socket.close()  # as if its process had ended
    waiting.join(20)
    assert not waiting.is_alive()
    soon(lambda: [m.header.get("op") for m in device.messages] == ["released"])


def test_requests_for_leases_time_out(device: PythonDevice, session: Session) -> None:
    with pytest.raises(RpcError, match="python has no webgpu, only wasm") as caught:
        session.lease(target="webgpu", timeout=0.05)
    assert caught.value.kind == "busy"
    with session.lease(), pytest.raises(RpcError, match=r"python was not free"):
        session.lease("python", timeout=0.05)


def test_a_lease_without_calls_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    with start_broker(limits=Limits(idle_lease=0.2)) as own, python_device(own) as device, connect(own.page) as session:
        leased = session.lease()
        soon(lambda: not session.devices()[0].leased)
        with pytest.raises(RpcError, match="the lease has ended"):
            leased.call({"op": "run"})
        soon(lambda: [m.header["op"] for m in device.messages] == ["released"])


def test_a_lease_is_its_clients_alone(address: Address, device: PythonDevice, session: Session) -> None:
    with session.lease() as leased, connect(address.page) as other:
        with pytest.raises(RpcError, match="the lease has ended"):
            other.call({"op": "call", "lease": leased._lease, "request": {"op": "run"}})
        other.call({"op": "release", "lease": leased._lease})
        assert leased.call({"op": "run"})


@pytest.mark.parametrize(
    ("hello", "code", "reason"),
    [
        ({"token": "wrong"}, REFUSED, "the token is wrong"),
        ({"token": None}, REFUSED, "the token is wrong"),
        ({"token": "é"}, REFUSED, "the token is wrong"),
        ({"version": VERSION + 1}, MALFORMED, "version 2 of the protocol"),
        ({"role": "spy"}, MALFORMED, "the role 'spy'"),
        ({"role": "device"}, MALFORMED, "lacks name, backends or facts"),
        ({"op": "devices"}, MALFORMED, "the first message is no hello"),
    ],
)
def test_refused_hellos(address: Address, hello: dict[str, Any], code: int, reason: str) -> None:
    usual = {"id": 0, "op": "hello", "version": VERSION, "role": "client", "token": address.token}
    with open_socket(address) as socket:
        socket.send(join_frame({**usual, **hello}, b""))
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(10)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == code
    assert reason in closed.value.rcvd.reason


@pytest.mark.parametrize(("field", "message"), [("version", "version {!r} of"), ("role", "the role {!r} is none")])
@pytest.mark.parametrize("text", ["x" * 200, "漢" * 60, "x" + "漢" * 60, "😀" * 60, "\x1b" * 60], ids=range(5))
def test_long_reasons_for_closing(
    address: Address, caplog: pytest.LogCaptureFixture, field: str, message: str, text: str
) -> None:
    """WebSocket limits their bytes; they end between characters."""
    hello = {"id": 0, "op": "hello", "version": VERSION, "role": "client", "token": address.token, field: text}
    with open_socket(address) as socket:
        socket.send(join_frame(hello, b""))
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(10)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == MALFORMED
    assert message.format(text).startswith(closed.value.rcvd.reason)
    assert 119 < len(closed.value.rcvd.reason.encode()) <= 123
    assert not caplog.records


def test_a_hello_must_come_in_time(address: Address) -> None:
    with open_socket(address) as socket, pytest.raises(ConnectionClosed, match="no hello came"):
        socket.recv(10)


def test_messages_for_the_user(address: Address) -> None:
    with pytest.raises(RpcError, match="the token is wrong: take the address that the broker prints") as caught:
        connect(address.url, "x")
    assert caught.value.kind == "refused"
    with pytest.raises(RpcError, match=r"no broker answers at 127.0.0.1:9: .*start `webnn-rpc serve`"):
        connect("127.0.0.1:9", "x")
    with pytest.raises(RpcError, match=r"no token for 127.0.0.1:9: give the whole address .* set WEBNN_RPC_TOKEN"):
        connect("127.0.0.1:9")
    with pytest.raises(RpcError, match="'ftp://x' is no address of a broker"):
        connect("ftp://x")


def test_the_token_of_the_environment(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBNN_RPC_TOKEN", address.token)
    with connect(address.url) as session:
        assert session.devices() == []


def test_one_connection_too_many() -> None:
    with (
        start_broker(limits=Limits(connections=1)) as own,
        connect(own.page),
        pytest.raises(RpcError, match="the broker has 1 connections already"),
    ):
        connect(own.page)


def test_a_flood_of_frames_ends_its_connection() -> None:
    with start_broker(limits=Limits(frames_per_second=50)) as own, connect(own.page) as session:

        def flood() -> None:
            for _ in range(1000):
                session.call({"op": "devices"})

        with pytest.raises(RpcError, match="more than 50 frames in a second"):
            flood()
        assert session._socket.close_code == TOO_MANY
        with connect(own.page) as other:
            assert other.devices() == []


def test_a_broker_that_ends_ends_its_sessions() -> None:
    with start_broker() as own:
        session, device = connect(own.page), PythonDevice(own)
    with pytest.raises(RpcError, match="the connection to the broker ended"):
        session.devices()
    device._thread.join(20)
    session.close()


def test_results_arrive_as_they_were(address: Address, session: Session) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)

    compiled = SimpleNamespace(fields={"name": "m"}, contents={}, check_outputs=lambda *_: None)

    def answer(message: Message) -> tuple[dict[str, Any], bytes]:
        match message.header["op"]:
            case "load":
                return {"model": 5, "info": {"backend": "wasm", "of": message.header["manifest"]["name"]}}, b""
            case "run":
                return {"arrays": message.header["arrays"]}, bytes(message.payload)
            case "time":
                return {"times": [1, 2.5]}, b""
            case _:
                return {}, b""

    with python_device(address, answer) as device, session.lease() as leased:
        with leased.load(compiled, {"threads": 2}) as model:
            assert model.info == {"backend": "wasm", "of": "m"}
            np.testing.assert_array_equal(model.run({"x": x})["x"], x)
            assert leased.time(model, {"x": x}, repeat=2) == [1.0, 2.5]
        assert [m.header["op"] for m in device.messages] == ["load", "run", "time", "unload"]
        assert device.messages[0].header["options"] == {"threads": 2}
        assert {m.header["model"] for m in device.messages[1:]} == {5}


@pytest.mark.parametrize(("kind", "unloads"), [(ValueError, True), (RpcError, False), (KeyboardInterrupt, False)])
def test_models_are_unloaded_where_the_device_will_answer(
    address: Address, session: Session, kind: type[BaseException], unloads: bool
) -> None:
    """Not after an interrupt, while it may compute for long. The end of the lease frees the model there, too."""
    compiled = SimpleNamespace(fields={}, contents={}, check_outputs=lambda *_: None)

    def answer(message: Message) -> tuple[dict[str, Any], bytes]:
        return {"model": 5, "info": {"backend": "wasm"}} if message.header["op"] == "load" else {}, b""

    error = RpcError("timeout", "late") if kind is RpcError else kind()
    with python_device(address, answer) as device, session.lease() as leased:
        with pytest.raises(kind), leased.load(compiled):
            raise error
        assert [m.header["op"] for m in device.messages] == ["load"] + ["unload"] * unloads


def test_files_that_are_not_what_they_are_called(session: Session) -> None:
    for name in ("0" * 64, "../x", "A" * 64):
        with pytest.raises(RpcError, match="another sha256") as caught:
            session.put({name: b"1"})
        assert caught.value.kind == "file"
