"""A page on which the compiler searches, without a device."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from math import prod
from typing import Any

import numpy as np
from device_json import read_program

FACTS = {"browser": "Fake 1", "platform": "none", "clock": 0.1, "webgpu": {"adapter": "nothing", "clock": 0.001}}


class FakePage:
    """Answers as rpc/device_page/run_requests.js, of models that it does not run: results are ones, a launch takes as
    many milliseconds as its kernel has statements. From the request `after` on there is no answer, or the error
    `error`."""

    def __init__(self, after: int | None = None, error: Mapping[str, str] | None = None) -> None:
        self.shown: list[Mapping[str, Any]] = []
        self.asked: list[str] = []
        self._after, self._error = after, error
        self._models: dict[int, tuple[Any, Any]] = {}

    def exchange(self, header: str, payload: bytes, seconds: float) -> tuple[str, bytes] | None:
        request = json.loads(header)
        self.asked.append(request["op"])
        assert seconds > 0
        if self._after is not None and len(self.asked) > self._after:
            return None if self._error is None else (json.dumps({"error": self._error}), b"")
        found, data = getattr(self, f"_{request['op']}")(request, payload)
        return json.dumps(found), data

    def stopped(self) -> bool:
        return False

    @property
    def loaded(self) -> int:
        return len(self._models)

    def _load(self, request: Any, payload: bytes) -> tuple[Any, bytes]:
        at, files = 0, {}
        for entry in request["files"]:
            files[entry["sha256"]] = payload[at : at + entry["bytes"]]
            at += entry["bytes"]
        assert at == len(payload)
        assert all(sha256(data).hexdigest() == digest for digest, data in files.items())
        (backend,) = request["manifest"]["backends"]
        assert backend["backend"] == request["options"]["backend"]
        number = self.asked.count("load")
        self._models[number] = request["manifest"], read_program(files[backend["program"]["sha256"]])
        return {"model": number}, b""

    def _run(self, request: Any, payload: bytes) -> tuple[Any, bytes]:
        manifest, _ = self._inputs(request, payload)
        outputs = [{key: t[key] for key in ("name", "dtype", "shape")} for t in manifest["outputs"]]
        return {"arrays": outputs}, b"".join(np.ones(t["shape"], t["dtype"]).tobytes() for t in outputs)

    def _profile(self, request: Any, payload: bytes) -> tuple[Any, bytes]:
        return {"profile": self._steps(self._inputs(request, payload)[1])}, b""

    def _time(self, request: Any, payload: bytes) -> tuple[Any, bytes]:
        steps = self._steps(self._inputs(request, payload)[1])
        return {"times": [sum(s["ms"] for s in steps)] * request["repeat"], "runs": 1}, b""

    def _show(self, request: Any, payload: bytes) -> tuple[Any, bytes]:
        self.shown.append(request["status"])
        return {}, b""

    def _unload(self, request: Any, payload: bytes) -> tuple[Any, bytes]:
        del self._models[request["model"]]
        return {}, b""

    def _inputs(self, request: Any, payload: bytes) -> tuple[Any, Any]:
        """The model, after a check of what goes into it."""
        manifest, program = self._models[request["model"]]
        assert {a["name"]: a["shape"] for a in request["arrays"]} == {t["name"]: t["shape"] for t in manifest["inputs"]}
        assert len(payload) == sum(prod(a["shape"]) * np.dtype(a["dtype"]).itemsize for a in request["arrays"])
        return manifest, program

    @staticmethod
    def _steps(program: Any) -> list[dict[str, Any]]:
        statements = [sum(map(kernel["source"].count, ";{}")) for kernel in program["kernels"]]
        launches = (program["launches"][i] for first, end in program["steps"] for i in range(first, end))
        return [{"name": one["name"], "ms": float(statements[one["kernel"]])} for one in launches]
