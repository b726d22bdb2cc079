"""Sizes of a run by the shapes of its arrays."""

from __future__ import annotations

import numpy as np
import pytest
from webnn_compile.dtypes import F32
from webnn_compile.errors import InputError
from webnn_compile.ir.nodes import Scalar
from webnn_compile.program.dimensions import Dimension
from webnn_compile.program.program import TensorSpec
from webnn_compile.values.bind_sizes import bind_sizes

N = Scalar("N/4", 17, low=1)
DIMENSION = Dimension("N", N, 4)


def test_multiples_of_a_size() -> None:
    """Where a dimension is 2 N, or N, or N / 2."""
    for factor, extent in ((8, 24), (4, 12), (2, 6)):
        spec = TensorSpec("x", F32, (3, N * factor), 0)
        assert bind_sizes([DIMENSION], [spec], [np.zeros((3, extent), np.float32)]) == {N: 3}


@pytest.mark.parametrize(
    ("extent", "message"),
    [
        (20, "makes N 10, and the model was compiled for multiples of 4"),
        (23, r"expected float32\[N/4 \* 8\], here \[24\] \(N is 12 by input 'x' of shape \[23\]\), got float32\[23\]"),
    ],
)
def test_an_extent_that_no_size_gives(extent: int, message: str) -> None:
    spec = TensorSpec("x", F32, (N * 8,), 0)
    with pytest.raises(InputError, match=message):
        bind_sizes([DIMENSION], [spec], [np.zeros(extent, np.float32)])
