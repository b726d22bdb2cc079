"""Files, sizes and choices that ARCHITECTURE.md and the DESIGN.md pages name are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "ARCHITECTURE.md", *sorted((ROOT / "compiler").rglob("DESIGN.md")), ROOT / "runtime-js" / "DESIGN.md"]
ARCHITECTURE = PAGES[0].read_text()
FOLDERS = {
    "WebGPU": ("compiler/wgsl/*.py",),
    "WebGL": ("compiler/glsl/*.py",),
    "OpenCL": ("compiler/opencl/*.py",),
    "CUDA": ("compiler/cuda/*.py",),
    "C": ("compiler/c/*.*",),
    "libraries": ("compiler/library/*.*", "compiler/execution/load_library.py"),
}
"""By backend of the table: the files that it counts."""


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT).parent))
def test_named_files_exist(page: Path) -> None:
    named = re.findall(r"`([\w./-]+/[\w.-]+\.(?:py|js|md))`", page.read_text())
    bases = (ROOT, ROOT / "compiler", page.parent)
    assert not [name for name in named if not any((base / name).exists() for base in bases)]


def test_architecture_is_short() -> None:
    assert len(ARCHITECTURE.split()) <= 3500


@pytest.mark.parametrize("backend", FOLDERS)
def test_sizes_of_backends(backend: str) -> None:
    """Lines within a tenth."""
    row = re.search(rf"^\| {backend} \| (\d+), (\d+) \|", ARCHITECTURE, re.MULTILINE)
    assert row is not None
    files = [path for pattern in FOLDERS[backend] for path in ROOT.glob(pattern)]
    lines = sum(path.read_text().count("\n") for path in files)
    assert len(files) == int(row[1])
    assert abs(lines - int(row[2])) <= lines / 10, lines


def test_the_table_of_choices_has_all() -> None:
    sources = (ROOT / "compiler").rglob("*.py")
    chosen = {
        name for path in sources for name in re.findall(r'hoices(?:\([^"]*\))?\.choose\("(\w+)"', path.read_text())
    }
    table = (ROOT / "compiler" / "schedule" / "DESIGN.md").read_text().partition("| decision |")[2].partition("\n\n")[0]
    listed = {name for row in table.split("\n")[2:] for name in re.findall(r"\w+", row.split("|")[1])}
    assert listed == chosen
