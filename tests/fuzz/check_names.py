"""The oracle for names: whatever the names of a model are, they stay names in all that is written and printed."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
import tempfile
import traceback
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import onnx
from fuzz.case import Case, Outcome
from fuzz.draw_names import NamedModel, draw_names
from hostile_names import RUNS
from webnn_compile.c.render import identifier
from webnn_compile.cli.report import print_report
from webnn_compile.cli.terminal import say
from webnn_compile.driver.build import build
from webnn_compile.driver.options import Options
from webnn_compile.errors import WebnnCompileError
from webnn_compile.text.escape import html_text
from webnn_compile.text.printable import printable

ROOT = Path(__file__).resolve().parents[2]
TSC = ROOT / "node_modules" / ".bin" / "tsc"
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic")
MAIN = """#include "{name}.h"
#include "{name}_library.h"
#include <stdio.h>
int main(void) {{
  for (int i = 0; i < {name}_input_count(); i++) puts({name}_input(i)->name);
  for (int i = 0; i < {name}_output_count(); i++) puts({name}_output(i)->name);
  return 0;
}}
"""


CARD = ("<tr >", "<th scope>", "<td >", "<h3 >", "<pre >", "<code >")
"""Tags of the facts and the code on a bundle's page."""


class NotText(Exception):
    """A name became something else."""


def check_names(case: Case, phase: Callable[[str], None]) -> Outcome:
    """Builds the model for all targets, and reads what was written as its readers do."""
    drawn = draw_names(case)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / drawn.file
        onnx.save(drawn.model, path)
        try:
            for targets, check in ((("webgpu", "webgl", "wasm"), _bundle), (("c",), _c), (("native",), _library)):
                phase(f"names for {targets[0]}")
                out = Path(folder) / targets[0]
                _build(path, out, targets, drawn)
                check(out, path.stem, drawn)
        except NotText as error:
            return Outcome("fault", "a name is more than a name", f"{error}\n{drawn}")
        except WebnnCompileError as error:
            if error.exit_code == 2:
                return Outcome("fault", "a valid model is refused", str(error))
            return Outcome("fault", f"names: {type(error).__name__}", traceback.format_exc()[-6000:])
        except Exception as error:
            return Outcome("fault", f"names: {type(error).__name__}", traceback.format_exc()[-6000:])
    return Outcome("names")


def _build(path: Path, out: Path, targets: tuple[str, ...], drawn: NamedModel) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        dump = "import" if "wasm" in targets else None
        options = Options(drawn.given, targets=targets, cache=False, processes=1, dump=dump)
        print_report(build(path, out, options, say, say), out)
    _claim(all(c.isprintable() for c in printed.getvalue().replace("\n", "")), printed.getvalue())


def _bundle(out: Path, stem: str, drawn: NamedModel) -> None:
    page = _Page()
    page.feed((out / "index.html").read_text())
    plain = _Page()
    plain.feed(
        (ROOT / "runtime-js" / "bundle_page" / "index.html").read_text().replace("{{name}}", html_text(printable(stem)))
    )
    _claim(page.frame == plain.frame, f"index.html: {page.frame}")
    if not shutil.which("node"):
        return
    script = Path(__file__).with_name("read_bundle.mjs")
    read = json.loads(_run("node", script, out, RUNS))
    _claim(not read["faults"], str(read["faults"]))
    _claim(read["name"] == printable(stem), read["name"])
    for kind, names in (("inputs", drawn.inputs), ("outputs", drawn.outputs)):
        _claim(read[kind] == list(names), f"{kind}: {read[kind]}")
    _claim(read["dimensions"] == list(drawn.given.dims), f"dimensions: {read['dimensions']}")
    if TSC.exists():
        lists = {"Inputs": drawn.inputs, "Outputs": drawn.outputs}
        lines = [f"export const {of.lower()}: (keyof {of})[] = {json.dumps(names)};" for of, names in lists.items()]
        (out / "use.ts").write_text("\n".join(["import type { Inputs, Outputs } from './model.js';", *lines]))
        _run(TSC, "--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "use.ts", folder=out)


def _c(out: Path, stem: str, drawn: NamedModel) -> None:
    name = identifier(printable(stem))
    _library(out, stem, drawn)
    if not shutil.which("gcc"):
        return
    (out / "main.c").write_text(MAIN.format(name=name))
    sources = (f"{name}.c", f"{name}_library.c", "main.c")
    _run("gcc", "-std=c99", *WARNINGS, *sources, "-o", "main", "-lm", folder=out)
    said = _run(out / "main")
    want = b"".join(n.encode().partition(b"\0")[0] + b"\n" for n in (*drawn.inputs, *drawn.outputs))
    _claim(said == want, f"a program prints {said!r}, not {want!r}")


def _library(out: Path, stem: str, _: NamedModel) -> None:
    name = identifier(printable(stem))
    if shutil.which("g++"):
        (out / "use.cc").write_text(f'#include "{name}.hpp"\nint main() {{ return 0; }}\n')
        tree = _run(
            "g++", "-std=c++11", *WARNINGS, "-fsyntax-only", "-fdump-tree-original=/dev/stdout", "use.cc", folder=out
        )
        _claim(RUNS.encode() not in tree, "a header has a name as code")


class _Page(HTMLParser):
    """A page: its tags, and its texts without line ends."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []

    @property
    def frame(self) -> list[str]:
        """The title, the heading, and the tags that a model has no part in."""
        return [*self.texts[:2], *(tag for tag in self.tags if tag not in CARD)]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(f"<{tag} {' '.join(name for name, _ in attrs)}>")

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data.strip())


def _run(*command: str | Path, folder: Path | None = None) -> bytes:
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=120)
    _claim(done.returncode == 0, f"{command}: {done.stderr[:3000].decode(errors='replace')}")
    return done.stdout


def _claim(holds: bool, details: str) -> None:
    if not holds:
        raise NotText(details)
