"""Every block of code in the documentation runs in a test: sh, Python and JSON here, others where a mark says."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from documentation import ROOT, Block, blocks, unmarked
from documented_models import write_models
from made_tokenizers import need_package
from PIL import Image
from webnn_compile.cli import command, page_command, rpc_command, serve_command, tune_command

PARSED: dict[str, click.Command] = {
    "webnn-tune": tune_command.main,
    "webnn-rpc": rpc_command.main,
    "webnn-serve": serve_command.main,
    "webnn-compile-page": page_command.main,
}
"""Commands that start a server, a browser or a download: their options are read, and nothing more."""
FORMATS = {"pictures": "--picture", "sounds": "--sound"}
"""By page the option that takes its JSON."""
EXTRAS = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])


def test_each_block_has_its_test() -> None:
    for block in blocks():
        where = f"{block.id}: {block.mark or block.language}"
        if not block.mark:
            assert block.language in ("sh", "python", "json", "js"), where
        elif block.mark.startswith("run by "):
            test = ROOT / block.mark.removeprefix("run by ")
            assert block.page.name in test.read_text(), where
        else:
            assert block.mark.startswith("not run: "), where


@pytest.mark.parametrize("block", unmarked("sh"), ids=lambda block: block.id)
def test_commands(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for main in PARSED.values():
        for parsed in (main, *(main.commands.values() if isinstance(main, click.Group) else ())):
            if not isinstance(parsed, click.Group):
                monkeypatch.setattr(parsed, "callback", lambda **_: None)
    write_models(tmp_path, re.findall(r"--dim (\w+)=", block.text)[:2] or ("batch", "length"))
    (tmp_path / "site").mkdir()
    if "tokenizer" in block.text or "vocab.json" in block.text:
        need_package()
        (tmp_path / "node_modules").symlink_to(ROOT / "node_modules")
    (tmp_path / "records.jsonl").write_text((ROOT / "examples" / "digits" / "records.jsonl").read_text())
    (tmp_path / "photographs").mkdir()
    for i in range(2):
        Image.new("RGB", (300, 240), (90 * i, 40, 200)).save(tmp_path / "photographs" / f"{i}.png")
    for line in block.text.splitlines():
        run(shlex.split(line, comments=True))


def run(words: list[str]) -> None:
    """A line of a block. AssertionError where it fails, or is no command that is known here."""
    program, *arguments = words
    if program == "pip":
        assert arguments[0] == "install"
        assert set(re.findall(r"\[(.*?)\]", arguments[1])) - {""} <= EXTRAS, arguments
        return
    if program == "npm":
        if shutil.which("npm") is not None:
            subprocess.run([*words, "--offline", "--no-audit", "--no-fund", "--silent"], check=True)
        return
    main = {"webnn-compile": command.main, **PARSED}[program]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("block", unmarked("python"), ids=lambda block: block.id)
def test_python(block: Block, tmp_path: Path) -> None:
    write_models(tmp_path)
    subprocess.run([sys.executable, "-c", block.text], cwd=tmp_path, check=True)


@pytest.mark.parametrize("block", unmarked("json"), ids=lambda block: block.id)
def test_formats(block: Block, tmp_path: Path) -> None:
    """Before the model is looked for, the format is read."""
    (tmp_path / "format.json").write_text(block.text)
    file = tmp_path / "format.json"
    detector = "scores_output" in block.text
    option = ("--answer", f"detect={file}") if detector else (FORMATS[block.page.stem], f"image={file}")
    done = CliRunner().invoke(command.main, ["no.onnx", "--out", str(tmp_path / "out"), *option])
    assert "no.onnx" in done.output, done.output
