"""The npm package @huggingface/tokenizers, of which bundles that take or give text have a copy."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from ..errors import InputError
from ..text.escape import Comment, comment
from .files import BundleFile, hashed_file

NAME = "@huggingface/tokenizers"
SCRIPTS = ("dist/tokenizers.min.mjs", "dist/tokenizers.mjs")
"""Its ES module; the first that is there is taken."""

PACKED = "tokenizers_js"
"""The folder of a wheel's own copy, in this package."""

_EXPORTS = re.compile(r"\bexport\s*\{([^{}]*)\}\s*;?\s*$")
_PUBLIC = re.compile(r"([\w$]+)\s+as\s+Tokenizer\b")
_MODULES_ONLY = re.compile(r"^\s*(?:import|export)\b|\bimport\.meta\b|\bimport\s*\(", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TokenizerPackage:
    """`source` is an ES module that exports Tokenizer."""

    version: str
    source: str = field(repr=False)
    licence: str = field(repr=False)

    def lacks(self, components: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Components whose types its code does not name."""
        return (c for c in components if f'"{c[1]}"' not in self.source and f"'{c[1]}'" not in self.source)

    @property
    def files(self) -> tuple[BundleFile, BundleFile]:
        """The module, and its licence."""
        licence = hashed_file("tokenizers_licence", "txt", self.licence.encode(), "licence")
        head = _kept(comment(f"{NAME} {self.version}, Apache-2.0: see {licence.name}"))
        return hashed_file("tokenizers", "js", f"{head}\n{self.source}".encode(), "runtime"), licence

    @property
    def function(self) -> str:
        """The module as an expression, a function of its exports for classic scripts, with the whole licence."""
        head = _kept(comment(f"{NAME} {self.version}", *self.licence.splitlines()))
        exported = _EXPORTS.search(self.source)
        public = exported and _PUBLIC.search(exported[1])
        if not exported or not public:
            raise InputError(
                f"{NAME} {self.version}: its module ends with no export of Tokenizer; install another version"
            )
        body = self.source[: exported.start()]
        if (found := _MODULES_ONLY.search(body)) or (found := re.search(r"</script|<!--", body, re.IGNORECASE)):
            raise InputError(f"{NAME} {self.version}: {found[0]!r} has no place in a classic script; take --format esm")
        return f"() => {{\n{head}\n{body}\nreturn {{ Tokenizer: {public[1]} }};\n}}"


def _kept(head: Comment) -> str:
    """A comment that minifiers leave where it is."""
    return head.replace("/*", "/*!", 1)


def find_package(folder: Path | None) -> TokenizerPackage:
    """The package in `folder`, or in node_modules of this folder or one above it, or the wheel's own. Raises
    InputError."""
    if folder is not None:
        return _read(folder, f"--tokenizers {folder}: ")
    here = Path.cwd()
    for above in (here, *here.parents):
        found = above / "node_modules" / NAME
        if found.is_dir():
            return _read(found, "")
    packed = files("webnn_compile") / PACKED
    if packed.is_dir():
        return _read(Path(str(packed)), "")
    raise InputError(
        f"text in a page needs the package {NAME}, and no node_modules here or above has it: npm install {NAME}, "
        "or say where it is by --tokenizers FOLDER"
    )


def _read(folder: Path, where: str) -> TokenizerPackage:
    try:
        described = json.loads((folder / "package.json").read_text(encoding="utf-8"))
        script = next((path for name in SCRIPTS if (path := folder / name).is_file()), None)
        if described.get("name") != NAME or script is None:
            raise InputError(f"{where}{folder} is no folder of {NAME}, with its package.json and {SCRIPTS[-1]}")
        # The name of a map of the source is none of a file of the bundle.
        source = re.sub(r"^//# sourceMappingURL=.*$", "", script.read_text(encoding="utf-8"), flags=re.MULTILINE)
        licence = (folder / "LICENSE").read_text(encoding="utf-8")
        return TokenizerPackage(str(described["version"]), source.strip() + "\n", licence)
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise InputError(
            f"{where}{folder} does not hold the package {NAME} ({error}): npm install {NAME}, and give its folder"
        ) from None
