"""`webnn-rpc` on the command line: what it prints, what it refuses, and that Ctrl-C ends it."""

from __future__ import annotations

import hashlib
import io
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import pytest
from cli.command import heed_interrupts, printed_until
from click.testing import CliRunner, Result
from cryptography import x509
from onnx_models import model, node
from python_device import open_socket, python_device
from webnn_compile.cli.rpc_command import main
from webnn_compile.errors import InputError
from webnn_compile.rpc.client import RpcError, connect
from webnn_compile.rpc.messages import VERSION, Assembler, Message, encode
from webnn_compile.rpc.start_broker import Address, start_broker
from webnn_compile.rpc.tls import self_signed_certificate
from webnn_compile.system.write_npz import write_npz

PROGRAM = Path(sys.executable).with_name("webnn-rpc")


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    with start_broker() as made:
        yield made


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


def refusal(*arguments: str) -> str:
    result = invoke(*arguments)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    return result.output


def test_help_names_the_commands() -> None:
    text = invoke("--help").output
    assert all(command in text for command in ("serve", "devices", "run"))


def test_devices_are_listed(address: Address) -> None:
    assert "No device has joined: open the broker's address" in invoke("devices", "--broker", address.page).output
    with python_device(address, name="phone", backends=("webgpu", "wasm")):
        text = invoke("devices", "--broker", address.page).output
    assert re.search(r"phone.*none.*webgpu, wasm.*no", text)


def test_names_of_devices_are_shown_as_they_are(address: Address) -> None:
    with python_device(address, name="x[/b]", backends=("[red]", "wasm")):
        result = invoke("devices", "--broker", address.page)
    assert result.exit_code == 0, result.output
    assert re.search(r"x\[/b\].*\[red\], wasm", result.output)


def test_messages(address: Address, tmp_path: Path) -> None:
    assert "the token is wrong" in refusal("devices", "--broker", f"{address.url}/#x")
    assert "no broker answers at 127.0.0.1:9" in refusal("devices", "--broker", "http://127.0.0.1:9/#t")
    assert "no token for 127.0.0.1:9: give the whole address" in refusal("devices", "--broker", "http://127.0.0.1:9")
    run = ("run", "m.onnx", "--broker", address.page)
    assert "no device has joined: open the broker's address" in refusal(*run, "--wait", "0.1")
    assert "--input x: give NAME=FILE.npy" in refusal(*run, "--input", "x")
    assert "give a file of numpy.save" in refusal(*run, "--input", f"x={tmp_path / 'none.npy'}")
    with python_device(address):
        assert "m.onnx" in refusal(*run)


@pytest.mark.parametrize("wait", ["nan", "inf", "-1", "1e999", "", "x"])
def test_times_to_wait_that_are_none(wait: str) -> None:
    assert f"{wait!r} is not a time such as 90s, 10m or 1h" in refusal("run", "m.onnx", f"--wait={wait}")
    assert "is longer than 1000000000 seconds" in refusal("run", "m.onnx", "--wait", "9" * 400)


def test_the_scheme_of_an_address(address: Address, caplog: pytest.LogCaptureFixture) -> None:
    """The scheme is that of a broker with TLS, or without."""
    other = address.page.replace("http:", "https:")
    said = refusal("devices", "--broker", other)
    assert f"if the broker was started without TLS, give {address.url}" in said
    certificate, _ = self_signed_certificate(("127.0.0.1",))
    with start_broker(tls=certificate) as secure:
        said = refusal("devices", "--broker", secure.page.replace("https:", "http:"))
    assert f"if the broker was started with TLS, give {secure.url}" in said
    assert not caplog.records


def test_what_serve_refuses(address: Address, tmp_path: Path) -> None:
    port = address.url.rpartition(":")[2]
    assert f"cannot listen on 127.0.0.1, port {port}" in refusal("serve", "--port", port)
    assert "give at least 16 characters" in refusal("serve", "--host", "0.0.0.0", "--token", "secret")
    assert "--cert and --key belong together" in refusal("serve", "--cert", "x.pem")
    for more, reason in (((), "give PEM files"), (("--tls", "self-signed"), "leave it out")):
        assert reason in refusal("serve", "--cert", str(tmp_path / "c"), "--key", str(tmp_path / "k"), *more)


