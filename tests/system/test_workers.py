"""Processes that work for this one, and end with it."""

from __future__ import annotations

import multiprocessing
import signal
import time
from concurrent.futures.process import BrokenProcessPool

import pytest
from webnn_compile.system.workers import WorkerPool
from webnn_compile.tune.executors import RestartingExecutor


@pytest.mark.parametrize("open_pool", [WorkerPool, RestartingExecutor])
def test_a_block_that_raises_ends_them(open_pool: type[WorkerPool] | type[RestartingExecutor]) -> None:
    """In the middle of their work: this process would wait for it at its own end."""
    pool = open_pool(1)
    running = pool.submit(time.sleep, 60)
    with pytest.raises(KeyboardInterrupt), pool:
        raise KeyboardInterrupt
    assert isinstance(running.exception(), BrokenProcessPool)
    assert multiprocessing.active_children() == []


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="this system has no masks of signals")
def test_an_interrupt_does_not_reach_them() -> None:
    """It is blocked from their start on: they need a while until they can ignore it. Here it is as before."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with WorkerPool(1) as pool:
        blocked = pool.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ()).result()
    assert signal.SIGINT in blocked
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
