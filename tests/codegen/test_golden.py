"""Rendered text of each construct, exactly. After a change that is meant: pytest --update-golden, then read the
difference like code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from constructs import CONSTRUCTS, render
from webnn_compile.ir.printer import print_kernel

TESTS = Path(__file__).resolve().parent.parent
GOLDEN = TESTS / "golden"


def compare(file: Path, text: str, update: bool) -> None:
    if update:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert file.exists(), f"{file.relative_to(TESTS)} is missing; pytest --update-golden writes it"
    assert text == file.read_text()


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_scheduled_kernel(construct: str, request: pytest.FixtureRequest) -> None:
    text = print_kernel(CONSTRUCTS[construct]())
    compare(GOLDEN / "ir" / f"{construct}.txt", text, request.config.getoption("update_golden"))


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_llvm(construct: str, request: pytest.FixtureRequest) -> None:
    text = render(CONSTRUCTS[construct]())
    compare(GOLDEN / "llvm" / f"{construct}.ll", text, request.config.getoption("update_golden"))


def test_no_golden_file_is_left_over() -> None:
    assert sorted(p.stem for p in (GOLDEN / "ir").iterdir()) == sorted(CONSTRUCTS)
    assert sorted(p.stem for p in (GOLDEN / "llvm").iterdir()) == sorted(CONSTRUCTS)


def test_a_missing_golden_file_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "TESTS", tmp_path)
    with pytest.raises(AssertionError, match="is missing; pytest --update-golden writes it"):
        compare(tmp_path / "new.ll", "text", update=False)


def test_every_process_renders_the_same_text() -> None:
    """Sets of variables and buffers are ordered by hash, and hashes differ from process to process."""
    outputs = []
    for seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(TESTS)}
        command = [sys.executable, str(TESTS / "constructs.py")]
        outputs.append(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
    assert outputs[0] == outputs[1] == "".join(f"{render(make())}\n" for make in CONSTRUCTS.values())
