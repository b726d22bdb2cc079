"""Rows of the operator table as C programs: without warnings by GCC and Clang, under their sanitizers."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from effort import effort_of, every_nth_row
from op_table import Case, all_cases, check, feeds, make_model, reference
from run_c import SANITIZED, run_program

CASES = all_cases()
COMPILERS = ("gcc", "clang")
EVERY = {"check": 256, "ci": 24, "all": 1}
"""By effort: every so many rows."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    n = EVERY[effort_of(metafunc.config)]
    rows = [(case, compiler) for case in CASES for compiler in COMPILERS if every_nth_row(case.id, n)]
    metafunc.parametrize(("case", "compiler"), rows, ids=[f"{case.id}-{compiler}" for case, compiler in rows])


@pytest.mark.every_row
def test_operator(case: Case, compiler: str, tmp_path: Path) -> None:
    need_compiler(compiler)
    results = run_program(make_model(case), feeds(case), (compiler, *SANITIZED), tmp_path)
    check(results, reference(case), case.tolerance)


def need_compiler(name: str) -> None:
    if shutil.which(name) is None:
        reason = f"{name} is not installed"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
