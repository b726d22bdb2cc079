"""Options whose value is empty, as a shell's variable that is not set gives one."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner
from webnn_compile.cli import command, page_command, rpc_command, serve_command, tune_command

FLAGS = {"--generate"}
"""Options whose empty value is that of the option alone."""


def options(name: str, group: click.Command) -> Iterator[tuple[str, click.Command, str]]:
    """Each option that takes a value, with its command."""
    if isinstance(group, click.Group):
        for below, one in group.commands.items():
            yield from options(f"{name} {below}", one)
        return
    for param in group.params:
        if isinstance(param, click.Option) and not param.is_flag and param.opts[0] not in FLAGS:
            yield name, group, param.opts[0]


COMMANDS = {
    "webnn-compile": command.main,
    "webnn-tune": tune_command.main,
    "webnn-rpc": rpc_command.main,
    "webnn-serve": serve_command.main,
    "webnn-compile-page": page_command.main,
}
OPTIONS = [option for name, main in COMMANDS.items() for option in options(name, main)]


@pytest.mark.parametrize(("main", "option"), [o[1:] for o in OPTIONS], ids=[f"{o[0]} {o[2]}" for o in OPTIONS])
def test_an_empty_value_is_an_error(main: click.Command, option: str) -> None:
    ended = CliRunner().invoke(main, [f"{option}="])
    assert ended.exit_code == 2
    assert option in ended.stderr
