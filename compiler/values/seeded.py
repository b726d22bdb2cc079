"""Values made from a seed by a few operations on integers, which a page and a shader can repeat exactly.

`runtime-js/bundle_page/seeded.js` makes the same ones.
"""

from __future__ import annotations

import numpy as np

from ..dtypes import F16, DType

Array = np.ndarray

Range = tuple[int, int]
"""The least of integers, and how many there are."""


def seeded_words(count: int, seed: int) -> Array:
    """uint32 [count]: the finaliser of MurmurHash3 over the numbers of elements, so that each depends on its number
    and the seed alone."""
    x = np.arange(count, dtype=np.uint32) * np.uint32(0x9E3779B1) + np.uint32(seed)
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x85EBCA6B)
    x ^= x >> np.uint32(13)
    x *= np.uint32(0xC2B2AE35)
    x ^= x >> np.uint32(16)
    return x


def seeded_values(dtype: DType, shape: tuple[int, ...], seed: int, within: Range | None = None) -> Array:
    """Floats from -1 to 1, in steps of 2**-23, those of float16 of at least 0.5 by magnitude; integers and bools
    `within` a range; without one int32 of all values, as the words of pixels."""
    words = seeded_words(int(np.prod(shape, dtype=np.int64)), seed)
    if dtype == F16:
        bits = 0x3800 | (words >> np.uint32(22)) | (words & np.uint32(1)) << np.uint32(15)
        return bits.astype(np.uint16).view(np.float16).reshape(shape)
    if dtype.is_float:
        return ((words >> np.uint32(8)) / 2.0**23 - 1).astype(dtype.numpy).reshape(shape)
    if within is None:
        return words.view(np.int32).reshape(shape)
    least, count = within
    return (least + (words % np.uint32(count)).astype(np.int64)).astype(dtype.numpy).reshape(shape)
