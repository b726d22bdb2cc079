"""Arrays in one file as NumPy reads it."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from typing import IO

import numpy as np

from ..errors import InputError


def write_npz(file: IO[bytes], arrays: Mapping[str, np.ndarray]) -> None:
    """`np.load` returns them by name. `np.savez` takes names as Python's keywords, and its own parameters' for
    itself. Raises InputError for a name that no archive holds, OSError where `file` cannot be written."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy")  # of a fixed date
            if entry.filename != f"{name}.npy" or len(entry.filename.encode()) > LONGEST_NAME:
                raise InputError(f"the name {name[:80]!r} cannot be that of an array in a .npz file")
            with archive.open(entry, "w", force_zip64=True) as opened:
                np.lib.format.write_array(opened, np.asanyarray(array), allow_pickle=False)


LONGEST_NAME = 2**16 - 1
"""Bytes of a name in a zip archive."""
