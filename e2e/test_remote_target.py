"""`webnn_compile.compile(..., target="remote:NAME/BACKEND")`: rows of the operator table in a tab."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import webnn_compile
from effort import every_nth_row
from onnx_models import model, node
from op_table import Case, all_cases, check, feeds, make_model, reference
from shared_pages import SharedPages
from webnn_compile.errors import InputError
from webnn_compile.rpc.client import connect
from webnn_compile.rpc.start_broker import Address, start_broker

NTH = 97
"""One row in so many runs here: browsers run all of them in test_op_table_devices."""
ROWS = [case for case in all_cases() if every_nth_row(case.id, NTH)]
TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    with start_broker() as made:
        yield made


@pytest.fixture(scope="module")
def tab(address: Address, shared_pages: SharedPages) -> Iterator[str]:
    """The name of a tab that has joined."""
    context = shared_pages.browser("chromium").new_context()
    page = context.new_page()
    page.goto(address.page)
    page.wait_for_selector("body[data-state=joined]", timeout=60_000)
    yield page.title()
    context.close()


@pytest.fixture(autouse=True)
def broker(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBNN_RPC_BROKER", address.page)


@pytest.mark.parametrize("backend", ["wasm", "webgpu", "webgl"])
@pytest.mark.parametrize("case", ROWS, ids=lambda c: c.id)
def test_rows_of_the_operator_table(tab: str, case: Case, backend: str) -> None:
    made = webnn_compile.compile(make_model(case), f"remote:{tab}/{backend}")
    assert made.backend == f"remote:{tab}/{backend}"
    results = made.run(feeds(case))
    made.close()
    check(list(results.values()), reference(case), max(case.tolerance, TOLERANCE))


def relu() -> Any:
    return model([node("Relu", ["x"], ["y"])], {"x": [2, 3]}, ["y"])


def test_the_device_is_free_again(tab: str, address: Address) -> None:
    x = np.float32([[1, -2, 3], [-4, 5, -6]])
    made = webnn_compile.compile(relu(), "remote:any/wasm", threads=2)
    with connect(address.page) as session:
        assert [d.leased for d in session.devices() if d.name == tab] == [True]
        np.testing.assert_array_equal(made.run({"x": x})["y"], x.clip(0))
        with pytest.raises(InputError, match=r"input 'x': expected float32\[2, 3\], got float32\[1\]"):
            made.run({"x": x[0, :1]})
        made.close()
        assert [d.leased for d in session.devices() if d.name == tab] == [False]


@pytest.mark.parametrize("backend", ["wasm", "webgl"])
def test_sizes_that_vary(tab: str, backend: str) -> None:
    proto = model([node("Softmax", ["x"], ["y"])], {"x": [2, "length"]}, ["y"])
    made = webnn_compile.compile(proto, f"remote:{tab}/{backend}", dims={"length": (1, 40)})
    room = np.empty((2, 40), np.float32)
    for length in (7, 40, 1):
        x = np.random.default_rng(length).standard_normal((2, length)).astype(np.float32)
        e = np.exp(x)
        y = made.run({"x": x}, out={"y": room})["y"]
        assert np.shares_memory(y, room)
        np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), rtol=1e-5)
    with pytest.raises(InputError, match="makes length 41, and the model was compiled for 1 to 40"):
        made.run({"x": np.zeros((2, 41), np.float32)})
    made.close()


@pytest.mark.parametrize("target", ["remote:any", "remote:/wasm", "remote:any/native", "remote:any/"])
def test_targets_that_are_none(target: str) -> None:
    with pytest.raises(InputError, match=r"give remote:NAME/BACKEND, a device of `webnn-rpc devices` \(or any\)"):
        webnn_compile.compile(relu(), target)


def test_no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBNN_RPC_BROKER", "http://127.0.0.1:9/#token")
    with pytest.raises(InputError, match=r"no broker answers at 127.0.0.1:9: .*; start `webnn-rpc serve`"):
        webnn_compile.compile(relu(), "remote:any/wasm")
