"""A limit on the time of a compilation as a whole, whatever it does."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
import webnn_compile
from hostile_models import DIMS, HOSTILE
from webnn_compile.errors import InputError
from webnn_compile.system import watch_limits
from webnn_compile.system.watch_limits import Exceeded, within

COMMAND = str(Path(sys.executable).with_name("webnn-compile"))
MOST = 2.0
"""Seconds after the limit."""
START = 20.0
"""Seconds that a process may take to start on a machine at work."""


def forever() -> None:
    while True:
        sum(range(1000))


def swallows() -> None:
    """Code that takes every exception for a fault of the model's."""
    while True:
        try:
            forever()
        except BaseException:
            time.sleep(0.01)
            return forever()


def message_of(work: Callable[[], object], *, main: bool) -> str:
    """The error of work that goes beyond 0.2 seconds, in the main thread or another."""
    found: list[str] = []

    def limited() -> None:
        with pytest.raises(InputError) as raised, within(0.2, None, lambda: "sleeping"):
            work()
        found.append(str(raised.value))

    if main:
        limited()
    else:
        other = threading.Thread(target=limited)
        other.start()
        other.join()
    (message,) = found
    return message


@pytest.mark.parametrize("work", [forever, swallows, lambda: time.sleep(60), threading.Event().wait])
@pytest.mark.parametrize("main", [True, False], ids=["main thread", "another"])
def test_time(work: Callable[[], object], main: bool) -> None:
    if not main and work not in (forever, swallows):
        pytest.skip("what waits outside of Python is interrupted in the main thread alone")
    start = time.monotonic()
    assert message_of(work, main=main).startswith("--max-seconds 0.2: compiling took longer; it was at sleeping")
    assert time.monotonic() - start < 0.2 + MOST


class Finalized:
    """An object whose finalizer takes longer than the limit: Python drops what is raised there."""

    def __init__(self, seconds: float) -> None:
        self.until = time.monotonic() + seconds

    def __del__(self) -> None:
        while time.monotonic() < self.until:
            pass


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("then", [lambda: None, forever], ids=["ends", "goes on"])
@pytest.mark.parametrize("seconds", [0.5, 1.6], ids=["one", "two"])
@pytest.mark.parametrize("main", [True, False], ids=["main thread", "another"])
def test_interrupts_that_python_drops(seconds: float, then: Callable[[], None], main: bool) -> None:
    """The block fails where it ends before the next interrupt, and by a later one where it goes on."""

    def work() -> None:
        Finalized(seconds)
        then()

    assert message_of(work, main=main).startswith("--max-seconds 0.2: compiling took longer")


def test_within_the_limit_nothing_is_left() -> None:
    """No exception comes afterwards, and no thread and no handler stays."""
    threads, handler = {*threading.enumerate()}, signal.getsignal(signal.SIGALRM)
    for _ in range(20):
        with within(0.051, None, lambda: "work"):
            time.sleep(0.0)
    for _ in range(20):  # about when the watcher looks
        try:
            with within(0.05, None, lambda: "work"):
                time.sleep(0.049)
        except InputError:
            pass
    time.sleep(0.3)
    assert {*threading.enumerate()} <= threads  # those of tests before may have ended by now
    assert signal.getsignal(signal.SIGALRM) == handler


PROFILED = """
import cProfile, sys, threading, time
from webnn_compile.errors import InputError
from webnn_compile.system.watch_limits import within

def limited(seconds):
    try:
        with within(seconds, None, lambda: "work"):
            end = time.monotonic() + 0.3
            while time.monotonic() < end:
                pass
    except InputError:
        print("exceeded")

for seconds in map(float, sys.argv[1:]):
    thread = threading.Thread(target=limited, args=[seconds])
    thread.start()
    thread.join()
with cProfile.Profile() as profile:
    (lambda: None)()
print(len(profile.getstats()) > 0)
"""


