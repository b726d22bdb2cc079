"""The device features that a kernel's shader requires, beyond those of every device."""

from __future__ import annotations

from ..dtypes import F16
from ..ir.all_reduce import AllReduce
from ..ir.nodes import Kernel, Load, Store
from ..ir.rewrite import walk
from ..program.device_program import Feature

ENABLE: dict[Feature, str] = {"shader-f16": "enable f16;", "subgroups": "enable subgroups;"}
"""The line of a shader that enables a feature, in the order of these lines."""


def find_features(kernel: Kernel) -> tuple[Feature, ...]:
    """The features of a lowered kernel."""
    nodes = list(walk(kernel.body))
    needed = {
        "shader-f16": any(isinstance(n, Load | Store) and n.buffer.dtype == F16 for n in nodes),
        "subgroups": any(isinstance(n, AllReduce) for n in nodes),
    }
    return tuple(feature for feature in ENABLE if needed[feature])