@pytest.mark.parametrize("token", ["", "é", "a b", "a%41", "a#b", "x\ny", "[b]", "abc\n"])
def test_tokens_that_no_address_has(monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    """An empty one is none by mistake, not a wish for a random one."""
    reason = "give a token of letters A to Z, digits and the characters - . _ ~"
    assert f"--token: {reason}" in refusal("serve", "--port", "0", "--token", token)
    monkeypatch.setenv("WEBNN_RPC_TOKEN", token)
    assert f"WEBNN_RPC_TOKEN: {reason}" in refusal("serve", "--port", "0")
    with pytest.raises(ValueError, match="give a token of letters"), start_broker(token=token):
        pass


@pytest.mark.parametrize("host", ["", ".", "a..b", "x" * 70])
def test_hosts_that_have_no_name(host: str) -> None:
    assert "give an address or a name of this machine" in refusal("serve", "--port", "0", "--host", host)
    with pytest.raises(ValueError, match="give an address"), start_broker(host):
        pass


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_serve_until_ctrl_c(tls: bool) -> None:
    command = [sys.executable, "-m", "webnn_compile.cli.rpc_command", "serve", "--port", "0"]
    with subprocess.Popen(
        [*command, *(["--tls", "self-signed"] if tls else [])],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    ) as process:
        try:
            text = printed_until(process, "Ctrl-C")
            page = re.search(r"  (https?://127\.0\.0\.1:\d+/#\S+)\n", text)
            assert page is not None, text
            fingerprint = re.search(r"  ((?:[0-9A-F]{2}:){31}[0-9A-F]{2})\n", text)
            assert (fingerprint is not None) == tls
            with connect(page[1], fingerprint=fingerprint[1] if fingerprint else None) as session:
                assert session.devices() == []
            if tls:
                with pytest.raises(RpcError, match=r"the certificate of .* cannot be verified.*WEBNN_RPC_FINGERPRINT"):
                    connect(page[1])
                with pytest.raises(RpcError, match="another fingerprint"):
                    connect(page[1], fingerprint="00" * 32)
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
        finally:
            process.kill()


def test_self_signed_certificates_name_their_hosts_and_give_no_tickets() -> None:
    """A ticket arrives after the handshake: OpenSSL may break a connection on which it is read while another thread
    writes."""
    hosts = ["192.168.1.7", "localhost", "é.example"]
    context, fingerprint = self_signed_certificate((*hosts, "localhost"))
    ours, theirs = socket.socketpair()
    with ours, theirs, ThreadPoolExecutor(1) as pool:
        served = pool.submit(context.wrap_socket, theirs, server_side=True)
        unverified = ssl.create_default_context()
        unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
        with unverified.wrap_socket(ours) as client, served.result(30) as server:
            server.sendall(b"x")
            assert client.recv(1) == b"x"
            assert client.version() == "TLSv1.3"
            assert client.session is not None
            assert not client.session.has_ticket
            der = client.getpeercert(binary_form=True)
    assert der is not None
    assert hashlib.sha256(der).hexdigest() == fingerprint.replace(":", "").lower()
    names = x509.load_der_x509_certificate(der).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(n.value) for n in names] == [*hosts[:2], "xn--9ca.example"]


def test_a_broker_for_other_machines_shows_their_address(monkeypatch: pytest.MonkeyPatch) -> None:
    from webnn_compile.cli.addresses import reachable, with_host

    assert reachable("192.168.1.7") == "192.168.1.7"
    monkeypatch.setattr(socket.socket, "connect", lambda *_: None)
    monkeypatch.setattr(socket.socket, "getsockname", lambda _: ("10.1.2.3", 5))
    for every in ("0.0.0.0", "0", "::", "::0"):
        assert reachable(every) == "10.1.2.3"
    assert with_host("http://[::]:8765/#t", "fd00::7") == "http://[fd00::7]:8765/#t"
    assert with_host("https://127.0.0.1:8765/#t", "host") == "https://host:8765/#t"