def test_a_profiler_runs_after_a_limit_in_another_thread() -> None:
    """In a process of its own: where an interrupt was taken back, the first call under a profiler never ended."""
    command = [sys.executable, "-c", PROFILED, "60", "0.1", "60"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["exceeded", "True"], done.stderr


class Interrupted:
    """A lock in whose first use the interrupt comes."""

    uses = 0

    def __enter__(self) -> None:
        self.uses += 1
        if self.uses == 1:
            raise Exceeded

    def __exit__(self, *_: object) -> None:
        pass


def test_an_interrupt_as_the_block_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The watcher ends all the same, and the handler goes."""
    before = {*threading.enumerate()}
    watch = watch_limits._Watch(60, None, lambda: "work", None)
    monkeypatch.setattr(watch, "_lock", Interrupted())
    with watch.watching():
        pass
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    time.sleep(0.2)
    assert {*threading.enumerate()} <= before


def another_error() -> None:
    try:
        forever()
    except Exceeded:
        raise RuntimeError("of a library") from None


@pytest.mark.parametrize("main", [True, False])
def test_a_limit_around_another(main: bool) -> None:
    """Its error is its own, and none of the block inside, which has time left."""
    taken = []

    def inside() -> None:
        try:
            with within(60, None, lambda: "inside"):
                forever()
        except InputError as error:
            taken.append(error)

    assert message_of(inside, main=main).startswith("--max-seconds 0.2: compiling took longer; it was at sleeping")
    assert not taken


def test_an_error_that_a_library_makes_of_it() -> None:
    with pytest.raises(InputError, match="--max-seconds"), within(0.1, None, lambda: "x"):
        another_error()


def test_an_error_of_its_own_stays() -> None:
    with pytest.raises(KeyError), within(10, None, lambda: "x"):
        raise KeyError


def test_what_cannot_be_interrupted_ends_the_process() -> None:
    """Code that is not Python's and takes no signal: the function that ends the process is called, once."""
    script = """
import os, signal, numpy
from webnn_compile.system.watch_limits import within
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
def end(message):
    print(message, flush=True)
    os._exit(2)
with within(0.2, None, lambda: 'dots', end):
    import threading; threading.Event().wait(60)
"""
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout.count("--max-seconds 0.2")) == (2, 1), done.stderr
    assert time.monotonic() - start < 0.2 + MOST + START


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("hostile")
    for name, build in HOSTILE.items():
        onnx.save(build(), made / f"{name}.onnx")
    return made


@pytest.mark.parametrize("name", HOSTILE)
def test_a_model_that_takes_longer(folder: Path, tmp_path: Path, name: str) -> None:
    command = [COMMAND, folder / f"{name}.onnx", "--out", tmp_path / "out", "--max-seconds", "0.2", "--no-cache"]
    if name in DIMS:
        command += ["--dim", "N={}..{}".format(*DIMS[name])]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    assert time.monotonic() - start < 0.2 + MOST + START
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    message = done.stderr[done.stderr.index("error: ") :]
    assert message.startswith("error: --max-seconds 0.2: compiling took longer; it was at ")
    assert "allow more, or give the model smaller or fixed sizes" in message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", HOSTILE)
def test_a_call_of_python(folder: Path, name: str) -> None:
    sizes = {"N": DIMS[name]} if name in DIMS else None
    start = time.monotonic()
    with pytest.raises(InputError, match=r"--max-seconds 0\.2: compiling took longer; it was at "):
        webnn_compile.compile(folder / f"{name}.onnx", dims=sizes, max_seconds=0.2, cache=False)
    assert time.monotonic() - start < 0.2 + MOST + START


def test_a_bundle_of_python(folder: Path) -> None:
    with pytest.raises(InputError, match="--max-seconds 1: compiling took longer"):
        webnn_compile.build_bundle(folder / "chain.onnx", max_seconds=1, cache=False)
