"""The page as a device of the tuner: what the compiler's worker has measured on the page's side of a port."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from ..bundle import Manifest
from ..tune.device_error import DeviceError
from ..tune.status import Status
from ..tune.tab_facts import clock_of_tab, name_of_tab

Array = np.ndarray
Exchange = Callable[[str, bytes, float], tuple[str, bytes] | None]
"""Sends a header as JSON and bytes, and waits at most so many seconds for an answer of the same form: None."""


class PageDevice:
    """`facts` as of rpc/device_page/browser_facts.js. The page keeps nothing: files go with each model."""

    variants = ()

    def __init__(self, exchange: Exchange, target: str, facts: Mapping[str, Any]) -> None:
        self._exchange, self._target = exchange, target
        self.name = name_of_tab(facts, target)
        self.clock = clock_of_tab(facts, target)

    def load(self, artifact: Any, *, deadline: float) -> PageModel:
        assert isinstance(artifact, Manifest)
        contents = artifact.contents
        files = [{"sha256": digest, "bytes": len(data)} for digest, data in contents.items()]
        options = {"backend": self._target, "worker": False}
        header = {"op": "load", "manifest": artifact.fields, "files": files, "options": options}
        answer, _ = self.call(header, b"".join(contents.values()), deadline)
        return PageModel(self, answer["model"])

    def show(self, status: Status) -> None:
        with contextlib.suppress(DeviceError):  # what can be measured need not be seen
            self.call({"op": "show", "status": asdict(status)}, b"", 10)

    def close(self) -> None:
        pass

    def call(self, header: Mapping[str, Any], payload: bytes, deadline: float) -> tuple[Mapping[str, Any], bytes]:
        """Raises DeviceError."""
        reply = self._exchange(json.dumps(header), payload, deadline)
        if reply is None:
            raise DeviceError("timeout", f"the page did not answer within {deadline:g} s")
        text, data = reply
        answer: Mapping[str, Any] = json.loads(text)
        error = answer.get("error")
        if error is not None:
            raise DeviceError("device", f"{error['name']}: {error['message']}")
        return answer, data


class PageModel:
    """A LoadedModel."""

    def __init__(self, device: PageDevice, model: int) -> None:
        self._device, self._model = device, model

    def run(self, inputs: Mapping[str, Array], *, deadline: float) -> dict[str, Array]:
        answer, data = self._with("run", inputs, deadline)
        return _read(answer["arrays"], data)

    def profile(self, inputs: Mapping[str, Array], *, repeat: int, deadline: float) -> list[dict[str, Any]]:
        answer, _ = self._with("profile", inputs, deadline, repeat=repeat)
        layers: list[dict[str, Any]] = answer["profile"]
        return layers

    def time(self, inputs: Mapping[str, Array], *, deadline: float) -> float:
        answer, _ = self._with("time", inputs, deadline, repeat=1, warmup=0)
        (duration,) = answer["times"]
        return float(duration)

    def unload(self) -> None:
        self._device.call({"op": "unload", "model": self._model}, b"", 60)

    def _with(
        self, op: str, inputs: Mapping[str, Array], deadline: float, **fields: Any
    ) -> tuple[Mapping[str, Any], bytes]:
        arrays = [{"name": n, "dtype": a.dtype.name, "shape": list(a.shape)} for n, a in inputs.items()]
        payload = b"".join(np.ascontiguousarray(a).tobytes() for a in inputs.values())
        return self._device.call({"op": op, "model": self._model, "arrays": arrays, **fields}, payload, deadline)


def _read(specs: Sequence[Mapping[str, Any]], data: bytes) -> dict[str, Array]:
    arrays, at = {}, 0
    for spec in specs:
        dtype, shape = np.dtype(spec["dtype"]), tuple(spec["shape"])
        count = int(np.prod(shape, dtype=np.int64))
        arrays[spec["name"]] = np.frombuffer(data, dtype, count, at).reshape(shape)
        at += count * dtype.itemsize
    return arrays
