"""Brokers, clients and devices for the tests of RPC."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from python_device import PythonDevice, python_device
from webnn_compile.rpc.client import Session, connect
from webnn_compile.rpc.limits import Limits
from webnn_compile.rpc.start_broker import Address, start_broker

LIMITS = Limits(wrong_token=0.05, hello=0.5)


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    with start_broker(limits=LIMITS, origins=["https://example.org"]) as made:
        yield made


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Before `session` in a test's parameters: its end then ends calls that nothing else does."""
    with ThreadPoolExecutor() as made:
        yield made


@pytest.fixture
def session(address: Address) -> Iterator[Session]:
    with connect(address.page) as made:
        yield made


@pytest.fixture
def device(address: Address) -> Iterator[PythonDevice]:
    with python_device(address) as made:
        yield made
