"""Processes that work for this one, and end with it."""

from __future__ import annotations

import multiprocessing
import signal
import threading
import time
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from typing import Any

import pytest
from webnn_compile.system.workers import WorkerPool
from webnn_compile.tune.executors import RestartingExecutor

SIZE = 1 << 24
"""Bytes of a result that a pipe takes in parts."""


@pytest.mark.parametrize("open_pool", [WorkerPool, RestartingExecutor])
def test_a_block_that_raises_ends_them(open_pool: type[WorkerPool] | type[RestartingExecutor]) -> None:
    """In the middle of their work: this process would wait for it at its own end."""
    pool = open_pool(1)
    running = pool.submit(time.sleep, 60)
    with pytest.raises(KeyboardInterrupt), pool:
        raise KeyboardInterrupt
    assert isinstance(running.exception(), BrokenProcessPool)
    assert multiprocessing.active_children() == []


def test_a_block_that_raises_ends_them_while_a_result_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its second half never comes."""
    begun, ended = threading.Event(), threading.Event()
    receive: Any = Connection._recv  # type: ignore[attr-defined]

    def receive_later(connection: Connection, size: int, *rest: Any) -> Any:
        if size >= SIZE:
            begun.set()
            ended.wait(20)
        return receive(connection, size, *rest)

    pool = WorkerPool(1)
    monkeypatch.setattr(Connection, "_recv", receive_later)
    running = pool.submit(bytes, SIZE)
    assert begun.wait(60)
    (process,) = multiprocessing.active_children()

    killing = threading.Thread(target=pool.kill, daemon=True)
    killing.start()
    process.join()
    ended.set()
    killing.join(20)
    assert not killing.is_alive()
    assert isinstance(running.exception(), BrokenProcessPool)


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="this system has no masks of signals")
def test_an_interrupt_does_not_reach_them() -> None:
    """It is blocked from their start on: they need a while until they can ignore it. Here it is as before."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with WorkerPool(1) as pool:
        blocked = pool.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ()).result()
    assert signal.SIGINT in blocked
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
