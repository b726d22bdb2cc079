"""How a bundle comes to the people who use it: the options about its form, and what excludes what."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from ..errors import InputError
from .compress_files import CODINGS, check_codings
from .sign_files import read_key
from .text_packages import TextPackage

FORMATS = ("esm", "iife", "npm")

_WORDS = """
arguments await break case catch class const continue debugger default delete do else enum eval export extends false
finally for function if implements import in instanceof interface let new null package private protected public return
static super switch this throw true try typeof undefined var void while with yield
closed document event frames history length location name navigator opener origin parent screen self status top window
Array Boolean Date Error Function Infinity JSON Map Math NaN Number Object Promise Set String Symbol WebAssembly Worker
"""
TAKEN = frozenset(_WORDS.split())
"""Names that JavaScript reserves, or that a page has already."""

_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


@dataclass(frozen=True, slots=True)
class Packaging:
    """`format`, of FORMATS: an ES module, a classic script that defines a global, or a package for npm. `global_name`
    is that of the script, by default the model's. With `single_file` the script holds all files of the model, and so
    does the bundle's page. `base_url`, where it is not empty, is where the model's files are, and ends with a slash.
    `compress` are the codings, of CODINGS, in which files stand beside themselves. `licence` is what the model's file
    says of it, and `facts` the rest of what the bundle's page has from there, by name.
    `text_packages` make tokens of text, text of tokens, and text of messages. `sign` is the file of the private key
    that signs the list of files."""

    format: str = "esm"
    global_name: str | None = None
    single_file: bool = False
    base_url: str = ""
    compress: tuple[str, ...] = ()
    licence: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    text_packages: tuple[TextPackage, ...] = ()
    sign: Path | None = None

    def check(self, *, isolation: bool = False) -> None:
        """Raises InputError for options that exclude each other, or files for `isolation`."""
        if self.format not in FORMATS:
            raise InputError(f"--format {self.format}: choose one of {', '.join(FORMATS)}")
        if self.single_file and self.format == "npm":
            raise InputError("--single-file and --format npm exclude each other: a package is a folder")
        if isolation and (self.single_file or self.format == "npm"):
            form = "--single-file" if self.single_file else "--format npm"
            raise InputError(f"--coop-coep and {form} exclude each other: it is for a host that serves the bundle")
        if self.global_name is not None:
            self._check_global(self.global_name)
        if self.base_url:
            self._check_base(self.base_url)
        if self.compress:
            self._check_compress()
        if self.sign is not None:
            if self.single_file:
                raise InputError("--sign and --single-file exclude each other: sign the one file as you sign others")
            read_key(self.sign)

    def _check_base(self, url: str) -> None:
        parts = urlsplit(url)
        is_folder = url.endswith("/") and not parts.query and not parts.fragment
        if parts.scheme not in ("https", "http") or not parts.netloc or not is_folder:
            raise InputError(f"--base-url {url}: give the address of a folder, such as https://cdn.example.com/digits/")
        if self.single_file:
            raise InputError("--base-url and --single-file exclude each other: one file needs no others")

    def _check_compress(self) -> None:
        if unknown := [c for c in self.compress if c not in CODINGS]:
            raise InputError(f"--compress {','.join(unknown)}: choose from {', '.join(CODINGS)}")
        if self.format == "npm":
            raise InputError("--compress and --format npm exclude each other: hosts serve what a bundler made")
        check_codings(self.compress)

    def _check_global(self, name: str) -> None:
        if self.format != "iife":
            raise InputError("--global-name is for --format iife: ES modules have no global")
        if not _IDENTIFIER.fullmatch(name):
            raise InputError(f"--global-name {name}: give a name of JavaScript, letters, digits and _, such as digits")
        if name in TAKEN:
            raise InputError(f"--global-name {name} is taken in every page: give another one")

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the runtime that this form needs."""
        return () if self.sign is None else ("signature",)

    def global_of(self, model: str) -> str:
        """The script's global for a model of this name."""
        if self.global_name is not None:
            return self.global_name
        name = re.sub(r"[^A-Za-z0-9_$]+", "_", model).strip("_") or "model"
        return f"model_{name}" if name[0].isdigit() or name in TAKEN else name


ESM = Packaging()
