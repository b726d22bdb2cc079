"""Targets of this process beside each other."""

from __future__ import annotations

from pathlib import Path

import pytest
from drivers import need_driver

from benchmarks import cases
from benchmarks.targets import measure_targets, target_grid

DIGITS = Path(__file__).resolve().parent.parent.parent / "examples" / "digits" / "resnet18_digits.onnx"


def test_targets_are_measured_or_say_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_driver("opencl")
    monkeypatch.setattr(cases, "WORK", tmp_path)
    case = cases.find_case(str(DIGITS), {})
    cases.write_case(case)
    names = ("native", "opencl", "c:no-such-compiler", "library", "netscape:webgl", "opencl:f16")
    found = measure_targets(case, names, 1, 2)
    assert [len(t.times) for t in found] == [2, 2, 0, 2, 0, 2]
    assert all(0 < t.error < 1e-4 for t in found[:-1] if t.times)
    assert 1e-5 < found[-1].error < 1e-2
    assert found[2].missing == "CC=no-such-compiler: there is no program no-such-compiler"
    grid = target_grid("digits", 1, found)
    assert grid.title == "digits, 1 thread, 2 rounds"
    assert grid.rows[0][3] == "1.00"
    assert grid.rows[2] == ("c:no-such-compiler", "", "", "", found[2].missing)
    assert found[4].missing.startswith("target 'netscape' is not known")


def test_a_browser_is_one_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("playwright")
    monkeypatch.setattr(cases, "WORK", tmp_path)
    case = cases.find_case(str(DIGITS), {})
    cases.write_case(case)
    (found,) = measure_targets(case, ("chromium:wasm",), 1, 2)
    assert found.missing == ""
    assert len(found.times) == 2
    assert 0 < found.error < 1e-4
