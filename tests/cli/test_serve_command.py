"""`webnn-serve` on the command line: what it prints, what it refuses, and that Ctrl-C ends it."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cli.command import heed_interrupts, printed_until
from click.testing import CliRunner
from webnn_compile.cli import serve_command
from webnn_compile.cli.serve_command import main
from webnn_compile.serve.serve_folder import Folder

PROGRAM = Path(sys.executable).with_name("webnn-serve")


def refusal(*arguments: str) -> str:
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 2, result.output
    return result.output


def test_serves_until_interrupted(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<title>mine</title>")
    process = subprocess.Popen(
        [PROGRAM, tmp_path, "--port", "0", "--isolated"], stdout=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
    )
    with process:
        (address,) = re.findall(r"http://127\.0\.0\.1:\d+/", printed_until(process, "Ctrl-C"))
        with urllib.request.urlopen(address) as response:
            assert b"<title>mine</title>" in response.read()
            assert response.headers["Cross-Origin-Embedder-Policy"] == "require-corp"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


def test_ports_that_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was asked for is refused; by default the next one is tried."""
    with socket.socket() as taken, contextlib.ExitStack() as opened:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"cannot listen on 127.0.0.1, port {port}: " in refusal(str(tmp_path), "--port", str(port))
        monkeypatch.setattr(serve_command, "PORT", port)
        address = serve_command._listen(opened, Folder(tmp_path), "127.0.0.1", None)
        assert port < (urlsplit(address).port or 0) < port + serve_command.PORTS
        monkeypatch.setattr(serve_command, "PORTS", 1)
        assert f"port {port}" in refusal(str(tmp_path))


def test_mistakes(tmp_path: Path) -> None:
    assert "does not exist; give the folder of a bundle" in refusal(str(tmp_path / "none"))
    (tmp_path / "model.onnx").touch()
    assert "is no folder; give the folder of a bundle" in refusal(str(tmp_path / "model.onnx"))
    assert "cannot listen on nowhere.invalid" in refusal(str(tmp_path), "--host", "nowhere.invalid", "--port", "0")
