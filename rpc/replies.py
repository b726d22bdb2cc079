"""What devices reply, held against what was asked of them: whoever has the token may be one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .messages import Header, ProtocolError, is_count


def read_loaded(header: Header, backend: object) -> tuple[int, Mapping[str, Any]]:
    """The number of a model, and what the runtime's `info` says; it runs on `backend`, unless that is None or "auto".
    Raises ProtocolError, as the others do."""
    match header:
        case {"model": number, "info": {"backend": str(found)} as info} if is_count(number):
            if backend in (None, "auto", found):
                return number, info
            raise ProtocolError(f"a model on {found}, where {backend} was asked for")
    raise ProtocolError("no model with a number and the backend that runs it")


def read_times(header: Header, repeat: int) -> list[float]:
    """Milliseconds of `repeat` runs."""
    match header:
        case {"times": [*times]} if len(times) == repeat and all(map(_is_time, times)):
            return [float(t) for t in times]
    raise ProtocolError(f"no {repeat} times in milliseconds")


def read_profile(header: Header) -> list[dict[str, Any]]:
    """Kernels, each with its name and milliseconds at least."""
    match header:
        case {"profile": [*kernels]} if all(map(_is_kernel, kernels)):
            return [dict(kernel) for kernel in kernels]
    raise ProtocolError("no profile: a list of kernels with name and milliseconds")


def _is_kernel(value: object) -> bool:
    match value:
        case {"name": str(), "ms": ms}:
            return _is_time(ms)
    return False


def _is_time(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value) and value >= 0
    except OverflowError:  # an integer beyond float64
        return False
