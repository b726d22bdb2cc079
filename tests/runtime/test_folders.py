"""Which folder of the runtime may import which, held against every import that runs; those of types are free."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

RUNTIME = Path(__file__).resolve().parents[2] / "runtime-js"

ALLOWED: dict[str, set[str]] = {
    "errors.js": set(),
    "gpu_flags.js": set(),
    "values": {"errors.js", "gpu_flags.js"},
    "fetch": {"errors.js"},
    "answers": {"values", "fetch"},
    "texts": {"errors.js", "values", "fetch"},
    "generate": {"errors.js", "values", "fetch"},
    "wasm": {"errors.js", "values", "fetch"},
    "device": {"errors.js", "values", "fetch", "wasm"},
    "webgl": {"errors.js", "values", "device"},
    "webgpu": {"errors.js", "gpu_flags.js", "values", "device"},
    "start_session.js": {"fetch"},
    "worker": {"errors.js", "values", "fetch", "wasm", "webgl", "webgpu", "start_session.js"},
    "load": {
        *(
            "errors.js",
            "values",
            "fetch",
            "answers",
            "texts",
            "generate",
            "webgl",
            "webgpu",
            "start_session.js",
            "worker",
            "verify",
        ),
    },
    "script": {"fetch", "worker", "load"},
    "verify": {"errors.js", "values", "fetch", "wasm", "device"},
    "bundle_page": {"values", "model.js"},
}
"""Imports allowed to each folder, and each file outside one, besides itself; model.js is the bundle's."""

SCRIPTS = sorted(RUNTIME.rglob("*.js"))
_IMPORT = re.compile(r"^(?:import|export)\b[^;]*?\b(?:from |import\()'([^']+)'", re.MULTILINE)


def part_of(path: Path) -> str:
    return path.relative_to(RUNTIME).parts[0]


def imported(script: Path) -> list[Path]:
    return [(script.parent / target).resolve() for target in _IMPORT.findall(script.read_text())]


@pytest.mark.parametrize("part", ALLOWED)
def test_a_folder_imports_what_stands_below_it(part: str) -> None:
    scripts = [script for script in SCRIPTS if part_of(script) == part]
    assert scripts, f"there is no {part}; mend the table"
    for script in scripts:
        for target in imported(script):
            assert part_of(target) in ALLOWED[part] | {part}, f"{script.relative_to(RUNTIME)} imports {target.name}"


def test_every_script_is_in_the_table() -> None:
    assert {part_of(script) for script in SCRIPTS} == set(ALLOWED)


def test_the_table_has_no_cycles() -> None:
    placed = {"model.js"}
    while placed < {*ALLOWED, "model.js"}:
        ready = {part for part, below in ALLOWED.items() if below <= placed} - placed
        assert ready, f"in a cycle: {sorted(set(ALLOWED) - placed)}"
        placed |= ready


def test_imports_name_files_that_exist() -> None:
    for script in SCRIPTS:
        for target in imported(script):
            assert target.is_file() or target == RUNTIME / "model.js", f"{script.relative_to(RUNTIME)}: {target}"


def test_names_are_unique_for_a_bundle_has_no_folders() -> None:
    names = [file.name for file in RUNTIME.rglob("*.*") if file.suffix in (".js", ".css", ".svg", ".html", ".ts")]
    assert len(names) == len(set(names))


def test_few_files_lie_outside_a_folder() -> None:
    assert len([path for path in RUNTIME.iterdir() if path.is_file()]) <= 6


def test_imports_are_read_in_all_their_forms() -> None:
    assert RUNTIME / "load" / "backends.js" in imported(RUNTIME / "load" / "load.js")
    assert RUNTIME / "worker" / "backend_webgl.js" in imported(RUNTIME / "load" / "backends.js")
    assert RUNTIME / "worker" / "start_worker.js" in imported(RUNTIME / "load" / "load.js")
    assert RUNTIME / "model.js" in imported(RUNTIME / "bundle_page" / "page.js")
