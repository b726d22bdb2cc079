"""pyproject.toml names every package there is, so that a wheel holds what an editable install sees."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]


def packages_below(folder: Path, name: str) -> set[str]:
    """The package in `folder` and those below it: folders with Python files."""
    below = {file.parent.relative_to(folder) for file in folder.rglob("*.py")}
    return {".".join((name, *path.parts)) for path in below}


def test_every_package_is_listed() -> None:
    exist = packages_below(ROOT / "compiler", "webnn_compile") | packages_below(ROOT / "rpc", "webnn_compile.rpc")
    assert sorted(SETUPTOOLS["packages"]) == sorted(exist | {"webnn_compile.runtime_js"})


def test_every_package_has_an_init_file() -> None:
    folders = {file.parent for top in ("compiler", "rpc") for file in (ROOT / top).rglob("*.py")}
    bare = [str(folder.relative_to(ROOT)) for folder in folders if not (folder / "__init__.py").is_file()]
    assert not bare


def test_the_plugin_for_vite_is_published_whole() -> None:
    """With the version and the licence of the compiler, and each file that its exports name."""
    folder = ROOT / "examples" / "vite-plugin-webnn-compile"
    described = json.loads((folder / "package.json").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (described["version"], described["license"]) == (project["version"], project["license"])
    exported = {Path(file).name for condition in described["exports"].values() for file in condition.values()}
    assert exported == set(described["files"])
    assert {file.name for file in folder.iterdir()} >= exported | {"README.md"}


def test_no_package_is_named_after_its_folder() -> None:
    assert {name.split(".")[0] for name in SETUPTOOLS["packages"]} == {"webnn_compile"}
