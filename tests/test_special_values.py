"""NaN, infinities, rows of nothing and integers beyond their type, in every operator, against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import webnn_compile
from drivers import need_driver
from effort import effort_of, special_row_runs
from op_table import Array, Case, all_cases, check, feeds, make_model, reference, untyped_model
from special_values import DIFFERENCES, DIFFERENCES_OF_ROWS, differs, of_nothing, variants
from webnn_compile.driver.device_target import DeviceTarget
from webnn_compile.driver.targets import TARGETS
from webnn_compile.driver.verify import Runnable

DESIGN = Path(__file__).resolve().parent.parent / "compiler" / "ops" / "DESIGN.md"
HEADING = "## NaN, infinities, nothing and overflow"

DEVICES = {name for name, row in TARGETS.items() if isinstance(row, DeviceTarget)}

ROWS = [case for case in all_cases() if next(variants(case), None) is not None]
EMPTY = [empty for case in all_cases() for empty in of_nothing(case)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    effort = effort_of(metafunc.config)
    if metafunc.function in (test_values, test_nothing):
        cases = ROWS if metafunc.function is test_values else EMPTY
        pairs = [(case, t) for case in cases for t in webnn_compile.TARGETS if special_row_runs(case.id, t, effort)]
        metafunc.parametrize(("case", "target"), pairs, ids=[f"{case.id}-{target}" for case, target in pairs])


@pytest.mark.every_row
def test_values(case: Case, target: str) -> None:
    need_driver(target)
    model = make_model(case)
    shapes = {name: a.shape for name, a in feeds(case).items()}
    compiled = webnn_compile.compile(model, target=target, shapes=shapes)
    for kind, variant in variants(case):
        if not _fits(variant, target):
            continue
        got = _run(compiled, variant)
        if not differs(case, kind, device=target in DEVICES):
            check(got, reference(variant), variant.tolerance)


@pytest.mark.every_row
def test_nothing(case: Case, target: str) -> None:
    need_driver(target)
    try:
        expected = reference(case)
    except Exception as error:  # onnxruntime's exceptions share no base class
        pytest.skip(f"onnxruntime refuses it: {error}")
    model = untyped_model(case)
    got = _run(webnn_compile.compile(model, target=target, shapes={n: a.shape for n, a in feeds(case).items()}), case)
    if not differs(case, "nothing", device=target in DEVICES):
        check(got, expected, case.tolerance)


def test_the_table_for_users_names_every_difference() -> None:
    text = DESIGN.read_text().partition(HEADING)[2].partition("\n## ")[0]
    assert [op for op in DIFFERENCES if f"`{op}`" not in text] == []
    assert set(DIFFERENCES_OF_ROWS) <= {case.id for case in ROWS}


def _run(compiled: Runnable, case: Case) -> list[Array]:
    results = compiled.run(feeds(case))
    return [results[f"y{i}"] for i in range(case.outputs) if i not in case.absent]


def _fits(case: Case, target: str) -> bool:
    """Devices refuse int64 inputs that their int32 does not hold."""
    wide = any(a.dtype == np.int64 and (abs(a.astype(float)) >= 2**31).any() for a in feeds(case).values())
    return not (wide and target in DEVICES)
