"""Whether a model's weights can be quantised."""

from __future__ import annotations

from collections.abc import Mapping

FLOATS = ("float64", "float32", "float16", "bfloat16")


def mostly_floats(types: Mapping[str, int]) -> bool:
    """Whether floats, which quantising makes smaller, have half of the bytes of weights at least; `types` are bytes by
    the type of the elements."""
    return 2 * sum(types.get(name, 0) for name in FLOATS) >= sum(types.values())
