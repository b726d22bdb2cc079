"""webnn-compile of another tree: `python -P launch_tree.py TREE ARGUMENTS...`, where nothing of that tree is installed.

Only the standard library is imported before the tree's own packages. Processes that compile kernels import this module
anew, with the same arguments; so the packages are made findable at import, and the command line runs as main alone.
"""

from __future__ import annotations

import sys
import tomllib
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path


class TreeFinder:
    """Finds the packages that a tree's pyproject.toml places: `webnn_compile` and those outside its folder."""

    def __init__(self, tree: Path) -> None:
        project = tomllib.loads((tree / "pyproject.toml").read_text())
        placed = project["tool"]["setuptools"]["package-dir"]
        self._folders = {name: tree / folder for name, folder in placed.items()}

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        folder = self._folders.get(name)
        if folder is None:
            return None
        return spec_from_file_location(name, folder / "__init__.py", submodule_search_locations=[str(folder)])


# First: an environment has this compiler installed, too.
sys.meta_path.insert(0, TreeFinder(Path(sys.argv[1])))

if __name__ == "__main__":
    from webnn_compile.cli import main

    main(sys.argv[2:])
