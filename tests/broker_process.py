"""A broker in a process of its own, for tests of its memory and its end."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from webnn_compile.rpc.start_broker import Address

SCRIPT = """
from webnn_compile.rpc.start_broker import start_broker

with start_broker(token={token!r}) as address:
    print(address.url, address.token, flush=True)
    input()
"""


class BrokerProcess:
    def __init__(self, token: str | None = None) -> None:
        script = SCRIPT.format(token=token)
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([sys.executable, "-c", script], stdin=pipe, stdout=pipe, text=True)
        assert self._process.stdout is not None
        self.address = Address(*self._process.stdout.readline().split())

    def memory(self, key: str = "VmRSS") -> int:
        """Bytes that are in use; of VmHWM, the most that were."""
        status = Path(f"/proc/{self._process.pid}/status")
        if not status.exists():
            pytest.skip("this system has no /proc, which tells a process's memory")
        found = re.search(rf"{key}:\s+(\d+) kB", status.read_text())
        assert found
        return int(found[1]) * 1024

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


@contextmanager
def broker_process(token: str | None = None) -> Iterator[BrokerProcess]:
    process = BrokerProcess(token)
    try:
        yield process
    finally:
        process.kill()


def soon(holds: Callable[[], object]) -> None:
    """Waits until it holds."""
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end, "it never holds"
        time.sleep(0.005)
