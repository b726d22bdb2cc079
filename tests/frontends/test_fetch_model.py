"""Models by an address: fetched once, resumed, checked, and kept; their errors."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from hashlib import sha1, sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import caffe_models
import coreml_models
import mxnet_models
import numpy as np
import onnx
import pytest
import tensorflow_graphs
import webnn_compile
from click.testing import CliRunner
from onnx_models import model, node, random
from webnn_compile.cli import main
from webnn_compile.errors import InputError
from webnn_compile.frontends.fetch_model import is_address, located

W = random((64, 40))
X = random((2, 64))


class Server:
    """Files by path, with entity tags and ranges. `requests` are paths, the range asked for and the status; a path of
    `broken` is cut off after so many bytes, once. `later` are files that others become after one answer."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.later: dict[str, bytes] = {}
        self.headers: dict[str, dict[str, str]] = {}
        self.broken: dict[str, int] = {}
        self.requests: list[tuple[str, str, int]] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner.answer(self)

            def do_HEAD(self) -> None:
                owner.answer(self)

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        data = self.files.get(handler.path)
        asked = handler.headers.get("Range", "")
        if data is None:
            self.requests.append((handler.path, asked, 404))
            handler.send_error(404)
            return
        tag = f'"{sha256(data).hexdigest()[:8]}"'
        if handler.headers.get("If-None-Match") == tag:
            self.requests.append((handler.path, asked, 304))
            handler.send_response(304)
            handler.end_headers()
            return
        start = int(asked[len("bytes=") : -1]) if asked and handler.headers.get("If-Range", tag) == tag else 0
        status = 206 if start else 200
        self.requests.append((handler.path, asked, status))
        handler.send_response(status)
        handler.send_header("ETag", tag)
        handler.send_header("Content-Length", str(len(data) - start))
        for name, value in self.headers.get(handler.path, {}).items():
            handler.send_header(name, value)
        handler.end_headers()
        self.files |= self.later
        if handler.command == "HEAD":
            return
        handler.wfile.write(data[start : self.broken.pop(handler.path, len(data))])

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    monkeypatch.setenv("WEBNN_COMPILE_MODELS_DIR", str(tmp_path / "models"))
    served = Server()
    product = model([node("MatMul", ["x", "w"], ["y"])], {"x": [2, 64]}, ["y"], {"w": W})
    served.files["/a/net.onnx"] = product.SerializeToString()
    yield served
    served.close()


def fetched(server: Server, path: str = "/a/net.onnx") -> bytes:
    return located(f"{server.url}{path}").read_bytes()


def test_it_compiles_and_is_fetched_once(server: Server) -> None:
    for _ in range(2):
        y = webnn_compile.compile(f"{server.url}/a/net.onnx").run({"x": X})["y"]
        np.testing.assert_allclose(y, X @ W, atol=1e-5)
    assert server.requests == [("/a/net.onnx", "", 200), ("/a/net.onnx", "", 304)]


def test_on_the_command_line(server: Server, tmp_path: Path) -> None:
    address = f"{server.url}/a/net.onnx"
    result = CliRunner().invoke(main, [address, "--out", str(tmp_path / "out"), "--targets", "wasm"])
    assert result.exit_code == 0, result.output
    assert f"download net.onnx ({len(server.files['/a/net.onnx']) / 1000:.1f} kB) ..." in result.output
    assert (tmp_path / "out" / "model.js").is_file()
    result = CliRunner().invoke(main, ["--inspect", address])
    assert result.stdout.startswith("net.onnx: ONNX, ")


def test_shards_come_along(server: Server) -> None:
    folder = Path(__file__).parent.parent / "tfjs_models" / "several"
    for name in ("model.json", "model.weights.bin"):
        server.files[f"/a/{name}"] = (folder / name).read_bytes()
    recorded = json.loads((folder / "run.json").read_text())
    feeds, (_, expected) = ([np.asarray(t["data"], "f4").reshape(t["shape"]) for t in recorded[k]] for k in recorded)
    found = webnn_compile.compile(f"{server.url}/a/model.json", dims={"batch": 2}).run(
        dict(zip("ab", feeds, strict=True))
    )
    np.testing.assert_allclose(found["dot"], expected, atol=1e-5)
    assert [path for path, _, _ in server.requests] == ["/a/model.json", "/a/model.weights.bin"]


