"""The rules by which `pytest --effort` chooses tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import effort
import pytest
from effort import (
    BROWSERS,
    IN_BOTH,
    LEFT_TO_CI,
    MANY_KERNELS,
    ROWS_OF_BACKENDS,
    SAMPLED,
    TARGETS,
    every_nth_row,
    leave_to_all,
    leave_to_ci,
    row_runs,
)
from op_table import BACKENDS, all_cases

ROOT = Path(__file__).resolve().parent.parent
NAMES = [case.id for case in all_cases()]


@pytest.mark.parametrize("n", [1, 8, 64])
def test_about_one_row_in_so_many_runs(n: int) -> None:
    taken = [name for name in NAMES if every_nth_row(name, n)]
    assert 0.6 * len(NAMES) / n < len(taken) < 1.6 * len(NAMES) / n


def test_a_row_is_chosen_by_its_name_alone() -> None:
    """The choice is equal in every process and on every machine."""
    assert [every_nth_row(name, 8) for name in ("abs", "neg", "row 7", "row 9")] == [False, False, False, True]


def test_a_new_backend_runs_every_eighth_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """One entry is enough; everything runs on it with `make test-all`."""
    changed: Mapping[effort.Effort, Mapping[str, int]] = {**ROWS_OF_BACKENDS, "ci": {"new": 8}}
    monkeypatch.setattr(effort, "ROWS_OF_BACKENDS", changed)
    assert [name for name in NAMES if row_runs(name, "new", "ci")] == [n for n in NAMES if every_nth_row(n, 8)]
    assert all(row_runs(name, "new", "all") for name in NAMES)
    assert all(row_runs(name, "evaluate", "ci") for name in NAMES)


@pytest.mark.parametrize("turn", [("webgpu", "webgl"), ("wasm", "native")])
def test_ci_runs_every_row_on_one_gpu_and_on_one_processor(turn: tuple[str, str]) -> None:
    names = [name for name in NAMES if not name.startswith(MANY_KERNELS)]
    first, second = ({name for name in names if row_runs(name, backend, "ci")} for backend in turn)
    assert first | second == {*names}
    assert first & second == set()
    assert 0.8 < len(first) / len(second) < 1.25
    assert all(row_runs(name, backend, "all") for backend in turn for name in NAMES)


def test_ci_runs_every_row_on_every_backend_that_there_is() -> None:
    """But for those that take turns, those whose driver compiles each kernel for half a second, and further variants of
    what runs on wasm."""
    fewer = {**ROWS_OF_BACKENDS["ci"], **ROWS_OF_BACKENDS["all"]}.keys() & BACKENDS.keys()
    assert fewer == {"opencl", "cuda", "c", "wasm-relaxed", "wasm-signed"}
    assert ROWS_OF_BACKENDS["check"].keys() == BACKENDS.keys()


def test_ci_runs_rows_of_each_operator_of_many_kernels_on_every_gpu() -> None:
    operators = {case.op for case in all_cases() if case.id.startswith(MANY_KERNELS)}
    assert sorted(op.lower() for op in operators) == sorted(MANY_KERNELS)
    for backend in ("webgpu", "webgl"):
        taken = [case for case in all_cases() if case.op in operators and row_runs(case.id, backend, "ci")]
        assert {case.op for case in taken} == operators
        assert len(taken) < 48
    assert all(row_runs(name, "webgpu", "all") for name in NAMES)


def test_what_is_left_out_exists() -> None:
    for prefix in (*LEFT_TO_CI, *SAMPLED, *IN_BOTH):
        file, _, function = prefix.partition("::")
        assert (ROOT / file).exists(), prefix
        assert f"def {function}(" in (ROOT / file).read_text() if function else True, prefix


class Item:
    """The attributes of a test that the choice reads."""

    def __init__(self, nodeid: str, mark: str = "", target: str | None = None) -> None:
        self.nodeid = nodeid
        self.get_closest_marker = {mark: mark}.get
        self.callspec = SimpleNamespace(params={} if target is None else {"target": target})


def test_ci_runs_a_test_of_browsers_that_take_turns_in_one() -> None:
    names = [f"test_{i}[{{}}-wasm]" for i in range(40)]
    tests = {name: [Item(f"e2e/test_new.py::{name.format(browser)}") for browser in BROWSERS] for name in names}
    both = [Item(f"{IN_BOTH[0]}::test_photo[{browser}]") for browser in BROWSERS]
    others = [Item("e2e/test_new.py::test_without_a_browser"), Item("e2e/test_new.py::test_alone[firefox]")]
    others += [Item("tests/test_any.py::test_firefox[firefox]")]
    chosen, left = leave_to_all([*both, *others, *(item for pair in tests.values() for item in pair)])  # type: ignore[list-item]
    assert {*both, *others} <= {*chosen}
    assert all(len({*pair} & {*chosen}) == 1 for pair in tests.values())
    assert 10 <= sum("firefox" in item.nodeid for item in left) <= 30


def test_ci_takes_one_in_so_many_tests_of_targets_with_slow_compilers() -> None:
    rows = [Item(f"tests/a.py::test_rows[{i}-cuda]", "every_row", "cuda") for i in range(80)]
    natives = [Item(f"tests/a.py::test_many[{i}-native]", target="native") for i in range(80)]
    slow = {t: [Item(f"tests/a.py::test_many[{i}-{t}]", target=t) for i in range(80)] for t in TARGETS["ci"]}
    chosen, _ = leave_to_all([*rows, *natives, *(item for items in slow.values() for item in items)])  # type: ignore[list-item]
    assert {*rows, *natives} <= {*chosen}
    for name, items in slow.items():
        assert 0.5 < len({*chosen} & {*items}) / (80 / TARGETS["ci"][name]) < 1.6, name


def test_check_takes_one_in_eight_of_many_parameter_sets() -> None:
    few = [Item(f"tests/a.py::test_few[{i}]") for i in range(8)]
    many = [Item(f"tests/a.py::test_many[{i}]") for i in range(80)]
    chosen_before = [Item(f"tests/a.py::test_rows[{i}]", "every_row") for i in range(80)]
    browsers = [Item("e2e/b.py::test_page")]
    chosen, left = leave_to_ci([*few, *many, *chosen_before, *browsers])  # type: ignore[list-item]
    assert {*few, *chosen_before} <= {*chosen}
    assert {*browsers} <= {*left}
    assert 4 <= len({*chosen} & {*many}) <= 16
    assert {*chosen} & {*left} == set()
    assert len(chosen) + len(left) == 169
