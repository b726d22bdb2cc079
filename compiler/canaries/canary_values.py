"""Operands of canaries, and what is compared of their results, made from a seed.

`runtime-js/device/try_kernels.js` makes the same ones.
"""

from __future__ import annotations

from functools import lru_cache
from math import copysign, inf

import numpy as np

from ..dtypes import BOOL, I8, U8, U32, DType
from ..program.device_program import POSITIVE, UNIT, Canary

Array = np.ndarray

_WORD = 0xFFFFFFFF

PERIOD = 65521
"""After so many elements, a prime, the same ones come again, which takes a page a tenth of the time."""
RESULT = 0
"""The number of the result among the arguments: the operand before it is 1, and so on."""
NORMS = 2.5
"""So many norms are added to a sum with random signs. One would cancel the sum where one element is far larger than the
others."""
FEW = 7
"""A mask of integers that have any value: most are indices, and operands of sums."""


def canary_values(
    dtype: DType, count: int, argument: int, floats: float = UNIT, *, integers: int | None = None
) -> Array:
    """The elements of an argument, by its number from the RESULT on, of the model's type `dtype`: float32 [count], 4096
    ones of `floats`; of other types int64 [count], all that `integer_range` says."""
    words = _words(count, argument)
    if dtype.is_float:
        values = (np.arange(4096) / 2048 - 1) * floats + (floats == POSITIVE)
        return np.asarray(values.astype(np.float32)[words & np.uint32(0xFFF)])
    least, most = integer_range(dtype, integers)
    return np.asarray((words & np.uint32(most - least)).astype(np.int64) + least)


def _words(count: int, argument: int) -> Array:
    """uint32 [count]."""
    return np.resize(_period(argument), count)


@lru_cache(16)
def _period(argument: int) -> Array:
    """uint32 [PERIOD], of a generator that a page has in a few characters: Marsaglia, Xorshift RNGs, 2003."""
    words, word = [], (argument + 1) * 0x9E3779B1 & _WORD
    for _ in range(PERIOD):
        word ^= word << 13 & _WORD
        word ^= word >> 17
        word ^= word << 5 & _WORD
        words.append(word)
    return np.array(words, np.uint32)


def integer_range(dtype: DType, integers: int | None) -> tuple[int, int]:
    """The least and the greatest of a canary's integers of the model's type `dtype`, by the canary's mask if it has
    one, of which bytes and bools have the lowest bits."""
    if integers is not None:
        return 0, integers & {BOOL: 1, I8: 127, U8: 127}.get(dtype, integers)
    return {BOOL: (0, 1), I8: (-128, 127), U8: (0, 255), U32: (0, 2**32 - 1)}.get(dtype, (0, FEW))


def canary_sums(result: Array, most: float | None = None, inside: Array | None = None) -> tuple[float, float]:
    """The sum of the elements of a result, flat, with random signs, and their norm, the root of the sum of their
    squares; of those that are `inside` its storage, bool of its shape. Those beyond `most` count as that. NaN where an
    element is no number."""
    values = result.astype(np.float64)
    if most is not None:
        values = values.clip(-most, most)
    signs = 1.0 - 2.0 * (_words(values.size, RESULT) & np.uint32(1))
    if inside is not None:
        values, signs = values[inside], signs[inside]
    with np.errstate(all="ignore"):
        return float(values @ signs), float(np.sqrt(values @ values))


def checksum_of(total: float, norm: float) -> float:
    """One number of the two sums of a result: a factor of the result changes it, too, since it is far from zero."""
    return total + copysign(NORMS * norm, total)


def is_right(canary: Canary, total: float, norm: float) -> bool:
    """Whether a result with these sums is that of a canary, within its tolerance."""
    checksum = total + copysign(NORMS * norm, canary.checksum)
    return abs(checksum - canary.checksum) <= canary.tolerance * norm < inf
