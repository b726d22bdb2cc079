"""Which room may import which: the table of ARCHITECTURE.md, held against every import statement."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
COMPILER = ROOT / "compiler"

BASE = {"errors", "dtypes", "costs", "target", "choices", "system"}
RPC = "rpc"
"""The folder beside the compiler, of which it is a part by name alone: it imports nothing of it."""

CORE = BASE | {"ir", "program"}
TARGETS = {"wasm", "native", "glsl", "wgsl", "opencl", "cuda", "c"}
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "dtypes": set(),
    "target": {"costs"},
    "costs": set(),
    "choices": {"errors"},
    "system": {"errors"},
    "text": {"errors", "system"},
    "serve": set(),
    "ir": {"errors", "dtypes"},
    "program": {"errors", "dtypes", "ir"},
    "values": {"errors", "dtypes", "ir", "program"},
    "tensor": CORE,
    "ops": BASE | {"text", "ir", "tensor"},
    "graph": CORE | {"values", "tensor", "ops"},
    "custom": {"errors", "dtypes", "system", "ir", "tensor", "ops"},
    "frontends": CORE | {"text", "ops", "graph", "custom"},
    "formats": {"errors"},
    "pictures": {"errors", "dtypes", "ir", "program", "ops", "graph", "formats"},
    "sounds": {"errors", "dtypes", "ir", "program", "ops", "graph", "formats"},
    "tokenizers": {"errors", "dtypes", "ir", "program", "graph"},
    "answers": BASE | {"ir", "program", "ops", "graph", "formats", "pictures", "tokenizers"},
    "generation": {"errors", "dtypes", "ir", "ops", "graph", "tokenizers", "program"},
    "schedule": BASE | {"ir"},
    "passes": BASE | {"ir"},
    "codegen": CORE | {"text", "passes"},
    "library": {"errors", "dtypes", "text", "ir", "program", "codegen"},
    "wasm": CORE | {"codegen"},
    "native": CORE | {"codegen", "library"},
    "glsl": CORE | {"schedule", "passes", "codegen"},
    "simt": CORE | {"schedule", "passes", "codegen"},
    "wgsl": CORE | {"codegen", "simt"},
    "opencl": CORE | {"values", "codegen", "simt"},
    "cuda": CORE | {"values", "codegen", "simt"},
    "c": CORE | {"text", "passes", "codegen"},
    "bundle": {"errors", "dtypes", "system", "text", "ir", "program", "values"},
    "pipeline": CORE | {"graph", "tensor", "schedule"},
    "cpu": CORE | {"tensor", "schedule", "passes", "pipeline"},
    "gpu": CORE | {"tensor", "passes", "codegen", "pipeline", "cpu"},
    "execution": CORE | {"values", "codegen", "wasm", "native", "c"},
    "canaries": CORE
    | {"values", "native", "schedule", "passes", "codegen", "tensor", "pipeline", "cpu", "gpu", "execution"},
    "quantization": BASE
    | {"ir", "program", "values", "graph", "frontends", "pictures", "sounds", "tensor", "pipeline", "cpu", "native"}
    | {"execution"},
    "records": BASE | {"ir"} | {"tensor", "schedule", "pipeline"},
    "driver": CORE
    | TARGETS
    | {"text", "values", "bundle", "codegen", "library", "graph", "custom", "frontends", "tensor", "passes"}
    | {"pipeline", "cpu"}
    | {
        "gpu",
        "execution",
        "canaries",
        "quantization",
        "pictures",
        "sounds",
        "tokenizers",
        "answers",
        "generation",
        "records",
        RPC,
    },
    "compile_model": BASE
    | {
        "ir",
        "bundle",
        "custom",
        "frontends",
        "pictures",
        "sounds",
        "tokenizers",
        "answers",
        "generation",
        "quantization",
        "driver",
        "report",
    },
    "tune": CORE
    | {"text", "bundle", "codegen", "native", "graph", "tensor", "schedule", "pipeline", "cpu", "gpu", "execution"}
    | {"records", "driver"},
    "report": CORE
    | {"text", "bundle", "graph", "tensor", "passes", "codegen", "glsl", "native", "pipeline", "cpu", "gpu", "driver"},
    "compile_page": {"errors", "program", "system", "text", "bundle", "frontends", "records"}
    | {"quantization", "driver", "tune", "pictures", "sounds", "answers", "generation"},
    "cli": {
        "errors",
        "program",
        "system",
        "text",
        "values",
        "custom",
        "frontends",
        "generation",
        "bundle",
        "records",
        "driver",
        "tune",
    }
    | {
        "quantization",
        "formats",
        "pictures",
        "sounds",
        "tokenizers",
        "answers",
        "serve",
        "report",
        "compile_page",
        RPC,
    },
}
"""Imports allowed to each part besides itself. Only `__init__` and `__main__` stand above."""

LOOSE = 8
"""Files in the folder of the compiler itself, at most."""

OUTSIDE: dict[str, set[str]] = {
    "llvmlite": {"codegen"},
    "onnx": {"frontends"},
    "onnxruntime": {"driver"},
    "wasmtime": {"wasm"},
    "platformdirs": {"system"},
    "click": {"cli"},
    "pyopencl": {"opencl"},
    "cuda": {"cuda"},
    "rich": {"cli"},
    "PIL": {"pictures"},
    "tokenizers": {"tokenizers"},
    "jinja2": {"tokenizers"},
}
"""Packages from elsewhere, and the parts that may import them."""


def statements(file: Path, *, types: bool = True) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports; without `types` those that run, not those for type checkers."""
    stack: list[ast.AST] = [ast.parse(file.read_text())]
    while stack:
        n = stack.pop()
        if not types and isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING":
            stack.extend(n.orelse)
        elif isinstance(n, ast.Import | ast.ImportFrom):
            yield n
        else:
            stack.extend(ast.iter_child_nodes(n))


