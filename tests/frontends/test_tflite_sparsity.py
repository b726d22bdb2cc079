"""Damaged levels of sparse constants of TFLite."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from webnn_compile.frontends.tflite.expand_sparse import expand_sparse


@pytest.mark.parametrize(("size", "segments"), [(2**31 - 1, None), (4, [0, 2**31 - 1]), (4, [3, 0])])
def test_sparse_levels_that_do_not_fit_the_shape(
    size: int, segments: list[int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They end before arrays of their size are made."""
    module = sys.modules["webnn_compile.frontends.tflite.expand_sparse"]
    monkeypatch.setattr(module, "_numbers", lambda level, what: np.asarray(segments, np.int64))
    level = SimpleNamespace(Format=lambda: int(segments is not None), DenseSize=lambda: size)
    sparsity = SimpleNamespace(
        TraversalOrderAsNumpy=lambda: [0],
        BlockMapLength=lambda: 0,
        DimMetadataLength=lambda: 1,
        DimMetadata=lambda i: level,
    )
    with pytest.raises(ValueError, match="level"):
        expand_sparse(sparsity, np.zeros(4, np.uint8), np.dtype("u1"), [4])