@pytest.mark.parametrize("name", ["net.prototxt", "net-symbol.json", "net-0000.params"])
def test_the_other_file_of_a_model_comes_along(name: str, server: Server, tmp_path: Path) -> None:
    """A network of Caffe or MXNet, and its weights."""
    w = random((5, 3))
    text = """input: "x" input_shape { dim: 2 dim: 3 }
    layer { name: "y" type: "InnerProduct" bottom: "x" top: "y"
      inner_product_param { num_output: 5 bias_term: false } }"""
    caffe_models.write_model(tmp_path, text, {"y": [w]})
    symbol = mxnet_models.Symbol()
    operands = [symbol.variable("x", __shape__="(2, 3)"), symbol.variable("w")]
    product = symbol.node("FullyConnected", "y", operands, num_hidden=5, no_bias=True)
    mxnet_models.write_model(tmp_path, symbol.json(product), {"arg:w": w})
    server.files |= {f"/a/{p.name}": p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    x = random((2, 3))
    y = webnn_compile.compile(f"{server.url}/a/{name}").run({"x": x})["y"]
    np.testing.assert_allclose(y, x @ w.T, atol=1e-5)
    assert len({path for path, _, _ in server.requests}) == 2


def test_variables_of_a_saved_model_come_along(server: Server, tmp_path: Path) -> None:
    """Their index, and the shard that only it names."""
    w, x = random((3, 4)), random((2, 3))
    graph = tensorflow_graphs.Writer()
    kernel = graph.node("VarHandleOp", [], "kernel", shared_name="kernel")
    read = graph.node("ReadVariableOp", [kernel], "read")
    rows = graph.placeholder("x", "float32", [2, 3])
    graph.node("MatMul", [rows, read], "product", T=tensorflow_graphs.Type("float32"))
    ports = {"x": ("x:0", "float32", (2, 3))}, {"y": ("product:0", "float32")}
    tensorflow_graphs.write_saved_model(tmp_path / "net", graph, *ports)
    tensorflow_graphs.write_checkpoint(tmp_path / "net" / "variables", {"kernel": w})
    server.files = {f"/{p.relative_to(tmp_path)}": p.read_bytes() for p in tmp_path.rglob("net/**/*") if p.is_file()}
    y = webnn_compile.compile(f"{server.url}/net/saved_model.pb").run({"x": x})["y"]
    np.testing.assert_allclose(y, x @ w, atol=1e-5)
    names = ("saved_model.pb", "variables/variables.index", "variables/variables.data-00000-of-00001")
    assert [path for path, _, _ in server.requests] == [f"/net/{name}" for name in names]


def test_weights_of_a_package_come_along(server: Server, tmp_path: Path) -> None:
    program, w, x = coreml_models.Program(), random((5, 30)), random((2, 30))
    weight = program.stored(w.tobytes(), "float32", w.shape)
    rows = program.input("x", "float32", x.shape)
    program.output(program.op("linear", [("float32", (2, 5))], x=rows, weight=weight)[0])
    data = program.package(tmp_path / "net.mlpackage") / "Data" / "com.apple.CoreML"
    server.files = {f"/{p.relative_to(data)}": p.read_bytes() for p in data.rglob("*") if p.is_file()}
    (y,) = webnn_compile.compile(f"{server.url}/model.mlmodel").run({"x": x}).values()
    np.testing.assert_allclose(y, x @ w.T, atol=1e-4)
    assert [path for path, _, _ in server.requests] == ["/model.mlmodel", "/weights/weight.bin"]


def test_external_data_comes_along(server: Server, tmp_path: Path) -> None:
    proto = onnx.load_from_string(server.files["/a/net.onnx"])
    onnx.save(proto, tmp_path / "net.onnx", save_as_external_data=True, location="my data.bin", size_threshold=0)
    server.files["/a/net.onnx"] = (tmp_path / "net.onnx").read_bytes()
    server.files["/a/my%20data.bin"] = (tmp_path / "my data.bin").read_bytes()
    y = webnn_compile.compile(f"{server.url}/a/net.onnx").run({"x": X})["y"]
    np.testing.assert_allclose(y, X @ W, atol=1e-5)
    assert [path for path, _, _ in server.requests] == ["/a/net.onnx", "/a/my%20data.bin"]


def test_another_version_is_fetched(server: Server) -> None:
    first = fetched(server)
    server.files["/a/net.onnx"] = first + b"more"
    assert fetched(server) == first + b"more"
    assert fetched(server) == first + b"more"
    assert [status for _, _, status in server.requests] == [200, 200, 304]


def test_what_breaks_off_goes_on(server: Server) -> None:
    server.broken["/a/net.onnx"] = 5000
    assert fetched(server) == server.files["/a/net.onnx"]
    assert server.requests == [("/a/net.onnx", "", 200), ("/a/net.onnx", "bytes=5000-", 206)]


def test_a_part_of_an_older_version_is_dropped(server: Server) -> None:
    """It broke off, and the server has another file by then."""
    server.broken["/a/net.onnx"] = 5000
    server.later["/a/net.onnx"] = b"another" * 2000
    assert fetched(server) == b"another" * 2000
    assert [status for _, _, status in server.requests] == [200, 200]


def test_hashes_are_checked(server: Server) -> None:
    data = server.files["/a/net.onnx"]
    right = base64.b64encode(sha256(data).digest()).decode()
    for headers in ({"Repr-Digest": f"sha-256=:{right}:"}, {"X-Linked-ETag": f'"{sha256(data).hexdigest()}"'}):
        server.headers["/a/net.onnx"] = headers
        assert fetched(server) == data
    server.files["/b.onnx"] = data
    server.headers["/b.onnx"] = {"Digest": f"sha-256={base64.b64encode(bytes(32)).decode()}"}
    with pytest.raises(InputError, match=r"/b\.onnx: the file that arrived is another one: its sha256 is \w+, not 00"):
        fetched(server, "/b.onnx")
    del server.headers["/b.onnx"]
    assert fetched(server, "/b.onnx") == data


def test_without_a_connection_the_kept_file_is_taken(server: Server) -> None:
    data = fetched(server)
    server.close()
    said: list[str] = []
    assert located(f"{server.url}/a/net.onnx", said.append).read_bytes() == data
    assert "the kept file is taken" in said[0]
    with pytest.raises(InputError, match=r"/a/other.onnx cannot be fetched: .*check the address and the"):
        fetched(server, "/a/other.onnx")


def test_what_is_no_model_is_said(server: Server) -> None:
    server.files["/page"] = b"<!doctype html>"
    server.headers["/page"] = {"Content-Type": "text/html; charset=utf-8"}
    for path, message in (
        ("/none.onnx", "the server answered 404 Not Found; check the address"),
        ("/page", "the server sent a web page in place of a model; .*with /resolve/"),
        ("/", "names no file"),
    ):
        with pytest.raises(InputError, match=message):
            fetched(server, path)
    with pytest.raises(InputError, match=r"net\.onnx cannot be fetched: nonnumeric port"):
        located("http://host:port/net.onnx")
    result = CliRunner().invoke(main, [f"{server.url}/none.onnx", "--inspect"])
    assert (result.exit_code, "the server answered 404" in result.output) == (2, True)


def test_addresses() -> None:
    assert all(map(is_address, ("https://host/net.onnx", "http://host/net.onnx", "hf://owner/name/net.onnx")))
    assert not any(map(is_address, ("net.onnx", "https:/net.onnx", "file:///net.onnx", Path("https://host/net.onnx"))))


@pytest.mark.parametrize("address", ["ftp://host/net.onnx", "file:///net.onnx", "s3://bucket/net.onnx"])
def test_addresses_that_are_not_fetched(address: str) -> None:
    message = f"{address}: addresses of models begin with https://, http:// or hf://; download it"
    with pytest.raises(InputError, match=message):
        webnn_compile.compile(address)
    result = CliRunner().invoke(main, [address, "--inspect"])
    assert (result.exit_code, message in " ".join(result.output.split())) == (2, True)


def test_of_the_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By its package, which keeps files itself; external data comes along."""
    net = model([node("MatMul", ["x", "w"], ["y"])], {"x": [2, 64]}, ["y"], {"w": W})
    (tmp_path / "onnx").mkdir()
    onnx.save(net, tmp_path / "onnx" / "net.onnx", save_as_external_data=True, location="net.data", size_threshold=0)
    asked = []

    def download(repository: str, name: str, *, revision: str | None) -> str:
        asked.append((repository, name, revision))
        return str(tmp_path / name)

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(hf_hub_download=download))
    y = webnn_compile.compile("hf://owner/name@v1/onnx/net.onnx").run({"x": X})["y"]
    np.testing.assert_allclose(y, X @ W, atol=1e-5)
    assert asked == [("owner/name", "onnx/net.onnx", "v1"), ("owner/name", "onnx/net.data", "v1")]


def test_of_a_hub_by_its_own_package(server: Server, tmp_path: Path) -> None:
    """huggingface_hub in a process of its own, with this server as its endpoint. A file with the hash of another one,
    by Git or by sha256, is refused, and not kept; one that breaks off is resumed, by pieces of 10 MiB; what is kept is
    not fetched again."""
    pytest.importorskip("huggingface_hub")
    net = model([node("MatMul", ["x", "w"], ["y"])], {"x": [2, 64]}, ["y"], {"w": np.zeros((64, 43000), np.float32)})
    onnx.save(net, tmp_path / "net.onnx", save_as_external_data=True, location="net.data", size_threshold=0)
    small, large = (f"/owner/name/resolve/v1/onnx/{name}" for name in ("net.onnx", "net.data"))
    for path in (small, large):
        data = server.files[path] = (tmp_path / Path(path).name).read_bytes()
        digest = sha256(data) if path == large else sha1(b"blob %d\0" % len(data) + data)
        server.headers[path] = {"X-Repo-Commit": "c" * 40, "X-Linked-Etag": f'"{digest.hexdigest()}"'}
    environment = os.environ | {"HF_ENDPOINT": server.url, "HF_HOME": str(tmp_path / "hub"), "HF_HUB_DISABLE_XET": "1"}

    def inspected() -> subprocess.CompletedProcess[str]:
        server.requests.clear()
        program = str(Path(sys.executable).with_name("webnn-compile"))
        command = [program, "hf://owner/name@v1/onnx/net.onnx", "--inspect"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    for path, kind in ((small, "hash of Git"), (large, "sha256")):
        right = server.headers[path]["X-Linked-Etag"]
        wrong = "0" * len(right[1:-1])
        server.headers[path]["X-Linked-Etag"] = f'"{wrong}"'
        result = inspected()
        assert result.returncode == 2
        message = f"the file that arrived is another one: its {kind} is {right[1:-1]}, not {wrong}"
        assert result.stderr.endswith(f"error: hf://owner/name@v1/onnx/net.onnx: {message}\n")
        server.headers[path]["X-Linked-Etag"] = right
    server.broken[large] = 10_900_000
    result = inspected()
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("net.onnx: ONNX, ")
    assert (large, f"bytes={10 * 2**20}-", 206) in server.requests
    assert [path for path, _, _ in server.requests].count(small) == 1, "its facts alone"
    kept = [p.read_bytes() for p in (tmp_path / "hub").glob("hub/models--owner--name/snapshots/*/onnx/net.data")]
    assert kept == [server.files[large]]


def test_the_hub_needs_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(
        InputError,
        match=r"needs the package huggingface-hub: pip install 'webnn-compile\[hub\]', or give https://huggingface.co/a/b/resolve/v1/",
    ):
        located("hf://a/b@v1/onnx/net.onnx")
    with pytest.raises(InputError, match=r"write hf://owner/name/path/of/model.onnx"):
        located("hf://net.onnx")
