"""--format and what goes with it: how a bundle comes to the people who use it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..bundle.packaging import FORMATS, Packaging
from .explained import FILE, TEXT

_OPTIONS = (
    click.option(
        "--format",
        "bundle_format",
        type=TEXT,
        metavar="|".join(FORMATS),
        default=FORMATS[0],
        show_default=True,
        help="esm: an ES module. iife: a classic script that defines a global, for old pages, extensions and classic "
        "workers. npm: a package, with a README and types.",
    ),
    click.option(
        "--global-name",
        type=TEXT,
        metavar="NAME",
        help="With --format iife: the script's global; by default the name of the model's file.",
    ),
    click.option(
        "--single-file",
        is_flag=True,
        help="Write model.js and index.html with all files of the model inside: the page runs from a disk, too.",
    ),
    click.option(
        "--base-url",
        type=TEXT,
        metavar="URL",
        help="Where you put the weights and the code of the model, such as https://cdn.example.com/digits/; by default "
        "they lie beside model.js.",
    ),
    click.option(
        "--compress",
        type=TEXT,
        metavar="br,gz",
        help="Write files compressed by Brotli and gzip, too, for hosts that serve such (extra [compress]).",
    ),
    click.option(
        "--sign",
        type=FILE,
        metavar="KEY.pem",
        help="Sign the list of the bundle's files by this private key (Ed25519): pages check it by "
        "load({ publicKey }), with the key that is printed (extra [sign]).",
    ),
)


def bundle_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options to a command, which receives them as `packaging`."""

    @functools.wraps(command)
    def wrapped(
        bundle_format: str,
        global_name: str | None,
        single_file: bool,
        base_url: str | None,
        compress: str | None,
        sign: Path | None,
        **others: Any,
    ) -> None:
        base = "" if base_url is None else f"{base_url.removesuffix('/')}/"
        given = [] if compress is None else [c.strip() for c in compress.split(",")]
        codings = tuple(dict.fromkeys(c for c in given if c)) or tuple(given[:1])
        command(packaging=Packaging(bundle_format, global_name, single_file, base, codings, sign=sign), **others)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped
