"""Memory of the broker does not grow with data that its peers send, or do not read."""

from __future__ import annotations

import contextlib
import random
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from broker_process import BrokerProcess, broker_process, soon
from effort import effort_of
from python_device import PythonDevice, RawClient, open_socket, python_device
from webnn_compile.rpc.client import connect
from webnn_compile.rpc.descriptors import allow_sockets
from webnn_compile.rpc.messages import VERSION, join_frame
from webnn_compile.rpc.start_broker import Address
from websockets.exceptions import ConnectionClosed
from websockets.protocol import State

MIB = 2**20


@pytest.fixture(scope="module")
def broker() -> Iterator[BrokerProcess]:
    with broker_process() as process:
        yield process


def test_random_frames_do_not_harm_it(broker: BrokerProcess) -> None:
    """1,000 of them, damaged in one place, from clients and from devices that have a call to answer: each ends its own
    connection at most, and the memory of the broker's process stays the same."""
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda seed: send_random_frames(broker.address, seed), range(20)))
        before = broker.memory()
        list(threads.map(lambda seed: send_random_frames(broker.address, seed), range(20, 70)))
    assert broker.memory() - before < 2 * MIB
    with connect(broker.address.page) as session:
        soon(lambda: session.devices() == [])


def send_random_frames(address: Address, seed: int) -> None:
    """20, each after the broker has handled the one before."""
    draw = random.Random(seed)
    with RawClient(address) as client:
        sender: RawClient | PythonDevice | None = None
        for _ in range(20):
            if sender is None:
                sender = RawClient(address) if draw.random() < 0.5 else called_device(address, client, f"d{seed}")
            call = sender.messages[0].header["id"] if isinstance(sender, PythonDevice) else 0
            try:
                sender.socket.send(damaged(draw, call))
                for _ in range(2):  # the first is answered before the frame is looked at
                    sender.socket.ping(ack_on_close=True).wait(10)
            except ConnectionClosed:
                pass
            if sender.socket.state is not State.OPEN:
                sender.close()
                sender = None
        if sender is not None:
            sender.close()


def called_device(address: Address, client: RawClient, name: str) -> PythonDevice:
    """A device that does not answer its call."""
    device = PythonDevice(address, lambda _: None, name)
    lease = client.ask({"id": 1, "op": "lease", "device": device.name})["lease"]
    client.send({"id": 2, "op": "call", "lease": lease, "request": {"op": "run"}})
    soon(lambda: device.messages)
    return device


def damaged(draw: random.Random, call: int) -> bytes:
    bodies = [
        {"id": 1, "op": "call", "lease": 1, "deadline": 1, "request": {"op": "run"}},
        {"id": 1, "op": "lease", "device": "any", "timeout": 0.01},
        {"id": 1, "op": "have", "files": ["0" * 64]},
        {"id": 1, "op": "put", "sha256": "0" * 64, "bytes": 9},
        {"id": 1, "re": call, "bytes": 5, "arrays": []},
        {"id": 2, "re": call},
        {"id": 1, "at": 0},
    ]
    junk = [None, [], {}, "x", -1, 2.5, 10**30, True, {"a": [1]}, [[]]]
    header = dict(draw.choice(bodies))
    header[draw.choice(list(header))] = draw.choice(junk)
    frame = bytearray(join_frame(header, draw.randbytes(draw.choice((0, 5, 9)))))
    if draw.random() < 0.3:
        frame[draw.randrange(len(frame))] = draw.randrange(256)
    return bytes(frame)


def test_a_slow_reader_blocks_no_other_client(broker: BrokerProcess) -> None:
    """Replies that a client does not read wait at the device, not in the broker's memory."""
    with (
        python_device(broker.address, lambda _: ({"n": 1}, bytes(128 * MIB))) as device,
        RawClient(broker.address, max_queue=1) as slow,
    ):
        lease = slow.lease()
        before = broker.memory()
        slow.send({"id": 2, "op": "call", "lease": lease, "request": {"op": "run"}})
        soon(lambda: device.messages)
        others = python_device(broker.address, name="other")
        with others, connect(broker.address.page) as session, session.lease("other") as leased:
            for _ in range(100):
                assert leased.call({"op": "run"}, bytes(1000))
        assert broker.memory() - before < 40 * MIB


def test_a_client_that_reads_no_replies_is_not_read_either(broker: BrokerProcess) -> None:
    before = broker.memory()
    facts = {"browser": "x" * 30_000}
    with python_device(broker.address, facts=facts), RawClient(broker.address, max_queue=1) as client:
        client.socket.socket.settimeout(0.5)
        client.lease()
        with contextlib.suppress(ConnectionClosed, OSError):  # where nothing more is taken
            for n in range(3_000):
                client.send({"id": n, "op": "devices", "padding": "x" * 1000})
        with connect(broker.address.page) as session:
            for _ in range(50):
                session.devices()
    assert broker.memory("VmHWM") - before < 60 * MIB


def test_incomplete_files_wait_on_disk(broker: BrokerProcess) -> None:
    before = broker.memory()
    with RawClient(broker.address) as client:
        for id in range(8):
            client.send({"id": id, "op": "put", "sha256": "0" * 64, "bytes": 2**30}, bytes(MIB))
        for at in range(1, 12):
            for id in range(8):
                client.send({"id": id, "at": at * MIB}, bytes(MIB))
        client.ask({"id": 99, "op": "have", "files": []})
        assert broker.memory() - before < 30 * MIB


def test_thousands_of_idle_sockets(pytestconfig: pytest.Config) -> None:
    """From one address: neither memory nor clients' calls notice. `make test-all` opens 5,000."""
    count = 5_000 if effort_of(pytestconfig) == "all" else 1_000
    resource = pytest.importorskip("resource")
    allow_sockets(3_000)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    with broker_process() as own, contextlib.ExitStack() as opened, connect(own.address.page) as session:
        before = own.memory()
        host, port = own.address.url.rpartition("/")[2].split(":")
        for _ in range(min(count, soft - 500)):
            opened.enter_context(socket.create_connection((host, int(port)), 10))
        with connect(own.address.page) as other, python_device(own.address) as device:
            assert [d.name for d in other.devices()] == [d.name for d in session.devices()] == [device.name]
        assert own.memory() - before < 20 * MIB


def test_a_hello_is_short(broker: BrokerProcess) -> None:
    """Its sender may lack the token."""
    with open_socket(broker.address, close_timeout=0.1) as opened:
        hello = {"id": 0, "op": "hello", "version": VERSION, "role": "client", "token": broker.address.token}
        with contextlib.suppress(ConnectionClosed):
            opened.send(join_frame({**hello, "padding": "x" * 300_000}, b""))
        with pytest.raises(ConnectionClosed):
            opened.recv(10)
