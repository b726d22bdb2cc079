"""Output to a terminal: text of models, records and devices is escaped, and is no markup."""

from __future__ import annotations

import ast
import contextlib
import logging
import re
from dataclasses import dataclass, replace
from pathlib import Path

import onnx
import pytest
from cli.command import run
from click.testing import CliRunner
from onnx_models import model, node
from webnn_compile.cli import rpc_command, tune_command
from webnn_compile.cli.terminal import TerminalLog
from webnn_compile.records.record_file import RecordWriter
from webnn_compile.records.tuning_record import TuningRecord
from webnn_compile.rpc.client import DeviceInfo

CLI = Path(__file__).resolve().parents[2] / "compiler" / "cli"
EVIL = "\x1b]0;owned\x07\x9b2J[bold]b[/bold] :boom: \u202e$x^_{y\n"
SHOWN = "\\x1b]0;owned\\x07\\x9b2J[bold]b[/bold] :boom: \\u202e$x^_{y\\x0a"

FILE = EVIL.replace("/", "").strip()


def no_commands(printed: str) -> str:
    """The text, without the line ends that are ours."""
    assert all(c.isprintable() for c in printed.replace("\n", "")), printed
    return printed


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    nodes = [node("NonZero", [f"x{EVIL}"], [f"y{EVIL}"], f"n{EVIL}"), node("Mul", [f"x{EVIL}"] * 2, ["z"], EVIL)]
    made = model(nodes, {f"x{EVIL}": [f"d{EVIL}", 8]}, [f"y{EVIL}", "z"])
    path = tmp_path / f"m{FILE}.onnx"
    onnx.save(made, path)
    return path


def test_a_build(evil: Path, tmp_path: Path) -> None:
    done = run(evil, "--out", tmp_path / f"out{FILE}", "--dim", f"d{EVIL}=1..4", "--targets", "wasm", "--no-cache")
    assert done.exit_code == 0, done.output
    printed = " ".join(no_commands(done.output).split())
    assert f"x{SHOWN}: float32" in printed
    assert f"d{SHOWN}: 1..4" in printed.replace(" to ", "..")


def test_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    """The broker's: an exception may have the text of a message from the network."""
    log = logging.Logger("log")
    log.addHandler(TerminalLog())
    try:
        raise ValueError(EVIL)
    except ValueError:
        log.exception("a request failed%s", EVIL)
    printed = no_commands(capsys.readouterr().err)
    assert "owned" in printed
    assert "Traceback" in printed


def test_a_dump(evil: Path, tmp_path: Path) -> None:
    done = run(evil, "--out", tmp_path / "out", "--dim", f"d{EVIL}=1..4", "--targets", "wasm", "--dump", "after:import")
    assert done.exit_code == 0, done.output
    assert "owned" in no_commands(done.output)


def test_an_error(evil: Path, tmp_path: Path) -> None:
    done = run(evil, "--out", tmp_path / "out", "--debug")
    assert done.exit_code == 2
    assert "Traceback" in done.output
    assert "owned" in no_commands(done.output)


def test_records(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    write_records(file)
    done = CliRunner().invoke(tune_command.main, ["show", str(file)])
    assert done.exit_code == 0, done.output
    assert "[bold]" in no_commands(done.output)


def test_a_chart_of_records(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "records.jsonl"
    write_records(file)
    done = CliRunner().invoke(tune_command.main, ["show", str(file), "--chart", str(tmp_path / "a.svg")])
    assert done.exit_code == 0, done.output


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = {"browser": EVIL, "webgpu": {"adapter": EVIL}}
    broker = _Session(DeviceInfo(EVIL, ("wasm",), facts, False, 0))
    monkeypatch.setattr(rpc_command, "_connect", lambda _: broker)
    done = CliRunner().invoke(rpc_command.main, ["devices"], env={"COLUMNS": "400"})
    assert done.exit_code == 0, done.output
    assert f"│ {SHOWN} │" in no_commands(done.output)


def write_records(file: Path) -> None:
    trial = TuningRecord("trial", "kernel-0", EVIL, EVIL, {}, EVIL, EVIL, ms=1.0, base=2.0)
    with contextlib.closing(RecordWriter(file)) as writer:
        for record in (trial, replace(trial, device="_$a^", ms=3.0)):
            writer.append(record)


@dataclass
class _Session:
    """With a broker that has one device."""

    device: DeviceInfo

    def __enter__(self) -> _Session:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def devices(self) -> list[DeviceInfo]:
        return [self.device]


def test_all_text_goes_through_one_module() -> None:
    for file in CLI.glob("*.py"):
        calls = [ast.unparse(n.func) for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.Call)]
        past = [c for c in calls if re.search(r"^(print|Console|Text)$|\b(s?echo|print|print_exc|write)$", c)]
        assert file.name == "terminal.py" or not past, f"{file.name}: {past}"
