"""Speed and memory of RPC on loopback: calls, files, tensors, idle devices."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from playwright.sync_api import sync_playwright
from webnn_compile.bundle import Manifest
from webnn_compile.driver.build import build_manifest
from webnn_compile.driver.options import Options
from webnn_compile.rpc.browsers import BrowserName, launch
from webnn_compile.rpc.client import connect
from webnn_compile.rpc.messages import VERSION, Message, encode
from webnn_compile.rpc.start_broker import Address
from websockets.sync.client import connect as open_socket

from .tables import Grid

BROWSERS: tuple[BrowserName, ...] = ("chromium", "firefox")
FILE_BYTES = 100_000_000
TENSOR = 16 * 2**20
"""Elements of 4 bytes."""
CALLS = 300
_FETCH = "(path) => fetch(path).then((r) => r.arrayBuffer()).then((b) => b.byteLength)"
DEVICES = 200


def measure_rpc(rounds: int) -> Grid:
    """The best of `rounds` for files and tensors, the median for calls."""
    rows: list[tuple[str, ...]] = []
    for browser in BROWSERS:
        rows += _in_browser(browser, rounds)
    rows.append(("", f"memory of a broker with {DEVICES} idle devices", f"{_idle_memory() / 2**20:.0f} MiB"))
    return Grid("RPC on loopback", ("browser", "", "measured"), tuple(rows), 2)


def _in_browser(browser: BrowserName, rounds: int) -> list[tuple[str, str, str]]:
    with _broker() as (address, _), sync_playwright() as playwright, launch(playwright, browser) as running:
        page = running.new_page()
        page.goto(address.page)
        page.wait_for_selector("body[data-state=joined]")
        with connect(address.page) as session, session.lease(timeout=30) as device:
            calls = [_seconds(lambda: device.call({"op": "unload", "model": 0})) for _ in range(CALLS)]
            stored, fetched = [], []
            for i in range(rounds):
                data = np.random.default_rng(i).bytes(FILE_BYTES)
                sha256 = hashlib.sha256(data).hexdigest()
                stored.append(_seconds(lambda data=data, key=sha256: session.put({key: data})))  # type: ignore[misc]
                path = _files_path(address.url, address.token) + sha256
                fetched.append(_seconds(lambda path=path: page.evaluate(_FETCH, path)))  # type: ignore[misc]
            with device.load(_first_elements(), {"backend": "wasm"}) as model:
                x = {"x": np.random.default_rng(0).standard_normal(TENSOR).astype(np.float32)}
                model.run(x)
                runs = [_seconds(lambda: model.run(x)) for _ in range(rounds)]
    rate = 4 * TENSOR / min(runs) / 1e6
    return [
        (browser, "an empty call, median", f"{statistics.median(calls) * 1e3:.2f} ms"),
        (browser, "100 MB to the broker", f"{min(stored):.2f} s"),
        (browser, "100 MB from there by HTTP", f"{min(fetched):.2f} s"),
        (browser, "tensors to the page", f"{rate:.0f} MB/s"),
    ]


def _seconds(call: object) -> float:
    start = time.perf_counter()
    call()  # type: ignore[operator]
    return time.perf_counter() - start


def _first_elements() -> Manifest:
    """A model with a large input that computes next to nothing."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [TENSOR])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
    constants = [numpy_helper.from_array(np.array([n]), name) for name, n in (("from", 0), ("to", 4))]
    graph = helper.make_graph([helper.make_node("Slice", ["x", "from", "to"], ["y"])], "slice", [x], [y], constants)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "slice.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), path)
        return build_manifest(path, Options(targets=("wasm",)), lambda _: None)


@contextlib.contextmanager
def _idle_device(url: str, token: str) -> Iterator[str]:
    """The path of files, from the reply to a device's hello."""
    with open_socket(url.replace("http", "ws") + "/socket", compression=None) as socket:
        hello = {"op": "hello", "version": VERSION, "role": "device", "token": token, "id": 0}
        for frame in encode(Message({**hello, "name": "idle", "backends": ["wasm"], "facts": {}})):
            socket.send(frame)
        match = re.search(rb'"files": ?"([^"]+)"', bytes(socket.recv(decode=False)))
        assert match
        yield match[1].decode()


def _files_path(url: str, token: str) -> str:
    with _idle_device(url, token) as path:
        return path


def _idle_memory() -> int:
    """Bytes of the broker's process."""
    with _broker() as (address, process), contextlib.ExitStack() as opened:
        for _ in range(DEVICES):
            opened.enter_context(_idle_device(address.url, address.token))
        time.sleep(1)
        status = Path(f"/proc/{process}/statm").read_text().split()
        return int(status[1]) * os.sysconf("SC_PAGESIZE")


@contextlib.contextmanager
def _broker() -> Iterator[tuple[Address, int]]:
    """A broker as users start it, and its process."""
    program = Path(sys.executable).with_name("webnn-rpc")
    with subprocess.Popen([program, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            printed = ""
            while "Ctrl-C" not in printed:
                printed += process.stdout.readline()
            match = re.search(r"(http://\S+?)/#(\S+)", printed)
            assert match
            yield Address(match[1], match[2]), process.pid
        finally:
            process.terminate()
