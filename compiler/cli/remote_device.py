"""A leased tab as a device of the tuner, and a browser that is started to be one."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..errors import InputError
from ..tune.device import Artifact
from ..tune.device_error import DeviceError, DeviceGone
from ..tune.status import Status
from ..tune.tab_facts import clock_of_tab, name_of_tab, variants_of_tab

if TYPE_CHECKING:
    from webnn_compile.rpc.client import LeasedDevice, RemoteModel, Session

Array = np.ndarray
T = TypeVar("T")

REJOIN = 60.0
"""Seconds in which a tab that was lost must come back."""


class RemoteDevice:
    """The device `wanted` ("any" for whichever has the backend) of a broker, leased again when it was lost. `restart`
    brings back a browser of our own, the only device of its broker, after it was lost or did not answer; `reconnect`
    makes a new session after the broker was lost."""

    def __init__(
        self,
        session: Session,
        wanted: str,
        backend: str,
        options: Mapping[str, Any],
        wait: float,
        restart: Callable[[], None] | None = None,
        reconnect: Callable[[], Session] | None = None,
    ) -> None:
        """Raises RpcError where no such device is free within `wait` seconds."""
        self._session, self._backend, self._reconnect = session, backend, reconnect
        self._opened = contextlib.ExitStack()
        self._options, self._restart = {**options, "backend": backend}, restart
        self._device: LeasedDevice | None = session.lease(wanted, backend, timeout=wait)
        info = self._device.info
        self._again = info.name if restart is None else wanted
        self.name = name_of_tab(info.facts, backend)
        self.clock = clock_of_tab(info.facts, backend)
        self.variants = variants_of_tab(info.facts)

    def load(self, artifact: Artifact, *, deadline: float) -> _Model:
        device = self._leased()
        return _Model(self, self._call(lambda: device.load(artifact, self._options, deadline=deadline)))

    def show(self, status: Status) -> None:
        """On the device's page."""
        device = self._device
        if device is not None:
            with contextlib.suppress(DeviceError):
                self._call(lambda: device.call({"op": "show", "status": asdict(status)}, deadline=10))

    def close(self) -> None:
        if self._device is not None:
            with contextlib.suppress(DeviceError):
                self._call(self._device.release)
        self._opened.close()

    def _leased(self) -> LeasedDevice:
        """Waits for a tab that was lost: it joins again by its name, where the broker was restarted, too."""
        if self._device is None:
            if self._restart is not None:
                self._restart()
            end = time.monotonic() + REJOIN
            while self._device is None:
                try:
                    if self._session.closed and self._reconnect is not None:
                        self._session = self._opened.enter_context(self._call(self._reconnect))
                    left = max(0.1, end - time.monotonic())
                    self._device = self._call(partial(self._session.lease, self._again, self._backend, timeout=left))
                except DeviceGone:
                    raise
                except DeviceError as error:
                    if time.monotonic() > end:
                        raise DeviceGone(f"{self._again} has not joined again within {REJOIN:g} s: {error}") from None
                    time.sleep(0.5)
        return self._device

    def _call(self, call: Callable[[], T]) -> T:
        from webnn_compile.rpc.client import RpcError

        try:
            return call()
        except RpcError as error:
            if error.kind == "refused":  # the broker has another token now, and will not have the old one again
                raise DeviceGone(str(error)) from None
            kind = {"gone": "lost", "timeout": "timeout", "busy": "timeout"}.get(error.kind, "device")
            if kind == "lost" or (kind == "timeout" and self._restart is not None):
                self._device = None
            raise DeviceError(kind, str(error)) from None


class _Model:
    """A LoadedModel."""

    def __init__(self, device: RemoteDevice, model: RemoteModel) -> None:
        self._device, self._model = device, model

    def run(self, inputs: Mapping[str, Array], *, deadline: float) -> Mapping[str, Array]:
        outputs: Mapping[str, Array] = self._device._call(lambda: self._model.run(inputs, deadline=deadline))
        return outputs

    def profile(self, inputs: Mapping[str, Array], *, repeat: int, deadline: float) -> list[dict[str, Any]]:
        layers: list[dict[str, Any]] = self._device._call(
            lambda: self._model.profile(inputs, repeat=repeat, deadline=deadline)
        )
        return layers

    def time(self, inputs: Mapping[str, Array], *, deadline: float) -> float:
        model = self._model
        (duration,) = self._device._call(
            lambda: model.device.time(model, inputs, repeat=1, warmup=0, deadline=deadline)
        )
        return float(duration)

    def unload(self) -> None:
        self._device._call(self._model.unload)


@contextlib.contextmanager
def browser_device(
    kind: str, backend: str, options: Mapping[str, Any], *, headed: bool = False
) -> Iterator[RemoteDevice]:
    """A broker and a browser of our own. Raises InputError where there is no such browser, or it lacks the backend."""
    from playwright.sync_api import Error, sync_playwright
    from webnn_compile.rpc.browsers import BrowserMissing, launch
    from webnn_compile.rpc.client import connect, lack_of
    from webnn_compile.rpc.start_broker import start_broker

    with contextlib.ExitStack() as opened:
        address = opened.enter_context(start_broker())
        playwright = opened.enter_context(sync_playwright())
        running = opened.enter_context(contextlib.ExitStack())

        def start() -> None:
            running.close()
            try:
                running.enter_context(launch(playwright, kind, headed=headed)).new_page().goto(address.page)
            except BrowserMissing as error:
                raise InputError(f"--device browser:{kind}: {error}") from None
            except Error as error:
                reason = error.message.partition("\n")[0]
                raise InputError(f"--device browser:{kind}: it does not start: {reason}") from None

        start()
        session = opened.enter_context(connect(address.page))
        with session.lease(timeout=REJOIN) as joined:
            if backend not in joined.info.backends:  # and no other browser will join
                raise InputError(f"--device browser:{kind}: {lack_of(joined.info, backend)}")
        device = RemoteDevice(session, "any", backend, options, REJOIN, start)
        opened.callback(device.close)
        yield device
