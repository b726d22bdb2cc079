"""Builds the folder with which a page compiles models: Pyodide, the compiler's modules, and the page's own files."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from ..bundle import BundleFile, FolderKind, WrittenFile, check_free, write_folder
from ..bundle.files import hashed_file
from ..errors import InputError, InternalError
from .components import render_notice
from .downloads import PYODIDE, Downloads, packages, read_lock, unpack

PYODIDE_FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")

FOLDER = f"pyodide-{PYODIDE}"
"""Its files are kept by browsers as long as the name stays."""
ABSENT = (
    "canaries",
    "native",
    "opencl",
    "cuda",
    "cli",
    "serve",
    "report",
    "compile_page/licences",
    "driver/build_functions.py",
    "driver/divide_options.py",
    "driver/owners.py",
    "tokenizers_js",
    "jinja_js",
)
"""Folders and modules of the compiler that no page can use."""
LATER: Mapping[str, tuple[str, ...]] = {
    "tuner": ("webnn_compile/tune/", "numpy/random/"),
    "tflite": ("webnn_compile/frontends/tflite/", "flatbuffers/", "tflite/"),
    "formats": tuple(
        f"webnn_compile/frontends/{folder}/"
        for folder in ("caffe", "coreml", "hdf5", "keras", "mxnet", "tensorflow", "tfjs")
    ),
    "quantizer": ("webnn_compile/quantization/", "webnn_compile/frontends/onnx/export_model.py"),
}
"""Modules that only a search needs, those of TFLite, of further formats, and of weights in fewer bits."""
EARLY = ("webnn_compile/quantization/__init__.py", "webnn_compile/quantization/settings.py")
"""Modules below those folders that every build imports."""
STAND_INS = {"ml_dtypes_stand_in.py": "ml_dtypes.py", "numpy_ma_stand_in.py": "numpy/ma/__init__.py"}
"""Modules in place of large ones of which little is used."""
OF_DEVICES = ("connect.js", "device.js", "follow_model.js", "frames.js", "show_search.js", "socket.js")
"""Scripts of rpc/device_page that a page without a broker has no use for."""
SHARED = ("compare_results.js", "show_answers.js")
"""Scripts of a bundle's own page that this one uses. The others are in the modules: here they would be at the wrong
place."""
MADE = "files.json"
"""The list of the folder's files, which also marks it."""

_SUFFIXES = (".js", ".ts", ".css", ".html", ".svg")
_REFERENCE = re.compile(r"""(?<=['"])\.\./\.\./\.\./(?=(?:runtime-js|rpc)/)""")


def is_page(folder: Path) -> bool:
    return (folder / "compiler.js").is_file() and bool(_listed(folder))


def _listed(folder: Path) -> set[str]:
    """The names in its list; none where another program's file has that name."""
    try:
        listed = json.loads((folder / MADE).read_text(encoding="utf-8"))
        return {entry["name"] for entry in listed["files"]}
    except (OSError, LookupError, TypeError, ValueError):
        return set()


def foreign_files(folder: Path) -> list[str]:
    """Files that this did not write."""
    own = _listed(folder)
    below = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in below if name not in own and name != MADE)


PAGE = FolderKind("compile page", is_page, foreign_files)


def build_page(
    out: Path, downloads: Downloads, phase: Callable[[str], None], *, force: bool = False
) -> list[WrittenFile]:
    """Writes the folder `out`, all or nothing. Raises InputError for the user's mistakes and where a download fails."""
    check_free(out, PAGE, force=force)
    phase("download")
    pyodide = downloads.pyodide()
    wheels = [downloads.wheel(package) for package in packages(read_lock())]
    if shutil.which("node") is None:
        raise InputError("node is not installed, which runs Pyodide to make bytecode: install Node 20 or newer")
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        runtime = work / "pyodide"
        runtime.mkdir()
        unpack(pyodide, (*PYODIDE_FILES, "pyodide-lock.json"), runtime)
        (work / "wheels").mkdir()
        for wheel in wheels:
            shutil.copy(wheel, work / "wheels" / wheel.name)
        _copy_modules(work / "site")
        (work / "later.json").write_text(json.dumps({"archives": LATER, "early": EARLY}))
        phase("bytecode")
        _pack(runtime, work)
        page = list(_page_files(work, runtime))
    phase("write")
    listed = json.dumps({"files": [_entry(f) for f in page]}, indent=1) + "\n"
    return write_folder([*page, BundleFile(MADE, listed.encode(), "page")], out, PAGE, force=force)


