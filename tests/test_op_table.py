"""Runs every row of the operator table on every backend."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest
from effort import effort_of, row_runs
from op_table import BACKENDS, Case, all_cases, check, feeds, make_model, reference
from webnn_compile.driver.device_target import DeviceTarget
from webnn_compile.driver.targets import TARGETS
from webnn_compile.errors import InputError
from webnn_compile.ops import OPERATORS

CASES = all_cases()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.function is test_operator:
        effort = effort_of(metafunc.config)
        rows = [(case, backend) for case in CASES for backend in BACKENDS if row_runs(case.id, backend, effort)]
        metafunc.parametrize(("case", "backend"), rows, ids=[f"{case.id}-{backend}" for case, backend in rows])


@pytest.mark.every_row
def test_operator(case: Case, backend: str) -> None:
    model = make_model(case)
    onnx.checker.check_model(model)
    if isinstance(TARGETS.get(backend), DeviceTarget) and beyond_int32(case):
        with pytest.raises(InputError, match="beyond int32"):
            BACKENDS[backend](model, feeds(case))
        return
    check(BACKENDS[backend](model, feeds(case)), reference(case), case.tolerance)


def beyond_int32(case: Case) -> bool:
    """Whether an input has elements that a device refuses."""
    return any(a.dtype == np.int64 and (abs(a) > 2**31 - 1).any() for a in feeds(case).values())


def test_every_operator_has_a_row() -> None:
    assert sorted(set(OPERATORS) - {(c.domain, c.op) for c in CASES}) == []


def test_ids_are_unique() -> None:
    assert [i for i, n in Counter(c.id for c in CASES).items() if n > 1] == []
