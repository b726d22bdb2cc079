"""Our own faults, and interruptions."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from cli.command import EXAMPLE, PROGRAM, SHAPE, contents, heed_interrupts, refused, run
from webnn_compile.cli.explained import INTERRUPTED, OUR_FAULT, explained
from webnn_compile.errors import InternalError
from webnn_compile.execution.wasm_model import WasmModel


def test_verify_finds_a_wrong_result(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = WasmModel.run

    def wrong(self: WasmModel, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: a + np.float32(0.01) for name, a in right(self, inputs).items()}

    monkeypatch.setattr(WasmModel, "run", wrong)
    result = run(path, "--out", tmp_path / "out", *SHAPE, "--verify")
    refused(result, r"results differ from onnxruntime's by more than 0\.0001 \(wasm-relaxed: .*errs by 0\.01", 70)
    assert OUR_FAULT in result.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (KeyError("lost"), r"error: KeyError in phase 'optimise': 'lost' \(test_faults\.py, line \d+\)"),
        (InternalError("simplify: kernel k: lost"), r"error: simplify: kernel k: lost"),
        (RecursionError("too deep"), r"error: RecursionError in phase 'optimise': too deep"),
    ],
)
def test_our_fault(error: Exception, message: str, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("webnn_compile.driver.cpu_target.lower_tensors", fail)
    result = run(path, "--out", tmp_path / "out", *SHAPE)
    refused(result, message, 70)
    assert OUR_FAULT in result.output
    debugged = run(path, "--out", tmp_path / "out", *SHAPE, "--debug")
    assert debugged.exit_code == 70
    assert "Traceback (most recent call last)" in debugged.output
    assert not (tmp_path / "out").exists()


def test_an_interruption_that_ends_other_programs_too(capsys: pytest.CaptureFixture[str]) -> None:
    """Closing a browser fails where Ctrl-C has ended its driver: no fault of ours."""

    def tune() -> None:
        with explained(interrupted="interrupted"), contextlib.ExitStack() as opened:
            opened.callback(int, "the driver has ended")
            raise KeyboardInterrupt

    with pytest.raises(SystemExit) as ended:
        tune()
    assert ended.value.code == INTERRUPTED
    assert capsys.readouterr().err == "interrupted\n"


SWALLOWED = """
import os, signal
from webnn_compile.cli.explained import explained

class Transport:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)

with explained(interrupted="interrupted"):
    Transport()
    raise RuntimeError("the driver has ended")
"""


def test_an_interruption_in_a_finalizer() -> None:
    """Python passes over what that raises: what fails next is no fault of ours."""
    done = subprocess.run(
        [sys.executable, "-c", SWALLOWED], capture_output=True, text=True, preexec_fn=heed_interrupts, check=False
    )
    assert done.returncode == INTERRUPTED, done.stderr
    assert done.stderr.splitlines()[-1] == "interrupted"


def test_too_little_memory(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("webnn_compile.driver.cpu_target.lower_tensors", fail)
    refused(run(path, "--out", tmp_path / "out", *SHAPE), r"this machine lacks the memory for this model")


def test_debug_shows_where_a_mistake_was_found(tmp_path: Path) -> None:
    result = run(tmp_path / "none.onnx", "--out", tmp_path / "out", "--debug")
    assert result.exit_code == 2
    assert "Traceback" in result.output
    assert "there is no such file" in result.output


def test_interrupted(path: Path, tmp_path: Path) -> None:
    """By a real Ctrl-C, in the middle of work."""
    out = tmp_path / "out"
    assert run(path, "--out", out, *SHAPE).exit_code == 0
    before = contents(out)
    process = subprocess.Popen(
        [PROGRAM, EXAMPLE, "--out", out, "--force"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("schedule"):
            process.send_signal(signal.SIGINT)
            break
    _, rest = process.communicate()
    assert process.returncode == INTERRUPTED
    assert rest.splitlines()[-1] == "interrupted; no bundle was written"
    assert "Traceback" not in rest
    assert contents(out) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net.onnx", "out"]


def test_errors_go_to_standard_error(tmp_path: Path) -> None:
    done = subprocess.run([PROGRAM, "none.onnx", "--out", "out"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "import ...\nerror: none.onnx: there is no such file; check the path\n"


def test_output_cut_short(path: Path, tmp_path: Path) -> None:
    """As by `| head`."""
    command = f"'{PROGRAM}' '{path}' --out '{tmp_path / 'out'}' --shape x=1x3x8x8 --dump after:llvm | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert done.stdout.startswith("target triple")