def _entry(file: BundleFile) -> dict[str, object]:
    return {"name": file.name, "bytes": len(file.data), "sha256": file.sha256}


def _copy_modules(site: Path) -> None:
    """This project's modules and their data, without what a page cannot use."""
    package = site / "webnn_compile"
    absent = tuple(n if n.endswith(".py") else f"{n}/" for n in (*ABSENT, "rpc", "compile_page", "runtime_js"))
    for path, name in _walk(files("webnn_compile")):
        if name.endswith((".py", ".json")) and not name.startswith(absent):
            _copy(path, package / name)
    for name in ("__init__.py", "answer.py", "page_device.py", "tune_here.py"):
        _copy(files("webnn_compile.compile_page") / name, package / "compile_page" / name)
    for path, name in _walk(files("webnn_compile.runtime_js")):
        if not name.endswith(".md"):
            _copy(path, package / "runtime_js" / name)
    for name, module in STAND_INS.items():
        _copy(files("webnn_compile.compile_page") / name, site / module)


def _walk(folder: Traversable, below: str = "") -> Iterator[tuple[Traversable, str]]:
    for path in folder.iterdir():
        if path.name == "__pycache__":
            continue
        if path.is_dir():
            yield from _walk(path, f"{below}{path.name}/")
        else:
            yield path, below + path.name


def _copy(path: Traversable, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_bytes(path.read_bytes())


def _pack(runtime: Path, work: Path) -> None:
    for name in ("pack.mjs", "pack.py"):
        _copy(files("webnn_compile.compile_page") / name, work / name)
    ended = subprocess.run(["node", "pack.mjs", runtime, work], cwd=work, capture_output=True, text=True)
    if ended.returncode:
        raise InternalError(f"packing the page's modules failed: {ended.stderr.strip() or ended.stdout.strip()}")


def _page_files(work: Path, runtime: Path) -> Iterator[BundleFile]:
    for stem in ("compiler", *LATER):
        yield hashed_file(stem, "zip", (work / f"{stem}.zip").read_bytes(), "program")
    for name in PYODIDE_FILES:
        # Some servers have no MIME type for .mjs, and browsers then refuse the script.
        data = (runtime / name).read_bytes().replace(b"pyodide.asm.mjs", b"pyodide.asm.js")
        yield BundleFile(f"{FOLDER}/{name.replace('.mjs', '.js')}", data, "program")
    lock = json.dumps(read_lock(), separators=(",", ":")) + "\n"
    yield BundleFile(f"{FOLDER}/pyodide-lock.json", lock.encode(), "program")
    for path, name in _walk(files("webnn_compile.compile_page.web")):
        if name.endswith(_SUFFIXES):
            text = _REFERENCE.sub("./", path.read_text(encoding="utf-8"))
            # TypeScript checks a script beside types of the same name by these alone.
            yield BundleFile(name.replace("types.d.ts", "compiler.d.ts"), text.encode(), "page")
    scripts = {
        "runtime-js": files("webnn_compile.runtime_js"),
        "rpc/device_page": files("webnn_compile.rpc") / "device_page",
    }
    for folder, source in scripts.items():
        for path, name in _walk(source):
            below, _, script = name.rpartition("/")
            if (
                name.endswith((".js", ".ts"))
                and name not in OF_DEVICES
                and (below != "bundle_page" or script in SHARED)
            ):
                yield BundleFile(f"{folder}/{name}", path.read_bytes(), "runtime")
    for path in sorted((work / "licences").rglob("*")):
        if path.is_file():
            yield BundleFile(path.relative_to(work).as_posix(), path.read_bytes(), "page")
    for path, name in _walk(files("webnn_compile.compile_page") / "licences"):
        yield BundleFile(f"licences/{name}", path.read_bytes(), "page")
    yield BundleFile("licences/NOTICE.txt", render_notice().encode(), "page")
