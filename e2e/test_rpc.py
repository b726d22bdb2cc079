"""Tabs of real browsers join a broker, and models run in them from Python."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import wasmtime
from devices import COUNT_CALLS
from digits import MODEL, agrees, reference
from digits import images as digits_images
from harness import browser_name, join, without_workers
from playwright.sync_api import Page, expect
from shared_pages import SharedPages, need_browser
from tiny_artifact import tiny_artifact, tiny_weights
from webnn_compile.bundle import Manifest, WasmArtifact, make_manifest
from webnn_compile.driver.build import build_manifest
from webnn_compile.driver.options import Options
from webnn_compile.rpc.client import LeasedDevice, RpcError, Session, connect
from webnn_compile.rpc.start_broker import Address, start_broker

Array = np.ndarray[Any, np.dtype[Any]]


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    with start_broker() as made:
        yield made


@pytest.fixture(scope="module")
def digits() -> Manifest:
    return build_manifest(MODEL, Options(), lambda _: None)


@pytest.fixture(scope="module")
def images() -> list[Array]:
    return [np.asarray(pixels, np.float32).reshape(1, 1, 32, 32) for pixels in digits_images()[:2]]


@pytest.fixture(scope="module")
def logits() -> list[list[float]]:
    return reference()[:2]


def soon(holds: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "it never holds"
        time.sleep(0.02)


def backends(page: Page) -> tuple[str, ...]:
    """The backends whose results are compared: WebGPU and WebGL of one browser are enough."""
    return ("wasm", "webgpu", "webgl") if browser_name(page) == "chromium" else ("wasm",)


def test_the_digits_run_in_the_tab(
    tab: Page, session: Session, digits: Manifest, images: list[Array], logits: list[list[float]]
) -> None:
    (info,) = session.devices()
    assert browser_name(tab) in info.facts["browser"].lower().replace("chrome ", "chromium ")
    assert info.facts["isolated"] is True
    with session.lease() as device:
        for backend in backends(tab):
            assert backend in device.info.backends
            with device.load(digits, {"backend": backend}) as model:
                assert model.info["backend"] == backend
                for image, want in zip(images, logits, strict=True):
                    assert agrees(model.run({"image": image})["logits"].ravel().tolist(), want)
                profile = model.profile({"image": images[0]})
                assert len(profile) == model.info["kernels"]
                times = device.time(model, {"image": images[0]}, repeat=3, warmup=1)
                assert len(times) == 3
                assert min(times) > 0


LAUNCHES = {"wasm": set(), "webgpu": {"dispatchWorkgroups"}, "webgl": {"drawArrays"}}
"""By backend, what the page then calls of the browser."""


def test_two_browsers_join_one_broker(
    shared_pages: SharedPages,
    address: Address,
    session: Session,
    digits: Manifest,
    images: list[Array],
    logits: list[list[float]],
) -> None:
    """Both run the model at once, each leased by itself; the calls in the page say which backend it is."""
    tabs = [shared_pages.page(need_browser(shared_pages, name)) for name in ("chromium", "firefox")]
    names = [join(tab, address).title() for tab in tabs]
    soon(lambda: {d.name for d in session.devices()} == set(names))
    without_workers(tabs[0])
    tabs[0].evaluate(COUNT_CALLS)

    def run(device: LeasedDevice, backend: str) -> None:
        with device.load(digits, {"backend": backend}) as model:
            assert model.info["backend"] == backend
            for image, want in zip(images, logits, strict=True):
                assert agrees(model.run({"image": image})["logits"].ravel().tolist(), want)

    with (
        session.lease(names[0]) as chromium,
        session.lease(names[1]) as firefox,
        ThreadPoolExecutor(1) as thread,
    ):
        assert all(d.leased for d in session.devices())
        running = thread.submit(run, firefox, "wasm")
        for backend, launches in LAUNCHES.items():
            tabs[0].evaluate("calls = {}")
            run(chromium, backend)
            found = set(tabs[0].evaluate("Object.keys(calls)"))
            assert found & {"dispatchWorkgroups", "drawArrays"} == launches
        running.result()
    for tab in tabs:
        tab.goto("about:blank")


def test_a_profile_of_wasm_is_the_mean_of_its_repeats(
    tab: Page, session: Session, digits: Manifest, images: list[Array], logits: list[list[float]]
) -> None:
    """All steps together take as long as runs from outside do, whatever the resolution of the clock."""
    without_workers(tab)
    with session.lease() as device, device.load(digits, {"backend": "wasm"}) as model:
        tab.evaluate(
            "() => { const now = performance.now; globalThis.reads = 0;"
            " performance.now = function () { reads++; return now.call(performance); }; }"
        )
        reads = []
        for repeat in (1, 30):
            tab.evaluate("reads = 0")
            profile = model.profile({"image": images[0]}, repeat=repeat)
            reads.append(tab.evaluate("reads"))
        assert len(profile) == model.info["kernels"]
        assert reads == [len(profile) + 1, 30 * (len(profile) + 1)]  # where a run begins, and after each step
        assert all(p["ms"] >= 0 and p["count"] == 1 for p in profile)
        assert agrees(model.run({"image": images[0]})["logits"].ravel().tolist(), logits[0])
    tab.reload()


def test_the_page_shows_a_search(tab: Page, session: Session) -> None:
    status = {"model": "net.onnx", "target": "webgl", "phase": "searching", "task": "conv 1x8", "trials": 16, "of": 40}
    with session.lease() as device:
        expect(tab.locator("#search")).to_be_hidden()
        more = {"failed": 2, "gain": 0.755, "left": 75.0, "points": [[4, 0.9], [12, 0.755]]}
        device.call({"op": "show", "status": {**status, **more}})
        expect(tab.locator("#search .ended")).to_be_hidden()
    expect(tab.locator("#search .ended")).to_have_text("Nothing is tried here at present.")
    expect(tab.locator("#search h2")).to_have_text("Tuning net.onnx for webgl")
    figures = "searching: conv 1x8 · 16 of 40 trials, 2 failed · 75.5% of the default's time · 1:15 left"
    expect(tab.locator("#search .figures")).to_have_text(figures)
    points = tab.locator("#search polyline").get_attribute("points")
    assert points == "0,10 32.0,10 32.0,20 96.0,20 96.0,35 128.0,35"


def test_threads(tab: Page, session: Session, digits: Manifest, images: list[Array], logits: list[list[float]]) -> None:
    with session.lease() as device, device.load(digits, {"backend": "wasm", "threads": 2}) as model:
        assert model.info["threads"] == 2
        assert agrees(model.run({"image": images[0]})["logits"].ravel().tolist(), logits[0])


def test_errors_of_the_runtime_arrive(tab: Page, session: Session, digits: Manifest, images: list[Array]) -> None:
    with session.lease() as device:
        with device.load(digits, {"backend": "wasm"}) as model:
            with pytest.raises(RpcError, match='no input "picture"') as caught:
                model.run({"picture": images[0]})
            assert caught.value.kind == "device"
            assert "logits" in model.run({"image": images[0]})
        with pytest.raises(RpcError, match="there is no model"):
            model.run({"image": images[0]})
        with pytest.raises(RpcError, match="this device has no operation eval"):
            device.call({"op": "eval", "script": "1"})
        with pytest.raises(RpcError, match="this device has no operation constructor"):
            device.call({"op": "constructor"})


def test_a_call_that_takes_too_long_ends_and_the_tab_goes_on(
    tab: Page, session: Session, digits: Manifest, images: list[Array]
) -> None:
    with session.lease() as device:
        model = device.load(digits, {"backend": "wasm"})
        with pytest.raises(RpcError, match="has not answered for") as caught:
            device.time(model, {"image": images[0]}, repeat=10**6, deadline=0.3)
        assert caught.value.kind == "timeout"
        with device.load(digits, {"backend": "wasm"}) as again:
            assert "logits" in again.run({"image": images[0]})


def test_a_kernel_that_never_ends(tab: Page, session: Session) -> None:
    """A client's model runs in a worker even where `worker` is false, so the page can end it, and goes on."""
    made = endless()
    with session.lease() as device:
        model = device.load(made, {"backend": "wasm", "worker": False})
        assert model.info["worker"] is True
        with pytest.raises(RpcError, match="has not answered for") as caught:
            model.run({"input": np.zeros((1, 1024), np.float32)}, deadline=1)
        assert caught.value.kind == "timeout"
        expect(tab.locator("#task")).to_have_text("nothing")
        with device.load(made, {"backend": "wasm"}) as again:
            assert again.info["backend"] == "wasm"


