"""Packs Python's modules for the page, as bytecode: run by the very Python that will read it, Pyodide's (pack.mjs).

It is run as a script, in a folder with `wheels/`, packages; `site/`, modules of this project; `later.json`,
folders of modules that few calls need, by the archives where they go, and which of the modules below are for none. It
writes these, `compiler.zip` with all others, and the folder `licences/`.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import marshal
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

UNUSED = re.compile(
    r"(^|/)(tests?|testing|f2py|_pyinstaller|include|distutils|polynomial|random|fft)/"
    r"|^numpy/(conftest|core/|ctypeslib/|ma/|lib/recfunctions|linalg/lapack_lite)"
    r"|^onnx/(backend|reference|examples|fuzz|tools|bin|common|frontend|test)/|^google/_upb"
)
"""Modules that neither the compiler nor what it imports ever imports."""
DOCUMENTATION = ("numpy/_core/_add_newdocs.py", "numpy/_core/_add_newdocs_scalars.py")
"""Modules that only give others their docstrings: they are imported, and stay as empty ones."""
KEPT = (".py", ".so")
LICENCE = re.compile(r"(licen[cs]e|copying|notice|authors)", re.IGNORECASE)
WITHOUT_ASSERTIONS = ("numpy/", "google/")
OURS = "webnn_compile/"
"""Nothing reads the annotations of functions of this project's modules."""

Entry = tuple[str, bytes]


def main(folder: Path) -> None:
    modules: list[Entry] = []
    listed = json.loads((folder / "later.json").read_text())
    archives = {stem: tuple(folders) for stem, folders in listed["archives"].items()}
    later = tuple(f for folders in archives.values() for f in folders)
    for wheel in sorted((folder / "wheels").glob("*.whl")):
        with zipfile.ZipFile(wheel) as opened:
            for name in sorted(opened.namelist()):
                if name.endswith("/"):
                    continue
                if ".dist-info/" in name:
                    keep_licence(folder / "licences", name, opened.read(name))
                elif name.endswith(KEPT) and (name.startswith(later) or not UNUSED.search(name)):
                    modules.append((name, opened.read(name)))
    modules += own_modules(folder / "site")
    apart = [e for e in modules if e[0].startswith(later) and e[0] not in listed["early"]]
    write(folder / "compiler.zip", [e for e in modules if e not in apart])
    for stem, folders in archives.items():
        write(folder / f"{stem}.zip", [e for e in apart if e[0].startswith(folders)])


def own_modules(site: Path) -> Iterator[Entry]:
    for path in sorted(site.rglob("*")):
        if path.is_file():
            yield path.relative_to(site).as_posix(), path.read_bytes()


def keep_licence(folder: Path, name: str, text: bytes) -> None:
    """Writes the licence NAME-VERSION.dist-info/licenses/PATH below NAME-VERSION."""
    package, _, rest = name.partition(".dist-info/")
    if LICENCE.search(Path(rest).name):
        path = folder / package / rest.removeprefix("licenses/").replace("/", "-")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)


def write(path: Path, entries: list[Entry]) -> None:
    """Without times, so that equal modules are an equal file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for name, data in entries:
            if name.endswith(".py"):
                name, data = f"{name}c", bytecode(name, b"" if name in DOCUMENTATION else data)
            packed.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED, 9)


def without_documentation(module: ast.Module, *, annotations: bool) -> ast.Module:
    """Without docstrings, and without `annotations` of functions unless these are wanted; those of fields stay, as
    they make dataclasses."""
    for node in ast.walk(module):
        match node:
            case ast.arg() if not annotations:
                node.annotation = None
            case ast.FunctionDef() | ast.AsyncFunctionDef() if not annotations:
                node.returns = None
        match node:
            case ast.Module(body=body) | ast.ClassDef(body=body) | ast.FunctionDef(body=body) if ast.get_docstring(
                node
            ):
                body[:1] = [] if len(body) > 1 else [ast.copy_location(ast.Pass(), body[0])]
    return module


def bytecode(name: str, source: bytes) -> bytes:
    """A module without its source and documentation, as it is imported: the number of the format, four bytes of flags
    and eight of the source's hash, which nothing checks, then the code."""
    optimize = 2 if name.startswith(WITHOUT_ASSERTIONS) else 0
    tree = without_documentation(ast.parse(source), annotations=not name.startswith(OURS))
    code = compile(tree, name, "exec", dont_inherit=True, optimize=optimize)
    return importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8) + marshal.dumps(code)


if __name__ == "__main__":
    main(Path.cwd())