@cache
def imported(file: Path, *, types: bool = True) -> frozenset[tuple[str, ...]]:
    """The modules that a file of the compiler imports, as parts of their names; from outside with the package first."""
    folder = ("webnn_compile", *file.relative_to(COMPILER).parent.parts)
    found: set[tuple[str, ...]] = set()
    for n in statements(file, types=types):
        if isinstance(n, ast.Import):
            found.update(tuple(a.name.split(".")) for a in n.names)
            continue
        above = folder[: len(folder) - n.level + 1] if n.level else ()
        module = (*above, *(n.module or "").split(".")) if n.module else above
        found.update([(*module, a.name) for a in n.names] if not n.module else [module])
    return frozenset(found)


def part_of(file: Path) -> str:
    return file.relative_to(COMPILER).with_suffix("").parts[0]


FILES = sorted(COMPILER.rglob("*.py"))


@pytest.mark.parametrize("part", ALLOWED)
def test_a_part_imports_what_stands_below_it(part: str) -> None:
    files = [f for f in FILES if part_of(f) == part]
    assert files, f"there is no {part}; mend the table"
    for file in files:
        for name in imported(file):
            if name[0] == "webnn_compile":
                assert name[1] in ALLOWED[part] | {part}, f"{file.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize("package", OUTSIDE)
def test_a_package_is_imported_where_it_belongs(package: str) -> None:
    users = {part_of(f) for f in FILES if any(name[0] == package for name in imported(f, types=False))}
    assert users == OUTSIDE[package]


def test_the_table_has_no_cycles() -> None:
    placed: set[str] = set()
    while len(placed) < len(ALLOWED):
        ready = {p for p, below in ALLOWED.items() if below <= placed | {RPC}} - placed
        assert ready, f"in a cycle: {sorted(set(ALLOWED) - placed)}"
        placed |= ready


def test_the_table_is_complete() -> None:
    assert {part_of(f) for f in FILES} == ALLOWED.keys() | {"__init__", "__main__"}


def test_few_files_are_loose() -> None:
    assert len(list(COMPILER.glob("*.py"))) <= LOOSE


def test_backends_never_import_each_other() -> None:
    assert "wasm" not in ALLOWED["native"]
    assert "native" not in ALLOWED["wasm"]


def test_rpc_imports_nothing_of_the_compiler() -> None:
    for file in (ROOT / "rpc").rglob("*.py"):
        for n in statements(file):
            names = [a.name for a in n.names] if isinstance(n, ast.Import) else [n.module or ""]
            assert not any(name.split(".")[0] == "webnn_compile" for name in names), file
            assert not isinstance(n, ast.ImportFrom) or n.level < 2, file


def test_imports_are_read_as_python_does() -> None:
    assert ("webnn_compile", "ir", "affine") in imported(COMPILER / "tensor" / "build_kernel.py")
    assert ("webnn_compile", "target") in imported(COMPILER / "native" / "jit.py")
    assert ("llvmlite", "binding") in imported(COMPILER / "codegen" / "llvm.py")
    assert not any(name[1:2] == ("graph",) for name in imported(COMPILER / "ops" / "call.py"))
