"""`webnn-rpc serve model.onnx`: a page of one's own uses the model, and gets it again when its file changes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import onnx
import pytest
from harness import browser_name
from onnx_models import model, node
from playwright.sync_api import Page, expect
from server import Site, serve
from webnn_compile.bundle import Manifest
from webnn_compile.driver.build import build_manifest
from webnn_compile.driver.options import Options
from webnn_compile.errors import WebnnCompileError
from webnn_compile.rpc.serving import ServedModel, ServingError
from webnn_compile.rpc.start_broker import Address, start_broker

compiled: list[tuple[str, tuple[str, ...]]] = []


def write(path: Path, op: str) -> None:
    onnx.save(model([node(op, ["x"], ["y"])], {"x": [4]}, ["y"]), path)


def compile_for_cpu(path: Path, backend: str, features: Sequence[str]) -> Manifest:
    compiled.append((backend, tuple(features)))
    try:
        return build_manifest(path, Options(targets=(backend,)), lambda _: None)
    except WebnnCompileError as error:
        raise ServingError(str(error)) from None


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write(tmp_path / "net.onnx", "Neg")
    compiled.clear()
    return tmp_path / "net.onnx"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A page of the user's own, from another origin than the broker."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "index.html").write_text("<!doctype html><title>mine</title>")
    with serve(folder) as made:
        yield made


@contextmanager
def serving(path: Path, site: Site) -> Iterator[Address]:
    with start_broker(origins=[site.url.rstrip("/")], model=ServedModel(path, compile_for_cpu)) as made:
        yield made


LOAD = """async ([script, address, options]) => {
  const { connect } = await import(script);
  globalThis.seen = [];
  const run = async (model) => Array.from((await model.run({ x: Float32Array.of(1, -2, 3, -4) })).y);
  try {
    const model = await connect(address).load({
      ...options,
      onChange: async (next) => seen.push(await run(next)),
      onError: (error) => seen.push(error.message),
    });
    return { backend: model.backend, worker: model.info().worker, y: await run(model) };
  } catch (error) {
    return { error: error.message };
  }
}"""


def load(page: Page, site: Site, address: Address, page_url: str | None = None, **options: Any) -> dict[str, Any]:
    page.goto(site.url)
    found: dict[str, Any] = page.evaluate(LOAD, [f"{address.url}/rpc.js", page_url or address.page, options])
    return found


def expect_seen(page: Page, number: int) -> Any:
    page.wait_for_function(f"() => seen.length >= {number}", timeout=30_000)
    return json.loads(page.evaluate("JSON.stringify(seen)"))[number - 1]


def test_a_page_uses_the_model_and_sees_its_changes(page: Page, site: Site, path: Path) -> None:
    with serving(path, site) as address:
        found = load(page, site, address)
        # Without a GPU; browsers start no worker with a script of another origin.
        assert found == {"backend": "wasm", "worker": False, "y": [-1, 2, -3, 4]}
        assert compiled[0][0] == "wasm"
        assert "plain" in compiled[0][1]
        write(path, "Abs")
        assert expect_seen(page, 1) == [1, 2, 3, 4]
        path.write_bytes(b"no model")
        assert "net.onnx" in expect_seen(page, 2)
        write(path, "Relu")
        assert expect_seen(page, 3) == [1, 0, 3, 0]


@pytest.mark.parametrize("backend", ["webgpu", "webgl"])
def test_a_backend_that_is_compiled_for(page: Page, site: Site, path: Path, backend: str) -> None:
    if browser_name(page) != "chromium":
        pytest.skip("one browser is enough for devices")
    with serving(path, site) as address:
        assert load(page, site, address, backend=backend) == {"backend": backend, "worker": False, "y": [-1, 2, -3, 4]}
        assert compiled[0][0] == backend


def test_the_brokers_own_pages_use_a_worker(page: Page, site: Site, path: Path) -> None:
    with serving(path, site) as address:
        page.goto(address.page)
        expect(page.locator("body[data-state=joined]")).to_be_visible(timeout=60_000)
        found = page.evaluate(LOAD, ["/rpc.js", address.page, {}])
        assert found == {"backend": "wasm", "worker": True, "y": [-1, 2, -3, 4]}


def test_what_cannot_be_served(page: Page, site: Site, path: Path) -> None:
    with serving(path, site) as address:
        wrong = load(page, site, address, f"{address.url}/#wrong")
        assert "the token is wrong" in wrong["error"]
        path.write_bytes(b"no model")
        assert "net.onnx" in load(page, site, address)["error"]
    with start_broker(origins=[site.url.rstrip("/")]) as address:
        assert "start `webnn-rpc serve MODEL`" in load(page, site, address)["error"]


def test_pages_from_elsewhere_are_refused(page: Page, site: Site, path: Path) -> None:
    with start_broker(model=ServedModel(path, compile_for_cpu)) as address:
        page.goto(site.url)
        refused = page.evaluate(
            "(script) => import(script).then(() => 'loaded', () => 'refused')", f"{address.url}/rpc.js"
        )
        assert refused == "refused"
        assert not compiled
