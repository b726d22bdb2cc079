"""The table of a device program's references as JSON: where each function takes its arguments, and in which order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..program.references import ReferenceArgument, ReferenceKernel
from .place_memory import PAGE, place_memory
from .render_device import render_dimensions

SECTION = "references"
"""The custom section of the module that has the table."""


def render_references(name: str, kernels: Sequence[ReferenceKernel], heap_base: int, arena: int) -> bytes:
    """UTF-8, as `device/reference_kernels.js` reads it; `heap_base` and the size of the arena, in bytes, are those of
    the module. InputError above wasm32's 4 GiB."""
    memory = place_memory(name, heap_base, 0, arena)
    table = {"pages": memory.bytes // PAGE, "arena": memory.arena, "kernels": [_kernel(k) for k in kernels]}
    return json.dumps(table, separators=(",", ":")).encode()


def _kernel(k: ReferenceKernel) -> dict[str, Any]:
    entry: dict[str, Any] = {"kernel": k.kernel, "arguments": [_argument(a) for a in k.arguments]}
    if k.scalars:
        entry["scalars"] = list(k.scalars)
    if k.tolerance:
        entry["tolerance"] = k.tolerance
    if k.accumulates:
        entry["accumulates"] = True
    return entry


def _argument(a: ReferenceArgument) -> dict[str, Any]:
    entry: dict[str, Any] = {"offset": a.offset, "dtype": str(a.dtype), "size": a.size}
    if a.dimensions is not None:
        entry |= {"digits": render_dimensions(a.dimensions), "limits": list(a.limits)}
    if a.packed is not None:
        entry |= {"packed": render_dimensions(a.packed), "packedLimits": list(a.packed_limits)}
    return entry
