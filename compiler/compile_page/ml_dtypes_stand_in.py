"""A stand-in for ml_dtypes, which onnx imports: its dtypes as structures that hold their bits and compute nothing.

The compiler refuses element types that NumPy lacks, by their names in the file.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__version__ = "0.5.4"

_BYTES = (
    "float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
    "float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int2 int4 uint2 uint4"
)


def _bits(name: str, storage: str) -> np.dtype[Any]:
    return np.dtype([(name, storage)])


bfloat16 = _bits("bfloat16", "<u2")
globals().update({name: _bits(name, "u1") for name in _BYTES.split()})


def finfo(dtype: object) -> object:
    """Raises ValueError for every dtype, as NumPy does for those without limits: no code of the page calls it."""
    raise ValueError(f"the stand-in of ml_dtypes has no limits of {dtype}")


iinfo = finfo
