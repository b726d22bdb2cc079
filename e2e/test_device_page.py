"""The device page: what it shows and says, on which addresses, and that it outlives the GPU."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from devices import need_backend
from harness import browser_name, join, without_workers
from onnx_models import model, node, random
from playwright.sync_api import Browser, Page, expect
from serve_by_command import Served, serve_by_command
from webnn_compile.bundle import Manifest
from webnn_compile.driver.build import build_manifest
from webnn_compile.driver.options import Options
from webnn_compile.rpc.client import RpcError, Session, connect
from webnn_compile.rpc.start_broker import Address, start_broker

WEIGHTS = random((256, 256)) / 16
X = random((128, 256))  # worth several threads
Y = X @ WEIGHTS
PHONE = {"width": 390, "height": 1200}
"""High enough for no scroll bar: phones show none beside the page, headless browsers do."""

COLLECT = """() => {
  globalThis.lose = { webgpu() {}, webgl() {} };
  const { requestDevice } = globalThis.GPUAdapter?.prototype ?? {};
  if (requestDevice) {
    GPUAdapter.prototype.requestDevice = async function (...given) {
      const device = await requestDevice.apply(this, given);
      lose.webgpu = () => device.destroy();
      return device;
    };
  }
  const { getContext } = OffscreenCanvas.prototype;
  OffscreenCanvas.prototype.getContext = function (...given) {
    const gl = getContext.apply(this, given);
    lose.webgl = () => gl.getExtension('WEBGL_lose_context')?.loseContext();
    return gl;
  };
}"""
"""`lose.webgpu()` and `lose.webgl()` take away the device that was made last."""

STRIKE = """() => {
  const { submit } = globalThis.GPUQueue?.prototype ?? {};
  const { drawArrays } = WebGL2RenderingContext.prototype;
  if (submit) GPUQueue.prototype.submit = function (...given) { submit.apply(this, given); lose.webgpu(); };
  WebGL2RenderingContext.prototype.drawArrays = function (...given) { drawArrays.apply(this, given); lose.webgl(); };
  globalThis.relent = () => {
    if (submit) GPUQueue.prototype.submit = submit;
    WebGL2RenderingContext.prototype.drawArrays = drawArrays;
  };
}"""
"""Until `relent()` whatever is submitted or drawn loses the device."""

HIDE = """(hidden) => {
  Object.defineProperty(document, 'hidden', { get: () => hidden, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
}"""
"""As a browser does; headless ones hide no tab."""

CONTRASTS = """() => {
  const pixel = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  /** Red, green and blue of a CSS colour over another one. */
  const over = (color, below) => {
    pixel.fillStyle = `rgb(${below.join(' ')})`;
    pixel.fillRect(0, 0, 1, 1);
    pixel.fillStyle = color;
    pixel.fillRect(0, 0, 1, 1);
    return [...pixel.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const canvas = document.body.appendChild(document.createElement('i'));
  canvas.style.color = 'Canvas';
  const paper = over(getComputedStyle(canvas).color, [255, 255, 255]);
  canvas.remove();
  const behind = (element) =>
    element ? over(getComputedStyle(element).backgroundColor, behind(element.parentElement)) : paper;
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (color, element) => {
    const below = behind(element);
    const [dark, light] = [luminance(over(color, below)), luminance(below)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const texts = {};
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { data, parentElement } = walker.currentNode;
    if (data.trim() && parentElement.checkVisibility())
      texts[data.trim()] = ratio(getComputedStyle(parentElement).color, parentElement);
  }
  const dot = getComputedStyle(document.querySelector('#state'), '::before').backgroundColor;
  const line = getComputedStyle(document.querySelector('#search polyline')).stroke;
  return { paper, texts, marks: { dot: ratio(dot, document.body), line: ratio(line, document.body) } };
}"""
"""The ratios of WCAG: of texts, and of marks that mean something."""

WIDE = """() => [...document.querySelectorAll('body *')]
  .filter((e) => e.checkVisibility())
  .filter((e) => e.getBoundingClientRect().right > innerWidth || (e.clientWidth && e.scrollWidth > e.clientWidth + 1))
  .map((e) => e.outerHTML)"""
"""Elements that leave the page, or whose content leaves them."""


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    with start_broker() as made:
        yield made


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    """y = x @ WEIGHTS."""
    path = tmp_path_factory.mktemp("model") / "product.onnx"
    onnx.save(model([node("MatMul", ["x", "w"], ["y"])], {"x": [128, 256]}, ["y"], {"w": WEIGHTS}), path)
    return build_manifest(path, Options(), lambda _: None)


def own_address() -> str | None:
    """By which other machines reach this one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.1", 9))  # sends nothing
        found = str(probe.getsockname()[0])
        return None if found.startswith("127.") else found
    return None


def check_product(found: dict[str, Any]) -> None:
    np.testing.assert_allclose(found["y"], Y, rtol=1e-4, atol=1e-4)


def test_a_hidden_tab_says_that_it_is_slowed_down(tab: Page) -> None:
    note = tab.locator("#hidden")
    expect(note).to_be_hidden()
    tab.evaluate(HIDE, True)
    expect(note).to_be_visible()
    expect(note).to_contain_text("browsers slow hidden tabs down")
    tab.evaluate(HIDE, False)
    expect(note).to_be_hidden()


def test_on_plain_http_of_another_machine(page: Page, product: Manifest) -> None:
    """It says what is missing, and runs the rest."""
    host = own_address()
    if host is None:
        pytest.skip("this machine has no address but loopback")
    with start_broker(host) as address, connect(address.page) as session:
        join(page, address)
        missing = [text.partition(":") for text in page.locator("#missing li").all_inner_texts()]
        assert [what for what, _, _ in missing] == ["WebGPU", "Threads"]
        assert all("not served over https or" in why for _, _, why in missing)
        expect(page.locator("#facts")).to_contain_text("one thread: the page is not isolated")
        with session.lease() as device:
            assert device.info.backends == ("webgl", "wasm")
            assert device.info.facts["isolated"] is False
            for backend in device.info.backends:
                with device.load(product, {"backend": backend, "threads": 2}) as loaded:
                    assert loaded.info["backend"] == backend
                    assert loaded.info.get("threads", 1) == 1
                    check_product(loaded.run({"x": X}))
        page.goto("about:blank")


@pytest.fixture(scope="module")
def secure() -> Iterator[Served]:
    host = own_address() or "127.0.0.1"
    with serve_by_command("--host", host, "--port", "0", "--tls", "self-signed") as served:
        assert served.address.url.startswith(f"https://{host}:")
        yield served


def test_https_by_a_certificate_of_its_own(
    browser: Browser, tab: Page, session: Session, secure: Served, product: Manifest
) -> None:
    """All that there is on loopback there is on the machine's own address, too: GPUs and threads."""
    (loopback,) = session.devices()
    with (
        connect(secure.address.page, fingerprint=secure.fingerprint) as client,
        contextlib.closing(browser.new_context(ignore_https_errors=True)) as context,
    ):
        page = join(context.new_page(), secure.address)
        assert page.evaluate("[isSecureContext, crossOriginIsolated]") == [True, True]
        expect(page.locator("#missing li")).to_have_count(3 - len(loopback.backends))
        with client.lease() as device:
            assert device.info.facts["isolated"] is True
            assert device.info.backends == loopback.backends
            for backend in device.info.backends:
                with device.load(product, {"backend": backend, "threads": 2}) as loaded:
                    assert loaded.info["backend"] == backend
                    assert loaded.info.get("threads", 2) == 2
                    check_product(loaded.run({"x": X}))


@pytest.mark.parametrize("kind", ["webgpu", "webgl"])
def test_it_outlives_a_lost_gpu(tab: Page, session: Session, product: Manifest, kind: str) -> None:
    need_backend(tab, kind)
    without_workers(tab)
    tab.evaluate(COLLECT)
    with session.lease() as device, device.load(product, {"backend": kind}) as loaded:
        assert loaded.info["backend"] == kind
        check_product(loaded.run({"x": X}))
        tab.evaluate(f"lose.{kind}()")
        check_product(loaded.run({"x": X}))  # the runtime has another device
        tab.evaluate(STRIKE)
        with pytest.raises(RpcError, match="lost") as caught:
            loaded.run({"x": X})
        assert caught.value.kind == "device"
        tab.evaluate("relent()")
        check_product(loaded.run({"x": X}))
        with device.load(product, {"backend": kind}) as again:
            check_product(again.run({"x": X}))
    expect(tab.locator("#state")).to_contain_text("Joined as")
    tab.reload()


def show_everything(tab: Page, session: Session) -> None:
    """All parts of the page, with texts as long as they may be."""
    task = "/layer1/layer1.0/conv1/Conv + /layer1/layer1.0/relu/Relu 1x64x56x56"
    status = {"model": "resnet18_with_a_long_name_224x224.onnx", "target": "webgpu", "phase": "searching", "task": task}
    numbers = {"trials": 120, "of": 200, "failed": 17, "gain": 0.755, "left": 75.0}
    points = [[4, 0.97], [30, 0.9], [64, 0.81], [120, 0.755]]
    with session.lease() as device:
        device.call({"op": "show", "status": {**status, **numbers, "points": points}})
    tab.evaluate(HIDE, True)
    tab.evaluate(
        """(texts) => document.querySelector('#missing').replaceChildren(
          ...texts.map((textContent) => Object.assign(document.createElement('li'), { textContent })))""",
        ["WebGPU: there is no WebGPU here: the page is not served over https or localhost"],
    )


def test_it_is_readable_on_a_phone_in_light_and_dark(tab: Page, session: Session, tmp_path: Path) -> None:
    """The pictures are kept with the test's files."""
    show_everything(tab, session)
    tab.set_viewport_size(PHONE)  # type: ignore[arg-type]
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        if browser_name(tab) == "firefox":  # a stock one emulates no media
            tab.evaluate("(scheme) => { document.documentElement.style.colorScheme = scheme; }", scheme)
        tab.screenshot(path=tmp_path / f"{browser_name(tab)}_{scheme}.png")
        found = tab.evaluate(CONTRASTS)
        assert (sum(found["paper"]) > 384) == (scheme == "light")
        assert len(found["texts"]) > 15
        assert {text: ratio for text, ratio in found["texts"].items() if ratio < 4.5} == {}
        assert {mark: ratio for mark, ratio in found["marks"].items() if ratio < 3} == {}
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert tab.evaluate(WIDE) == []
    tab.emulate_media(color_scheme="null")
    tab.set_viewport_size({"width": 1280, "height": 720})
