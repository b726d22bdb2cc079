"""The client: the interface that the documentation shows, and one kind of error for whatever goes wrong."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx_models import model, node
from python_device import python_device
from webnn_compile.rpc.client import DeviceInfo, LeasedDevice, RpcError, Session, connect, lack_of
from webnn_compile.rpc.messages import Message
from webnn_compile.rpc.start_broker import Address, start_broker
from webnn_compile.rpc.tls import self_signed_certificate

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "devices.md"
EMPTY = SimpleNamespace(fields={}, contents={}, check_outputs=lambda *_: None)
"""A compiled model without files, which may have any outputs."""
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def echo(message: Message) -> tuple[dict[str, Any], bytes]:
    """A device whose models give back what they get."""
    match message.header["op"]:
        case "load":
            return {"model": 1, "info": {"backend": "webgpu"}}, b""
        case "run":
            return {"arrays": message.header["arrays"]}, bytes(message.payload)
        case "time":
            return {"times": [1.5] * message.header["repeat"]}, b""
        case _:
            return {}, b""


def test_the_example_of_the_documentation(address: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    onnx.save(model([node("Relu", ["x"], ["y"])], {"x": [2, 3]}, ["y"]), tmp_path / "model.onnx")
    monkeypatch.chdir(tmp_path)
    found = re.search(r"```python\n(.*?)```", DOCUMENTATION.read_text(), re.DOTALL)
    assert found
    names: dict[str, Any] = {"address": address.page, "x": X}

    def answer(message: Message) -> tuple[dict[str, Any], bytes]:
        header, payload = echo(message)
        return {k: [{**a, "name": "y"} for a in v] if k == "arrays" else v for k, v in header.items()}, payload

    with python_device(address, answer, backends=("webgpu", "wasm")) as device:
        exec(found[1], names)
    assert [m.header["op"] for m in device.messages][:3] == ["load", "run", "time"]
    (part,) = device.messages[0].header["manifest"]["backends"]
    assert part["backend"] == "webgpu"
    np.testing.assert_array_equal(names["results"]["y"], X)
    assert names["milliseconds"] == [1.5] * 20


def test_a_model_is_timed_on_its_own_device_alone(address: Address, session: Session) -> None:
    with python_device(address, echo), python_device(address, echo, name="other"):
        here, there = session.lease("python"), session.lease("other")
        with pytest.raises(RpcError, match="the model is not on other: load it there"):
            there.time(here.load(EMPTY), {"x": X})
        here.release()
        there.release()


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:99999", "http://[::1", "http://127.0.0.1:abc", "http://:80", "http://x:0", "ftp://x", "//", ""],
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(RpcError, match="is no address of a broker: give the one that `webnn-rpc serve` prints"):
        connect(url)


@pytest.mark.parametrize("url", ["http://a..b:8765", f"http://{'x' * 70}:8765", "http://a b:8765"])
def test_names_that_no_host_has(url: str) -> None:
    with pytest.raises(RpcError, match="no broker answers at"):
        connect(url, "x")


def test_a_certificate_that_no_authority_has_signed() -> None:
    context, _ = self_signed_certificate(("127.0.0.1",))
    with start_broker(tls=context) as own, pytest.raises(RpcError) as caught:
        connect(own.page)
    assert "the certificate of 127.0.0.1:" in str(caught.value)
    assert "set WEBNN_RPC_FINGERPRINT to the fingerprint that `webnn-rpc serve` prints" in str(caught.value)


def test_requests_that_cannot_be_sent(address: Address, session: Session) -> None:
    with python_device(address, echo), session.lease() as leased:
        loaded = leased.load(EMPTY)
        for inputs, options, reason in (
            ({"x": X.astype(np.complex64)}, {}, "input 'x' is of complex64, which no model takes"),
            ({"\ud800": X}, {}, "the request cannot be sent: .*surrogates"),
            ({"x": X}, {"deadline": float("nan")}, "the request cannot be sent: Out of range float"),
        ):
            with pytest.raises(RpcError, match=reason) as caught:
                loaded.run(inputs, **options)
            assert caught.value.kind == "request"
        np.testing.assert_array_equal(loaded.run({"x": X})["x"], X)


REPLIES: list[tuple[str, dict[str, Any], bytes]] = [
    ("load", {}, b""),
    ("load", {"model": 1}, b""),
    ("load", {"model": True, "info": {"backend": "webgpu"}}, b""),
    ("load", {"model": 1, "info": {"backend": None}}, b""),
    ("load", {"model": 1, "info": []}, b""),
    ("run", {"arrays": [{"name": "y", "dtype": "int8", "shape": [1]}] * 2}, b"12"),
    ("run", {"arrays": [{"name": "y", "dtype": "int8", "shape": [1] * 99}]}, b"1"),
    ("run", {"arrays": [{"name": "y", "dtype": "int8", "shape": [0, 2**63]}]}, b""),
    ("run", {"arrays": [{"name": "y", "dtype": "int8", "shape": [True]}]}, b"1"),
    ("time", {"times": []}, b""),
    ("time", {"times": [1] * 11}, b""),
    ("time", {"times": [-1] * 10}, b""),
    ("time", {"times": [10**400] * 10}, b""),
    ("profile", {"profile": [{"name": "k"}]}, b""),
    ("profile", {"profile": [{"name": 1, "ms": 1}]}, b""),
    ("profile", {"profile": [{"name": "k", "ms": None}]}, b""),
    ("run", {"arrays": [{"name": "y", "dtype": "float32", "shape": [9]}]}, b"1"),
    ("run", {"arrays": [{"name": "y", "dtype": "float32", "shape": [0, 10**30]}]}, b""),
    ("run", {}, b""),
    ("time", {"times": ["soon"]}, b""),
    ("time", {"times": 3}, b""),
    ("profile", {"profile": [1]}, b""),
    ("profile", {}, b""),
    ("load", {"model": 1, "info": {"backend": "webgpu", "adapter": {"a": 1}}}, b""),
    ("run", {"error": {"kind": 5}}, b""),
    ("run", {"error": {"kind": "device"}}, b""),
    ("run", {"error": {"kind": "device", "message": {"a": 1}}}, b""),
    ("run", {"error": {"kind": "refused", "message": "of the broker's connection alone"}}, b""),
    ("load", {"error": "x"}, b""),
    ("load", {"error": None, "model": 1, "info": {"backend": "webgpu"}}, b""),
]


@pytest.mark.parametrize("case", REPLIES, ids=lambda case: f"{case[0]} {case[1]}")
def test_replies_that_cannot_be_read(
    address: Address, session: Session, case: tuple[str, dict[str, Any], bytes]
) -> None:
    op, header, payload = case

    def use(leased: LeasedDevice) -> None:
        loaded = leased.load(EMPTY)
        calls = {"run": loaded.run, "time": partial(leased.time, loaded), "profile": loaded.profile}
        calls[op]({"x": X})

    device = python_device(address, lambda m: (header, payload) if m.header["op"] == op else echo(m))
    with device, session.lease() as leased:
        with pytest.raises(RpcError, match="python sent a reply that cannot be taken") as caught:
            use(leased)
        assert caught.value.kind == "protocol"
        assert "Error" not in str(caught.value)


def test_why_there_is_no_lease(address: Address, session: Session) -> None:
    with pytest.raises(RpcError, match="no device has joined: open the broker's address in a browser"):
        session.lease(timeout=0.05)
    with python_device(address, echo), python_device(address, echo, name="phone", backends=("webgl", "wasm")):
        with pytest.raises(RpcError, match="no device named x has joined; the devices are python, phone"):
            session.lease("x", timeout=0.05)
        with pytest.raises(RpcError, match=r"^python has no webgpu, only wasm; phone has no webgpu, only webgl, wasm$"):
            session.lease(target="webgpu", timeout=0.05)
        with pytest.raises(RpcError, match=r"^phone has no webgpu, only webgl, wasm$") as caught:
            session.lease("phone", "webgpu", timeout=0.05)
        assert caught.value.kind == "busy"
        with session.lease("phone"), pytest.raises(RpcError, match="any device with webgl was not free within"):
            session.lease(target="webgl", timeout=0.05)


def test_why_a_device_lacks_a_target() -> None:
    facts = {"missing": {"webgpu": "there is no navigator.gpu"}}
    info = DeviceInfo("phone", ("webgl", "wasm"), facts, leased=False, waiting=0)
    assert lack_of(info, "webgpu") == "phone has no webgpu, only webgl, wasm: there is no navigator.gpu"
