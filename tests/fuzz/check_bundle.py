"""The oracle for the command line: exit code 0 and a whole bundle, or exit code 2 and nothing."""

from __future__ import annotations

import contextlib
import io
import traceback
from pathlib import Path

from fuzz.prepare_folder import SECRET
from webnn_compile.cli.command import main


def check_bundle(path: Path) -> tuple[str, str] | None:
    """Builds a bundle of the model at `path`, beside its folder; what is wrong, None where nothing is."""
    out = path.parent.parent / "out" / "bundle"
    out.parent.mkdir()
    printed = io.StringIO()
    code: object = 0
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            main([str(path), "--out", str(out), "--no-cache"], standalone_mode=False)
        except SystemExit as error:
            code = error.code
        except Exception as error:
            return f"command line: {type(error).__name__}", "".join(traceback.format_exception(error))
    said = printed.getvalue()
    left = sorted(p.name for p in out.parent.iterdir())
    if code not in (0, 2):
        reason = next((line for line in said.splitlines() if line.startswith("error:")), "")
        return f"command line: exit code {code} {reason.rpartition('(')[2]}", said[-6000:]
    if code == 2:
        if "error: " not in said and "Error: " not in said:
            return "command line: exit code 2 without a message", said
        return ("command line: something is written in spite of an error", str(left)) if left else None
    if left != ["bundle"] or not (out / "model.js").is_file():
        return "command line: no bundle in spite of success", str(left)
    if any(SECRET[:64] in file.read_bytes() for file in out.iterdir()):
        return "a file outside of the model's folder is published", str(path)
    return None
