"""Limits of a compilation's resources: a file of a few bytes can describe a huge computation."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from math import prod
from pathlib import Path

from ..errors import InputError

NODES = 250_000
"""Nodes of a model once its functions are inlined. Large language models have 50,000, and take minutes to compile."""

ELEMENTS = 2**31 - 1
"""Elements of a tensor, with the padding of its layout: the indices of every target are int32."""

RANK = 64
"""Dimensions of a tensor, NumPy's limit: models use 8 at most, and a few bytes can declare 2**31."""

FOLD_BYTES = 64 * 2**20
"""A result that depends on constants alone is computed at compile time up to this size, or where it has no more
elements than its operands; else the model computes it at run time, which costs less than a download of that size."""

FOLD_ELEMENTS = 2**16
"""Elements of a constant of which a node computes how many results it has, in loops that NumPy steps through."""

FOLD_STEPS = 2**32
"""Elements evaluated for a result that is folded, those of reductions included: about a minute in NumPy."""

COPIES = 5
"""Copies of a model's constants that a build holds: as read, packed and written. For wasm the peak grows by 5.0 bytes
for each byte of weights (measured)."""

_SHARE = 3 / 4
_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


class CompileMemory:
    """Counts the bytes of constants: those that importing reads and computes, then those that the model keeps."""

    def __init__(self, limit: int | None = None) -> None:
        """`limit` is in bytes; None is three quarters of this machine's memory."""
        self._limit = default_memory() if limit is None else limit
        self._reserved = 0

    def reserve(self, size: int, what: str) -> None:
        """Counts `size` bytes before importing allocates them. `what` names node or tensor.

        Raises InputError where the total exceeds the limit.
        """
        self._reserved += size
        if self._reserved > self._limit:
            raise InputError(
                f"{what} takes {format_size(size)}, which makes {format_size(self._reserved)} of constants, "
                f"{self._advice()}"
            )

    def checkpoint(self) -> Callable[[], None]:
        """A function that no longer counts what is reserved from now on."""
        reserved = self._reserved

        def restore() -> None:
            self._reserved = reserved

        return restore

    def keep(self, sizes: Mapping[str, int]) -> None:
        """Checks the constants that the imported model keeps: bytes by name.

        Raises InputError, which names the largest, where a build with them exceeds the limit.
        """
        total = sum(sizes.values())
        if total * COPIES > self._limit:
            largest = max(sizes, key=sizes.__getitem__)
            raise InputError(
                f"the model keeps {format_size(total)} of constants, the largest {largest!r} of "
                f"{format_size(sizes[largest])}; a build holds them {COPIES} times, {self._advice()}"
            )

    def _advice(self) -> str:
        return (
            f"and --compile-memory allows {format_size(self._limit)}: give the model smaller shapes, or more memory by "
            "--compile-memory (in Python: compile_memory)"
        )


def check_rank(rank: int, what: str) -> None:
    """Raises InputError for a tensor of more dimensions than are supported; `what` names it."""
    if rank > RANK:
        raise InputError(f"{what} has {rank} dimensions, and a tensor may have {RANK}; give the model smaller shapes")


def check_elements(shape: Sequence[int], what: str) -> None:
    """Raises InputError for a tensor of more elements than indices can count, or of too many dimensions; `what` names
    it."""
    check_rank(len(shape), what)
    count = prod(shape)
    if count > ELEMENTS:
        raise InputError(
            f"{what} of shape {list(shape)} has {count} elements, and a tensor may have {ELEMENTS} (int32 indices); "
            "give the model smaller shapes"
        )


def is_too_large(error: Exception) -> bool:
    """Whether NumPy raised `error` for an array that memory or its own limits cannot hold."""
    # NumPy has a plain ValueError for sizes beyond those of an address.
    too_big = ("array is too big", "Maximum allowed dimension exceeded", "Maximum allowed size exceeded")
    return isinstance(error, MemoryError) or (isinstance(error, ValueError) and str(error).startswith(too_big))


def format_size(size: int) -> str:
    """`size` in bytes for messages: 3.5 GiB."""
    unit = 0
    value: float = size
    while value >= 1024 and unit + 1 < len(_UNITS):
        value /= 1024
        unit += 1
    return f"{value:.4g} {_UNITS[unit]}"


def parse_size(text: str) -> int | None:
    """The bytes of a size such as 4GiB, 4GB, 1.5g or 4096; None where `text` is no size, or 0."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?)b?|b)?", text.strip().lower(), re.ASCII)
    if match is None:
        return None
    number, unit, binary = match.groups()
    base = 1000 if unit and not binary and text.strip().lower().endswith("b") else 1024
    return int(Fraction(number) * base ** (" kmgt".index(unit) if unit else 0)) or None


def default_memory() -> int:
    """Bytes that compiling may take where no option says so."""
    return int(machine_memory() * _SHARE)


def machine_memory() -> int:
    """Bytes of memory available to this process: those of the machine, or of its container."""
    sizes = [_physical_memory()]
    for path in _CGROUP_LIMITS:
        with suppress(OSError, ValueError):
            sizes.append(int(Path(path).read_text()))
    return min(sizes)


def _physical_memory() -> int:
    if sys.platform == "win32":
        kilobytes = ctypes.c_ulonglong()
        if ctypes.windll.kernel32.GetPhysicallyInstalledSystemMemory(ctypes.byref(kilobytes)):
            return kilobytes.value * 1024
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return 16 * 2**30
