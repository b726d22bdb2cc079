"""All that a run has found, as JSON."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from webnn_compile.errors import InputError

from .peers import versions
from .summary import Key


@dataclass(slots=True)
class Results:
    """`measured` holds every time of every round, `profiles` the kernels of cases as `profile_here` gives them."""

    facts: dict[str, Any]
    measured: dict[Key, list[dict[str, Any]]] = field(default_factory=dict)
    profiles: list[dict[str, Any]] = field(default_factory=list)

    def write(self, file: Path) -> None:
        rows = [{"case": c, "browser": b, "engine": e, "rounds": r} for (c, b, e), r in self.measured.items()]
        data = {"facts": self.facts, "measurements": rows, "profiles": self.profiles}
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(data, indent=1) + "\n")

    @staticmethod
    def read(file: Path) -> Results:
        """InputError where the file is none that `write` made."""
        try:
            data = json.loads(file.read_text())
            measured = {(m["case"], m["browser"], m["engine"]): m["rounds"] for m in data["measurements"]}
            return Results(data["facts"], measured, data["profiles"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{file} holds no results of a run: {error}") from None


def facts(settings: Mapping[str, Any]) -> dict[str, Any]:
    """When and where a run was made, and with what."""
    packages = {"webnn-compile": _version("webnn-compile"), "onnxruntime": _version("onnxruntime"), **versions()}
    return {
        "when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(terse=True),
        "versions": packages,
        "settings": dict(settings),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
