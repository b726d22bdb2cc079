"""Profiles of earlier runs: the time that each step took, by the names that the runtime's `model.profile` gives."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Protocol

from ..errors import InputError


@dataclass(frozen=True, slots=True)
class StepTime:
    """`ms` are milliseconds in a run, in which a loop repeats the step `count` times. `nodes` are None where the
    profile lacks them."""

    name: str
    nodes: tuple[str, ...] | None
    ms: float
    count: int = 1


Profile = tuple[StepTime, ...]
"""In the order of the steps."""


class Named(Protocol):
    """A step of a program."""

    @property
    def name(self) -> str: ...

    @property
    def nodes(self) -> tuple[str, ...]: ...


def read_profile(path: Path) -> Profile:
    """The profile in a file, an array as JSON. Raises InputError for any other file."""
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"profile {path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise InputError(f"profile {path} is not JSON: save `JSON.stringify(await model.profile(inputs))`") from None
    if not isinstance(data, list) or not all(map(_is_step, data)):
        raise InputError(f"profile {path} is not what `model.profile()` gives: an array of {{name, nodes, ms, ...}}")
    return tuple(map(_step, data))


def _step(step: dict[str, Any]) -> StepTime:
    nodes = tuple(step["nodes"]) if "nodes" in step else None
    return StepTime(step["name"], nodes, float(step["ms"]), step.get("count", 1))


def _is_step(step: Any) -> bool:
    match step:
        case {"name": str(), "ms": int() | float() as ms}:
            nodes, count = step.get("nodes", []), step.get("count", 1)
            named = isinstance(nodes, list) and all(isinstance(n, str) for n in nodes)
            return named and type(count) is int and count >= 0 and type(ms) is not bool and isfinite(ms) and ms >= 0
    return False


def check_profiles(profiles: Mapping[str, Profile], steps: Mapping[str, Sequence[Named]]) -> None:
    """Raises InputError unless the profile of each target is of its steps."""
    for target, profile in profiles.items():
        _check(target, profile, steps[target])


def _check(target: str, profile: Profile, steps: Sequence[Named]) -> None:
    advice = "profile a bundle of the same model, options and version"
    if len(profile) != len(steps):
        raise InputError(
            f"--profile {target}=...: it has {len(profile)} steps, the model as compiled here {len(steps)}; {advice}"
        )
    for number, (timed, step) in enumerate(zip(profile, steps, strict=True)):
        if timed.name != step.name or timed.nodes not in (None, step.nodes):
            raise InputError(
                f"--profile {target}=...: step {number} is {timed.name} there, {step.name} as compiled here; {advice}"
            )
