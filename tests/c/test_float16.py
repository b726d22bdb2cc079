"""Numbers of float16 in C, where they are their bits."""

from __future__ import annotations

import numpy as np
import pytest
from webnn_compile.c.dialect import C
from webnn_compile.c.prelude import Prelude
from webnn_compile.dtypes import F16


@pytest.mark.parametrize(
    ("value", "bits"),
    [(0.0, 0), (-0.0, 0x8000), (1.2, 0x3CCD), (-2.0, 0xC000), (1e9, 0x7C00), (float("-inf"), 0xFC00)],
)
def test_literals(value: float, bits: int) -> None:
    with np.errstate(over="ignore"):
        assert int(C({}, Prelude()).literal(value, F16).text, 16) == bits
