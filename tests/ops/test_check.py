"""The comparison behind the operator table rejects what it must."""

from __future__ import annotations

import numpy as np
import pytest
from op_table import check

WANT = np.asarray([1.0, np.nan, np.inf, -2000.0], np.float32)


def _with(place: int, value: float) -> np.ndarray:
    changed = WANT.copy()
    changed[place] = value
    return changed


@pytest.mark.parametrize(
    "got",
    [
        WANT.astype(np.float64),
        WANT.reshape(2, 2),
        _with(0, np.nan),
        _with(1, 0),
        _with(2, -np.inf),
        _with(2, 3e38),
        _with(0, 1.05),
    ],
    ids=["dtype", "shape", "new NaN", "lost NaN", "sign of infinity", "finite", "number"],
)
def test_check_rejects(got: np.ndarray) -> None:
    with pytest.raises(AssertionError):
        check([got], [WANT], 1e-5)


def test_check_rejects_integers_off_by_one() -> None:
    with pytest.raises(AssertionError):
        check([np.asarray([1, 2])], [np.asarray([1, 3])], 1e-5)


def test_check_measures_against_the_largest_value() -> None:
    check([_with(0, 1.01)], [WANT], 1e-5)