def test_models_run_and_results_are_written(address: Address, tmp_path: Path) -> None:
    """On a device that gives back what it gets: e2e/test_rpc has real ones."""
    import onnx

    path, x = tmp_path / "m.onnx", np.arange(6, dtype=np.float32).reshape(2, 3)
    onnx.save(model([node("Relu", ["x"], ["y"])], {"x": ["n", 3]}, ["y"]), path)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "x64.npy", x.astype(np.float64))

    def answer(m: Message) -> tuple[dict[str, object], bytes]:
        match m.header["op"]:
            case "load":
                assert [b["backend"] for b in m.header["manifest"]["backends"]] == ["wasm"]
                assert m.header["manifest"]["inputs"][0]["shape"] == [2, 3]
                return {"model": 1, "info": {"backend": "wasm"}}, b""
            case "run":
                return {"arrays": [{"name": "y", "dtype": "float32", "shape": [2, 3]}]}, bytes(m.payload)
            case "time":
                return {"times": [3, 1, 2]}, b""
            case _:
                return {}, b""

    with python_device(address, answer):
        given = ("--shape", "x=2x3", "--input", f"x={tmp_path / 'x64.npy'}")
        reason = "expected float32[2, 3], got float64[2, 3]"
        assert reason in refusal("run", str(path), "--broker", address.page, *given)
        inputs = ("--input", f"x={tmp_path / 'x.npy'}", "--out", str(tmp_path / "y.npz"), "--time", "3")
        refused = invoke("run", str(path), "--broker", address.page, "--dim", "n=3..9", *inputs)
        assert refused.exit_code == 2, refused.output
        assert "makes n 2, and the model was compiled for 3 to 9" in refused.output
        result = invoke("run", str(path), "--broker", address.page, *inputs)
        at_random = invoke("run", str(path), "--broker", address.page, "--dim", "n=2")
    assert at_random.exit_code == 0, at_random.output
    assert "inputs at random: --input x=FILE.npy would be yours" in at_random.output
    assert "y: float32 [2, 3]" in at_random.output
    assert result.exit_code == 0, result.output
    assert "wasm on python (CPU)" in result.output
    assert "y: float32 [2, 3]" in result.output
    assert "2 ms, the median of 3" in result.output
    np.testing.assert_array_equal(np.load(tmp_path / "y.npz")["y"], x)


def test_outputs_replace_no_input(tmp_path: Path) -> None:
    file = tmp_path / "x.npy"
    np.save(file, np.zeros(2, np.float32))
    before = file.read_bytes()
    said = refusal("run", "m.onnx", "--input", f"x={file}", "--out", str(file), "--broker", "http://127.0.0.1:1/")
    assert "is a file that is read, too; give another file" in said
    assert file.read_bytes() == before


