"""A stand-in for numpy.ma, which np.unique and np.median ask whether an array is masked: none is here."""

from __future__ import annotations


def is_masked(_: object) -> bool:
    return False


isMaskedArray = is_masked
