"""The JavaScript runtime with content hashes in its file names."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

from ..errors import InternalError
from .files import STABLE_NAMES, BundleFile, hashed_file
from .minify_style import minify_style
from .strip_types import strip_types

_RELATIVE = re.compile(r"""(?<=['"])\./([a-z_]+\.(?:js|css|svg))(?=['"])""")
_FOLDERS = re.compile(r"""(?<=['"])(?:\.\.?/)+(?:[a-z_]+/)*(?=[a-z_]+\.(?:js|css|svg)['"])""")
_BACKENDS = ("backends.js", "needs.js", "workers.js")
_PARTS = (
    *("optional.js", "optional_device.js", "optional_webgpu.js"),
    *("kinds.js", "page_parts.js", "wasm_page.js"),
)
_PART = re.compile(r"^export (?:\{ (?:\w+ as )?(\w+) \} from .*|const (\w+) = [^;]*;)\n", re.MULTILINE)

_SHORTER: dict[str, Callable[[str], str]] = {"js": strip_types, "css": minify_style}

_NAMES = """buffers bytes canaries trials subgroups alternatives check finite next states newest functions generate
pieces chat pictures signature"""
_SECTION = re.compile(r"^ *// <(" + "|".join(_NAMES.split()) + r")>\n(.*?)^ *// </\1>\n", re.MULTILINE | re.DOTALL)


def read_runtime() -> dict[str, str]:
    """The runtime's source files by name, without their folders, which a bundle lacks: references are "./name.js"."""
    folder = files("webnn_compile.runtime_js")
    sources = {
        path.name: _FOLDERS.sub("./", path.read_text(encoding="utf-8").replace("\r\n", "\n"))
        for path in _files_below(folder)
        if path.name.endswith((".js", ".css", ".svg", ".html", ".d.ts"))
    }
    if "load.js" not in sources:
        raise InternalError(f"the JavaScript runtime is not in {folder}: install webnn-compile again")
    return sources


def _files_below(folder: Traversable) -> Iterator[Traversable]:
    for path in folder.iterdir():
        if path.is_dir():
            yield from _files_below(path)
        else:
            yield path


def keep_parts(sources: Mapping[str, str], backends: Collection[str], others: Collection[str]) -> dict[str, str]:
    """The sources, without the exports of other backends in the files that name them all (_BACKENDS), and without those
    of other parts than `others` in the files of _PARTS. Of sections in scripts and types, between lines `// <part>` and
    `// </part>`, those of `others` are left."""

    def kept(file: str, names: Collection[str]) -> str:
        return _PART.sub(lambda part: part[0] if (part[1] or part[2]) in names else "", sources[file])

    parts = {name: kept(name, others) for name in _PARTS}
    whole = {**sources, **{name: kept(name, backends) for name in _BACKENDS}, **parts}
    return {name: keep_sections(text, others) for name, text in whole.items()}


def keep_sections(text: str, parts: Collection[str]) -> str:
    """A script or types, of whose sections those of `parts` are left; a section may have others inside."""
    return _SECTION.sub(lambda own: keep_sections(own[2], parts) if own[1] in parts else "", text)


def link_runtime(sources: Mapping[str, str], roots: Collection[str] = ()) -> dict[str, BundleFile]:
    """Scripts, style sheets and icons by source name, every reference between them rewritten to the hashed name: those
    that `roots` need, or all.

    Type comments are left out: model.d.ts has the types. InternalError for a missing module or a cycle of imports,
    which has no content hash.
    """
    linked: dict[str, BundleFile] = {}

    def link(name: str, importers: tuple[str, ...]) -> BundleFile:
        if name in importers:
            raise InternalError(f"runtime-js: imports form a cycle: {' -> '.join((*importers, name))}")
        if name not in sources:
            raise InternalError(f"runtime-js/{importers[-1]} refers to {name}, which does not exist")
        if name not in linked:
            stem, suffix = name.split(".")
            text = _SHORTER.get(suffix, str)(sources[name])
            text = relink(text, lambda target: link(target, (*importers, name)))
            linked[name] = hashed_file(stem, suffix, text.encode(), "page" if stem == "page" else "runtime")
        return linked[name]

    for name in sorted(roots or sources):
        if name.endswith((".js", ".css", ".svg")):
            link(name, ())
    return linked


def relink(text: str, find: Callable[[str], BundleFile]) -> str:
    """References of the form "./name.js" rewritten to hashed names; the stable ones stay."""
    return _RELATIVE.sub(lambda match: match[0] if match[1] in STABLE_NAMES else f"./{find(match[1]).name}", text)
