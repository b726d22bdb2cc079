"""The QR code that `webnn-rpc serve` draws on a terminal leads to the address that it prints."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("webnn-rpc")
DARK = {" ": (1, 1), "▀": (0, 1), "▄": (1, 0), "█": (0, 0)}
"""Modules of two rows, one above the other, by the character that is drawn on a dark terminal: 1 is dark."""
QUIET = 4
"""Light modules that must surround a code."""


def printed_on_a_terminal(*arguments: str) -> str:
    """Until the broker listens."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([PROGRAM, *arguments], stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        text = b""
        with contextlib.suppress(OSError):  # the program has ended
            while b"Ctrl-C ends" not in text:
                text += os.read(ours, 4096)
        process.terminate()
    os.close(ours)
    return text.decode().replace("\r\n", "\n")


def without_colors(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def drawn(text: str) -> list[list[int]]:
    """The modules, row by row, with the quiet zone."""
    colored = [line for line in text.splitlines() if set(line) & set("█▀")]
    assert all(line.startswith("\x1b[97m\x1b[40m") for line in colored), "light on dark, on any terminal"
    lines = [line for line in map(without_colors, colored) if set(line) <= set(DARK)]
    return [[DARK[c][half] for c in line] for line in lines for half in (0, 1)]


def test_the_code_is_that_of_the_printed_address() -> None:
    import segno

    text = printed_on_a_terminal("serve", "--host", "0.0.0.0", "--port", "0")
    address = re.search(r"^  (http://\S+:\d+/#\S{16,})$", text, re.MULTILINE)
    assert address is not None, text
    assert "//0.0.0.0:" not in address[1]
    rows = drawn(text)
    assert all(len(row) == len(rows[0]) for row in rows)
    rows = rows[: len(rows[0])]  # below the last one, of an odd number, is half a line
    code = [row[QUIET:-QUIET] for row in rows[QUIET:-QUIET]]
    assert code == [list(map(int, row)) for row in segno.make(address[1], error="l").matrix]
    border = [*rows[:QUIET], *rows[-QUIET:], *(row[:QUIET] + row[-QUIET:] for row in rows)]
    assert not any(map(any, border)), "no scanner finds a code without its quiet zone"
    assert max(map(len, without_colors(text).splitlines())) <= 80


def test_a_broker_for_this_machine_draws_none() -> None:
    text = printed_on_a_terminal("serve", "--port", "0")
    assert "http://127.0.0.1:" in text
    assert drawn(text) == []
