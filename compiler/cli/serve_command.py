"""The command line of the server: `webnn-serve bundle/`."""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import sys
import time
from pathlib import Path

import click

from ..errors import InputError
from ..serve.serve_folder import Folder, serving
from ..serve.watch_folder import watching
from .addresses import LOOPBACK, draw_code, reachable, with_host
from .explained import DEBUG, FILE, TEXT, explained
from .terminal import say

PORT = 8000
PORTS = 20
"""Ports that are tried where none is asked for."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("folder", type=FILE, default=Path())
@click.option(
    "--host", type=TEXT, default="127.0.0.1", show_default=True, help="Listen on this address; 0.0.0.0 for all."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"By default {PORT}, or the next one that is free; 0 takes a free one.",
)
@click.option(
    "--isolated", is_flag=True, help="Send the headers by which pages are cross-origin isolated, as threads need it."
)
@click.option("--no-reload", is_flag=True, help="Leave open pages as they are when a file changes.")
@DEBUG
@click.version_option(package_name="webnn-compile")
def main(folder: Path, host: str, port: int | None, isolated: bool, no_reload: bool, debug: bool) -> None:
    """Serve FOLDER, a bundle or a site with one, as a host of static files does.

    Pages that are open load anew when a file changes. For the network of a phone: --host 0.0.0.0, which draws the
    address as a QR code; browsers give WebGPU to pages from https and localhost alone.
    """
    with explained(debug=debug):
        if not folder.is_dir():
            what = "is no folder" if folder.exists() else "does not exist"
            raise InputError(f"{folder}: it {what}; give the folder of a bundle or of a site")
        with contextlib.ExitStack() as opened:
            changes = None if no_reload else opened.enter_context(watching(folder))
            address = _listen(opened, Folder(folder, isolated, changes), host, port)
            shown = with_host(address, reachable(host))
            page = "" if (folder / "index.html").is_file() else "  (there is no index.html: name a page behind it)\n"
            say(f"{folder} is at\n\n  {shown}\n{page}")
            if host not in LOOPBACK and sys.stdout.isatty() and importlib.util.find_spec("segno") is not None:
                draw_code(shown)
            with contextlib.suppress(KeyboardInterrupt):
                say("Ctrl-C ends the server.")
                while True:
                    time.sleep(3600)


def _listen(opened: contextlib.ExitStack, folder: Folder, host: str, port: int | None) -> str:
    """The address of the server. Raises InputError where the port is taken."""
    candidate, last = (PORT, PORT + PORTS - 1) if port is None else (port, port)
    while True:
        try:
            return opened.enter_context(serving(folder, host, candidate))
        except OSError as error:
            if error.errno != errno.EADDRINUSE or candidate == last:
                reason = error.strerror or str(error)
                raise InputError(
                    f"cannot listen on {host}, port {candidate}: {reason}; give another --port or --host"
                ) from None
        candidate += 1