def test_inputs_that_are_missing(address: Address, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(model([node("Add", ["x", "y"], ["z"])], {"x": [2], "y": [2]}, ["z"]), path)
    np.save(tmp_path / "x.npy", np.zeros(2, np.float32))
    with python_device(address):
        said = refusal("run", str(path), "--broker", address.page, "--input", f"x={tmp_path / 'x.npy'}")
    assert "no --input for y: give NAME=FILE.npy for each input, or none to draw all at random" in said


LIES: list[tuple[dict[str, object], dict[str, object], str]] = [
    ({"model": 1, "info": {}}, {}, "no model with a number and the backend that runs it"),
    ({"model": 1, "info": "wasm"}, {}, "no model with a number and the backend that runs it"),
    ({"model": 1, "info": {"backend": "webgl"}}, {}, "a model on webgl, where wasm was requested"),
    ({}, {"name": "z"}, "outputs ['z'], where the model has ['y']"),
    ({}, {"shape": [3, 2]}, "output 'y' as float32[3, 2], where the model has float32[2, 3]"),
    ({}, {"shape": [6]}, "output 'y' as float32[6], where the model has float32[2, 3]"),
    ({}, {"dtype": "int32"}, "output 'y' as int32[2, 3], where the model has float32[2, 3]"),
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie[2][:30])
def test_replies_that_do_not_fit_the_model(
    address: Address, tmp_path: Path, lie: tuple[dict[str, object], dict[str, object], str]
) -> None:
    loaded, array, reason = lie
    path = tmp_path / "m.onnx"
    onnx.save(model([node("Relu", ["x"], ["y"])], {"x": [2, 3]}, ["y"]), path)

    def answer(m: Message) -> tuple[dict[str, object], bytes]:
        replies: dict[str, tuple[dict[str, object], bytes]] = {
            "load": (loaded or {"model": 1, "info": {"backend": "wasm"}}, b""),
            "run": ({"arrays": [{"name": "y", "dtype": "float32", "shape": [2, 3], **array}]}, bytes(24)),
        }
        return replies.get(m.header["op"], ({}, b""))

    with python_device(address, answer):
        said = refusal("run", str(path), "--broker", address.page)
    assert f"python sent a reply that cannot be taken: {reason}" in said


def test_outputs_are_written_by_any_name(tmp_path: Path) -> None:
    """`np.savez` has parameters of its own."""
    arrays = {
        n: np.arange(i, dtype=np.float32) for i, n in enumerate(("allow_pickle", "file", "args", "a/b:0", "", "ä"))
    }
    with (tmp_path / "out.npz").open("wb") as file:
        write_npz(file, arrays)
    with np.load(tmp_path / "out.npz") as found:
        assert sorted(found.files) == sorted(arrays)
        for name, a in arrays.items():
            np.testing.assert_array_equal(found[name], a)
    for name in ("a\0b", "x" * 70_000):
        with pytest.raises(InputError, match="cannot be that of an array"):
            write_npz(io.BytesIO(), {name: np.zeros(1)})


def test_the_broker_removes_its_files_when_it_is_ended(tmp_path: Path) -> None:
    """As systemd and `docker stop` end it, or a terminal that is closed."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        process = subprocess.Popen(
            [PROGRAM, "serve", "--port", "0"],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(tmp_path)},
        )
        try:
            page = re.search(r"  (http://\S+)\n", printed_until(process, "Ctrl-C"))
            assert page
            with connect(page[1]) as session:
                session.put({hashlib.sha256(b"1").hexdigest(): b"1"})
            assert list(tmp_path.iterdir())
            process.send_signal(number)
            assert process.wait(30) == 0
            assert list(tmp_path.iterdir()) == []
        finally:
            process.kill()


def test_a_model_is_served(tmp_path: Path) -> None:
    """The command compiles it for a page's backend and SIMD, and says how a page gets it."""
    path = tmp_path / "net.onnx"
    onnx.save(model([node("Relu", ["x"], ["y"])], {"x": ["n", 3]}, ["y"]), path)
    command = [PROGRAM, "serve", path, "--port", "0", "--shape", "x=2x3"]
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, text=True)
    try:
        said = printed_until(process, "Ctrl-C ends")
        page = re.search(r"connect\('(http://127\.0\.0\.1:(\d+)/#\S+)'\)", said)
        assert page
        assert f"import {{ connect }} from 'http://127.0.0.1:{page[2]}/rpc.js'" in said
        url, _, token = page[1].partition("/#")
        hello = {"op": "hello", "version": VERSION, "role": "page", "token": token, "id": 0}
        with open_socket(Address(url, token)) as opened:
            for frame in encode(Message({**hello, "backend": "wasm", "features": ["relaxed", "plain"]})):
                opened.send(frame)
            assembler, headers = Assembler(), []
            while len(headers) < 2:
                message = assembler.feed(opened.recv())
                if message is not None:
                    headers.append(message.header)
        assert headers[1]["op"] == "model"
        (part,) = headers[1]["manifest"]["backends"]
        assert part["backend"] == "wasm"
        assert list(part["modules"]) == ["relaxed"]
        assert headers[1]["manifest"]["inputs"][0]["shape"] == [2, 3]
    finally:
        process.terminate()
        process.wait()


def test_a_model_that_cannot_be_served(tmp_path: Path) -> None:
    assert "none.onnx" in refusal("serve", str(tmp_path / "none.onnx"), "--port", "0")
