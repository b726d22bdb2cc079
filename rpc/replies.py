"""Checks replies against their requests: any program with the token can join as a device."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .messages import Header, ProtocolError, is_count

KINDS = ("request", "busy", "gone", "timeout", "file", "device")
"""Kinds of errors that are replies, by PROTOCOL.md."""


def read_error(header: Header) -> tuple[str, str] | None:
    """Kind and message, where the reply is an error. Raises ProtocolError, as the others do."""
    match header:
        case {"error": {"kind": str(kind), "message": str(message)}} if kind in KINDS:
            return kind, message
        case {"error": _}:
            raise ProtocolError(f"an error without a message, or of none of the kinds {', '.join(KINDS)}")
    return None


def read_loaded(header: Header, backend: object) -> tuple[int, Mapping[str, Any]]:
    """The number of a model, and the `info` of the runtime. It runs on `backend`, unless that is None or "auto"."""
    match header:
        case {"model": number, "info": {"backend": str(loaded)} as info} if is_count(number):
            if not isinstance(info.get("adapter", ""), str):
                raise ProtocolError("an adapter whose name is no text")
            if backend in (None, "auto", loaded):
                return number, info
            raise ProtocolError(f"a model on {loaded}, where {backend} was requested")
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