HOSTILE = "data:text/javascript,globalThis.ran=true;import('/rpc.js')"


def with_field(value: Any, key: str, field: Any) -> Any:
    """The manifest with another value at each occurrence of a key."""
    if isinstance(value, list):
        return [with_field(v, key, field) for v in value]
    if isinstance(value, dict):
        return {k: field if k == key else with_field(v, key, field) for k, v in value.items()}
    return value


def nested(levels: int) -> Any:
    return {"inner": nested(levels - 1)} if levels else 1


def test_hostile_manifests(tab: Page, session: Session) -> None:
    """Whatever a client sends, the page runs no script, fetches nothing from elsewhere and stays in use."""
    made = make_manifest(tiny_artifact())
    fields = made.fields
    without_hash = with_field(with_field(fields, "sha256", ""), "file", HOSTILE)
    unfetched = [
        {**fields, "weights": [{"offset": 0, "bytes": 5, "url": HOSTILE}]},
        json.loads(json.dumps(without_hash).replace('"file"', '"url"')),
        with_field(fields, "sha256", "../../rpc/device_page/device.js"),
        with_field(fields, "sha256", HOSTILE),
        with_field(fields, "modules", {"__proto__": {"url": HOSTILE}, "constructor": {"url": HOSTILE}}),
    ]
    odd = [with_field(fields, "backend", name) for name in ("__proto__", "constructor", "../webgl", 7)]
    odd += [with_field(fields, "pages", n) for n in (-1, 2**40, "x", None)]
    odd += [with_field(fields, "bytes", n) for n in (-1, 2**53, "x")]
    odd += [with_field(fields, "inputs", value) for value in (None, [{"name": "x"}], nested(500))]
    requested: list[str] = []
    tab.on("request", lambda request: requested.append(request.url))
    with session.lease() as device:
        session.put(made.contents)
        for manifest in (*unfetched, *odd, {}, [], None, "x"):
            with pytest.raises(RpcError) as caught:
                device.call({"op": "load", "manifest": manifest, "options": {"timeout": 500}}, deadline=30)
            assert caught.value.kind == "device", manifest
        with device.load(made, {"backend": "wasm"}) as model:
            x = np.ones((1, 1024), np.float32)
            w, b = tiny_weights(1024)
            np.testing.assert_array_equal(model.run({"input": x})["output"], np.maximum(0, x * w + b))
    assert tab.evaluate("globalThis.ran") is None
    assert not [url for url in requested if not url.startswith(tab.evaluate("location.origin"))]


