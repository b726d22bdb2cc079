"""The software of others that the compile page's folder ships: versions, licences, where their texts lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from .downloads import PYODIDE, packages, read_lock

OTHERS = "OTHERS.txt"
"""Short licences, of what comes in the files of others and brings no text of its own."""


@dataclass(frozen=True, slots=True)
class Component:
    """`licence` is an expression of SPDX. `text` is a file, or a folder of files, below licences/; in OTHERS.txt it
    begins with the component's title. `files` are patterns of the page's folder. `package` is its address as a package
    (purl), where a registry has it."""

    title: str
    version: str
    licence: str
    text: str
    files: str
    package: str = ""


_WASM = "pyodide-*/pyodide.asm.wasm"
_APACHE = "onnx"
"""The folder of ONNX's licence, the text of Apache-2.0."""

_PYODIDE = (
    Component("Pyodide", PYODIDE, "MPL-2.0", "MPL-2.0.txt", "pyodide-*/pyodide.*", f"pkg:npm/pyodide@{PYODIDE}"),
    Component("CPython", "3.14.2", "PSF-2.0", "typing_extensions", f"{_WASM}, pyodide-*/python_stdlib.zip"),
    Component("Emscripten", "5.0.3", "MIT", OTHERS, f"{_WASM}, pyodide-*/pyodide.asm.js"),
    Component("musl", "", "MIT", OTHERS, _WASM),
    Component("LLVM's C++ library", "", "Apache-2.0 WITH LLVM-exception", _APACHE, f"{_WASM}, compiler-*.zip"),
    Component("libffi", "", "MIT", OTHERS, _WASM),
    Component("zlib", "1.3.1", "Zlib", OTHERS, _WASM),
    Component("bzip2", "1.0.6", "bzip2-1.0.6", OTHERS, _WASM),
    Component("XZ Utils", "5.2.2", "LicenseRef-Public-Domain", OTHERS, _WASM),
    Component("Zstandard", "1.5.7", "BSD-3-Clause", OTHERS, _WASM),
    Component("SQLite", "3.39.0", "blessing", OTHERS, _WASM),
    Component("Expat", "2.7.3", "MIT", OTHERS, _WASM),
    Component("libmpdec", "2.5.1", "BSD-2-Clause", OTHERS, _WASM),
    Component("HACL*", "", "MIT", OTHERS, _WASM),
    Component("error-stack-parser", "", "MIT", OTHERS, "pyodide-*/pyodide.js", "pkg:npm/error-stack-parser"),
)
_IN_ONNX = (
    Component("Abseil", "20250127.0", "Apache-2.0", "onnx", "compiler-*.zip"),
    Component("Protocol Buffers for C++", "25.1", "BSD-3-Clause", "protobuf", "compiler-*.zip"),
    Component("utf8_range", "", "MIT", OTHERS, "compiler-*.zip"),
    Component("nanobind", "2.14.0", "BSD-3-Clause", "onnx", "compiler-*.zip"),
    Component("robin-map", "", "MIT", OTHERS, "compiler-*.zip"),
)
_PACKAGES = {
    "numpy": ("NumPy", "BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0", "numpy", "compiler-*.zip, tuner-*.zip"),
    "onnx": ("ONNX", "Apache-2.0", "onnx", "compiler-*.zip"),
    "protobuf": ("Protocol Buffers", "BSD-3-Clause", "protobuf", "compiler-*.zip"),
    "flatbuffers": ("FlatBuffers", "Apache-2.0", _APACHE, "tflite-*.zip"),
    "tflite": ("tflite", "Apache-2.0", "tflite", "tflite-*.zip"),
    "typing-extensions": ("typing_extensions", "PSF-2.0", "typing_extensions", "compiler-*.zip"),
}
"""By package of the lock file: title, licence, the folder of its text without the version, files."""


def components() -> Iterator[Component]:
    """Each with the version that the page ships; empty where the files do not say one."""
    listed = packages(read_lock())
    folders = {p.name.replace("-", "_"): f"{p.name.replace('-', '_')}-{p.version}" for p in listed}
    for component in (*_PYODIDE, *_IN_ONNX):
        yield replace(component, text=folders.get(component.text, component.text))
    for package in listed:
        title, licence, text, where = _PACKAGES[package.name]
        address = f"pkg:pypi/{package.name}@{package.version}"
        yield Component(title, package.version, licence, folders[text], where, address)


def render_notice() -> str:
    """The text of licences/NOTICE.txt."""
    shipped = tuple(components())
    apache = next(c.text for c in shipped if c.title == "ONNX")
    rows = [("webnn-compile", "Apache-2.0", apache, "*.zip, *.js, *.html, *.css")]
    rows += [(f"{c.title} {c.version}".strip(), c.licence, c.text, c.files) for c in shipped]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, (*widths, 0), strict=True)) for row in rows)
    return _NOTICE.format(rows="\n".join(line.rstrip() for line in lines))


_NOTICE = """\
Contents of this folder: software, licence (SPDX), where its text lies beside this file, files.

{rows}

Pyodide's scripts are named .js in place of .mjs, and refer to each other so; they are otherwise unchanged.

Python modules are here as bytecode, without those that the compiler does not use. The sources of Pyodide, under the
Mozilla Public License, and of all that is built into it are at https://github.com/pyodide/pyodide.
"""
