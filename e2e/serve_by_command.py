"""`webnn-rpc serve` as a process of its own."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cli.command import printed_until
from webnn_compile.rpc.start_broker import Address

PROGRAM = Path(sys.executable).with_name("webnn-rpc")


@dataclass(frozen=True, slots=True)
class Served:
    """The address and the fingerprint of its certificate that the command printed."""

    process: subprocess.Popen[str]
    address: Address
    fingerprint: str | None


@contextlib.contextmanager
def serve_by_command(*options: str) -> Iterator[Served]:
    """A broker that listens, killed at the end of the block."""
    with subprocess.Popen([PROGRAM, "serve", *options], stdout=subprocess.PIPE, text=True) as process:
        try:
            printed = printed_until(process, "Ctrl-C")
            page = re.search(r"^  (https?://\S+)/#(\S+)$", printed, re.MULTILINE)
            assert page is not None, printed
            fingerprint = re.search(r"^  ((?:[0-9A-F]{2}:){31}[0-9A-F]{2})$", printed, re.MULTILINE)
            yield Served(process, Address(page[1], page[2]), fingerprint and fingerprint[1])
        finally:
            process.kill()
