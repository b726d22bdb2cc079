"""Packages of npm of which bundles have a copy: @huggingface/tokenizers for text, @huggingface/jinja for messages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from ..errors import InputError
from ..text.escape import Comment, comment
from .files import BundleFile, hashed_file


@dataclass(frozen=True, slots=True)
class PackageKind:
    """A package of which bundles take a part: `exported` is the class of its ES module, the first of `scripts` that
    is there; `use` says what for, with a verb. `packed` is the folder of a wheel's own copy, in this package, `stem`
    begins names of files."""

    name: str
    licence: str
    exported: str
    scripts: tuple[str, ...]
    stem: str
    use: str

    @property
    def packed(self) -> str:
        return f"{self.stem}_js"


TOKENIZERS = PackageKind(
    "@huggingface/tokenizers",
    "Apache-2.0",
    "Tokenizer",
    ("dist/tokenizers.min.mjs", "dist/tokenizers.mjs"),
    "tokenizers",
    "text in a page needs",
)
JINJA = PackageKind("@huggingface/jinja", "MIT", "Template", ("dist/index.js",), "jinja", "messages in a page need")

_EXPORTS = re.compile(r"\bexport\s*\{([^{}]*)\}\s*;?\s*$")
_MODULES_ONLY = re.compile(r"^\s*(?:import|export)\b|\bimport\.meta\b|\bimport\s*\(", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TextPackage:
    """`source` is an ES module that exports the class of its `kind`."""

    kind: PackageKind
    version: str
    source: str = field(repr=False)
    licence: str = field(repr=False)

    def lacks(self, components: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Components whose types its code does not name."""
        return (c for c in components if f'"{c[1]}"' not in self.source and f"'{c[1]}'" not in self.source)

    @property
    def script(self) -> BundleFile:
        """The module."""
        head = _kept(comment(f"{self._title}, {self.kind.licence}: see {self.licence_file.name}"))
        return hashed_file(self.kind.stem, "js", f"{head}\n{self.source}".encode(), "runtime")

    @property
    def licence_file(self) -> BundleFile:
        return hashed_file(f"{self.kind.stem}_licence", "txt", self.licence.encode(), "licence")

    @property
    def function(self) -> str:
        """The module as an expression, a function of its export for classic scripts, with the whole licence."""
        head = _kept(comment(self._title, *self.licence.splitlines()))
        name = self.kind.exported
        exported = _EXPORTS.search(self.source)
        public = exported and re.search(rf"(?:([\w$]+)\s+as\s+|(?<![\w$])){name}(?![\w$])", exported[1])
        if not exported or not public:
            raise InputError(f"{self._title}: its module ends with no export of {name}; install another version")
        body = self.source[: exported.start()]
        if (found := _MODULES_ONLY.search(body)) or (found := re.search(r"</script|<!--", body, re.IGNORECASE)):
            raise InputError(f"{self._title}: {found[0]!r} has no place in a classic script; take --format esm")
        return f"() => {{\n{head}\n{body}\nreturn {{ {name}: {public[1] or name} }};\n}}"

    @property
    def _title(self) -> str:
        return f"{self.kind.name} {self.version}"


def text_package_files(packages: Iterable[TextPackage]) -> list[BundleFile]:
    return [file for package in packages for file in (package.script, package.licence_file)]


def import_packages(packages: Sequence[TextPackage]) -> str | None:
    """The expression of a function that imports the packages, which gives all they export in a promise; None where
    there are none. Bundlers follow `import(literal)`."""
    imports = [f"import('./{package.script.name}')" for package in packages]
    if len(imports) < 2:
        return f"() => {imports[0]}" if imports else None
    return f"async () => Object.assign({{}}, ...(await Promise.all([{', '.join(imports)}])))"


def inline_packages(packages: Sequence[TextPackage]) -> str | None:
    """As `import_packages`, with the packages inside, for classic scripts."""
    functions = [package.function for package in packages]
    if len(functions) < 2:
        return functions[0] if functions else None
    return f"() => Object.assign({{}}, {', '.join(f'({function})()' for function in functions)})"


def _kept(head: Comment) -> str:
    """A comment that minifiers leave where it is."""
    return head.replace("/*", "/*!", 1)


def find_package(folder: Path | None, kind: PackageKind = TOKENIZERS) -> TextPackage:
    """The package in `folder`, or in node_modules of this folder or one above it, or the wheel's own. A `folder` is
    that of TOKENIZERS, beside which others may be. Raises InputError."""
    if folder is not None and kind is TOKENIZERS:
        return _read(folder, kind, f"--tokenizers {folder}: ")
    here = Path.cwd()
    beside = [] if folder is None else [folder.resolve().parent / kind.name.partition("/")[2]]
    for found in (*beside, *(above / "node_modules" / kind.name for above in (here, *here.parents))):
        if found.is_dir():
            return _read(found, kind, "")
    packed = files("webnn_compile") / kind.packed
    if packed.is_dir():
        return _read(Path(str(packed)), kind, "")
    place = "say where it is by" if kind is TOKENIZERS else "lay it beside the folder of"
    raise InputError(
        f"{kind.use} the package {kind.name}, and no node_modules here or above has it: npm install {kind.name}, "
        f"or {place} --tokenizers FOLDER"
    )


def _read(folder: Path, kind: PackageKind, where: str) -> TextPackage:
    name = kind.name
    try:
        described = json.loads((folder / "package.json").read_text(encoding="utf-8"))
        script = next((path for part in kind.scripts if (path := folder / part).is_file()), None)
        if described.get("name") != name or script is None:
            raise InputError(f"{where}{folder} is no folder of {name}, with its package.json and {kind.scripts[-1]}")
        # The name of a map of the source is none of a file of the bundle.
        source = re.sub(r"^//# sourceMappingURL=.*$", "", script.read_text(encoding="utf-8"), flags=re.MULTILINE)
        licence = (folder / "LICENSE").read_text(encoding="utf-8")
        return TextPackage(kind, str(described["version"]), source.strip() + "\n", licence)
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise InputError(
            f"{where}{folder} does not hold the package {name} ({error}): npm install {name}, and give its folder"
        ) from None
