"""A leased tab as a device of the tuner: its name, the clock that times it, and what happens where it is lost."""

from __future__ import annotations

import contextlib
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from python_device import python_device
from webnn_compile.cli.remote_device import RemoteDevice
from webnn_compile.rpc.client import RpcError, connect
from webnn_compile.rpc.messages import Message
from webnn_compile.rpc.start_broker import start_broker
from webnn_compile.tune.device_error import DeviceError, DeviceGone


class LeasingSession:
    """Leases a device of these facts."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self._info = SimpleNamespace(name="tab", facts=facts)

    def lease(self, *_: object, **__: object) -> Any:
        return SimpleNamespace(info=self._info)


def device(facts: dict[str, Any], backend: str) -> RemoteDevice:
    return RemoteDevice(LeasingSession(facts), "any", backend, {}, 1.0)  # type: ignore[arg-type]


FACTS = {"browser": "Chrome 140", "platform": "Linux", "clock": 0.005, "webgpu": {"adapter": "gpu", "clock": 0.1}}


@pytest.mark.parametrize(("backend", "clock"), [("wasm", 0.005), ("webgl", 0.005), ("webgpu", 0.1)])
def test_timestamps_of_gpus_are_coarser_than_the_pages_clock(backend: str, clock: float) -> None:
    assert device(FACTS, backend).clock == clock
    assert device({"browser": "Old"}, backend).clock == 0.1


def test_records_name_browser_and_adapter() -> None:
    assert device(FACTS, "webgpu").name == "Chrome 140: gpu"
    assert device(FACTS, "wasm").name == "Chrome 140 on Linux"


def test_a_broker_with_another_token_is_not_asked_again() -> None:
    made = device(FACTS, "wasm")

    def refuse(*_: object, **__: object) -> None:
        raise RpcError("refused", "the token is wrong")

    made._device = None
    made._session = SimpleNamespace(closed=False, lease=refuse)  # type: ignore[assignment]
    with pytest.raises(DeviceGone, match=r"^the token is wrong"):
        made.load(COMPILED, deadline=10)


COMPILED: Any = SimpleNamespace(fields={}, contents={}, check_outputs=lambda *_: None)


def answer(message: Message) -> tuple[dict[str, Any], bytes]:
    loads = message.header["op"] == "load"
    return ({"model": 1, "info": {"backend": "wasm"}} if loads else {"times": [2.0]}), b""


def test_a_search_goes_on_after_a_restart_of_the_broker() -> None:
    with contextlib.ExitStack() as opened:
        with start_broker() as first, python_device(first, answer, name="tab"):
            session = opened.enter_context(connect(first.page))
            device = RemoteDevice(session, "any", "wasm", {}, 10, reconnect=partial(connect, first.page))
            opened.callback(device.close)
            assert device.load(COMPILED, deadline=10).time({}, deadline=10) == 2
        port = int(first.url.rpartition(":")[2])
        with start_broker(port=port, token=first.token) as second, python_device(second, answer, name="tab"):
            with pytest.raises(DeviceError) as caught:
                device.load(COMPILED, deadline=10)
            assert caught.value.kind == "lost"
            assert device.load(COMPILED, deadline=10).time({}, deadline=10) == 2
            device.close()
