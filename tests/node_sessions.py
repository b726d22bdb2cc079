"""Bundles of models with states, and scripts that play them in Node.js."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import onnx
from cli.command import run
from node_programs import need


def play(bundle: Path, script: str, argument: object) -> Any:
    """The result of a script in Node.js."""
    given = json.dumps([(bundle / "model.js").as_uri(), argument])
    read = "await new Response(process.stdin).text()"  # an argument of the command would have a limit
    lines = [f"const [url, argument] = JSON.parse({read});", "const bundle = await import(url);"]
    lines.append(f"const found = await (async () => {{{script}}})();")
    lines.append("process.stdout.write(JSON.stringify(found));")
    command = [need("node"), "--input-type=module", "--expose-gc", "-e", "\n".join(lines)]
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def written(model: onnx.ModelProto, folder: Path, *options: str) -> Path:
    """The bundle of a model."""
    onnx.save(model, folder / "model.onnx")
    done = run(folder / "model.onnx", "--out", folder / "bundle", "--targets", "wasm", *options)
    assert done.exit_code == 0, done.output
    return folder / "bundle"