def endless() -> Manifest:
    """A model whose run never ends."""
    made = tiny_artifact()
    (part,) = made.backends
    assert isinstance(part, WasmArtifact)
    code = wasmtime.wat2wasm(
        """(module (import "env" "memory" (memory 1))
          (func (export "run") (param i32 i32) (loop $again (br $again))))"""
    )
    part = replace(part, modules=dict.fromkeys(part.modules, code))
    return make_manifest(replace(made, backends=(part,)))


def test_a_tab_that_is_reloaded_or_closed(tab: Page, session: Session, digits: Manifest) -> None:
    device = session.lease()
    name = device.info.name
    device.load(digits, {"backend": "wasm"})
    tab.reload()
    tab.wait_for_selector("body[data-state=joined]")
    with pytest.raises(RpcError) as caught:
        device.load(digits, {"backend": "wasm"})
    assert caught.value.kind == "gone"
    with session.lease(name) as again, again.load(digits, {"backend": "wasm"}) as model:
        assert model.info["backend"] == "wasm"
    tab.goto("about:blank")
    soon(lambda: session.devices() == [])


def test_a_broker_that_comes_back(page: Page, digits: Manifest) -> None:
    with start_broker() as first:
        join(page, first)
        port = int(first.url.rpartition(":")[2])
    page.wait_for_selector("body[data-state=waiting]")
    expect(page.locator("#state")).to_contain_text("Not connected")
    with (
        start_broker(port=port, token=first.token) as second,
        connect(second.page) as session,
        session.lease(timeout=60) as device,
        device.load(digits, {"backend": "wasm"}) as model,
    ):
        assert model.info["backend"] == "wasm"
    page.goto("about:blank")


def test_stop_and_resume(tab: Page, session: Session) -> None:
    assert len(session.devices()) == 1
    tab.click("#stop")
    expect(tab.locator("#state")).to_have_text("Stopped")
    soon(lambda: session.devices() == [])
    tab.click("#stop")
    soon(lambda: len(session.devices()) == 1)


def test_a_wrong_token_is_said_and_not_tried_again(page: Page, address: Address) -> None:
    page.goto("about:blank")
    page.goto(f"{address.url}/#wrong")
    expect(page.locator("#state")).to_contain_text(
        "the token is wrong: take the address that the broker prints", timeout=60_000
    )
    assert page.evaluate("document.body.dataset.state") == "stopped"
    page.goto("about:blank")
    page.goto(address.url)
    expect(page.locator("#state")).to_contain_text("This address has no token", timeout=60_000)
