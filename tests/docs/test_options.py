"""The documentation names the options that the commands have: all of webnn-compile and webnn-serve, and no others."""

from __future__ import annotations

import re

import click
import pytest
from documentation import PAGES, ROOT
from webnn_compile.cli import command, page_command, rpc_command, serve_command, tune_command

COMMANDS: dict[str, click.Command] = {
    "webnn-compile": command.main,
    "webnn-serve": serve_command.main,
    "webnn-tune": tune_command.main,
    "webnn-rpc": rpc_command.main,
    "webnn-compile-page": page_command.main,
}
PAGE = (ROOT / "docs" / "command-line.md").read_text()
OTHERS = {
    *("--external", "--bundle", "--format", "--outdir", "--no-deps"),
    *("--update-golden", "--allow-env", "--allow-read", "--unstable-webgpu"),
}
"""Options of esbuild, pip, pytest and Deno."""


def options(of: click.Command) -> set[str]:
    """The long options of a command and those below it."""
    found = {
        name
        for p in of.params
        if isinstance(p, click.Option) and not p.hidden
        for name in (*p.opts, *p.secondary_opts)
        if name[:2] == "--"
    }
    below = of.commands.values() if isinstance(of, click.Group) else ()
    return found.union(*map(options, below)) | {"--help"}


@pytest.mark.parametrize("name", ["webnn-compile", "webnn-serve"])
def test_each_option_has_its_place(name: str) -> None:
    section = PAGE.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", section))
    assert sorted(options(COMMANDS[name]) - named) == []


def test_no_page_names_an_option_that_is_not_there() -> None:
    # demo-site/build.py is a script, no command of the package.
    site = set(re.findall(r'@click\.option\(\s*"(--[a-z-]+)"', (ROOT / "demo-site" / "build.py").read_text()))
    known = set.union(site, *map(options, COMMANDS.values())) | OTHERS
    named = {(p.name, n) for p in PAGES for n in re.findall(r"(?<![\w-])--[a-z][a-z-]*\b", p.read_text())}
    assert sorted((page, option) for page, option in named if option not in known) == []
