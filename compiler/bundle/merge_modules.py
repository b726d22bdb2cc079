"""The runtime in few files: a browser discovers modules level by level, by the imports of those it has, and each level
is a round trip to the server, in the page and again in the worker."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from ..errors import InternalError
from .files import STABLE_NAMES
from .minify_script import minify_script
from .strip_types import strip_types

COMMON = "runtime.js"
"""The modules of the page and the worker, without those that name the worker's script, whose name depends on this."""

ROOTS = ("load.js", "worker.js", "thread.js", "page.js")

_IMPORT = re.compile(r"^import (?:\{([^}]*)\}|\* as (\w+)) from '\./(\w+\.js)';\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|const|class) (\w+))", re.MULTILINE)
_EXPORT_FROM = re.compile(r"^export \{ (?:(\w+) as )?(\w+) \} from '\./(\w+\.js)';\n", re.MULTILINE)
_OTHER = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Module:
    """`imports`: a pattern, and the file whose exports it destructures; `exports`: a name and its value; `body`: the
    rest."""

    name: str
    imports: tuple[tuple[str, str], ...]
    exports: tuple[tuple[str, str], ...]
    body: str


def merge_modules(sources: Mapping[str, str]) -> dict[str, str]:
    """Equivalent sources in fewer modules: COMMON, and ROOTS, each with the modules that it imports and COMMON has not.
    Files that are no modules, or that are not imported, stay as they are.

    A module becomes a function that runs once, so names in different modules do not collide, and those in it are short
    ones. InternalError for an unsupported form of import or export.
    """
    modules = {name: parse_module(name, text) for name, text in sources.items() if name.endswith(".js")}
    needs = {root: needs_of(root, modules) for root in ROOTS if root in modules}
    common = _without_scripts(dict.fromkeys((*needs["worker.js"], *needs["load.js"])))
    shared = {m.name for m in common}
    merged = {
        name: text for name, text in sources.items() if not any(name in (m.name for m in n) for n in needs.values())
    }
    # model.js has the classes of errors from there.
    public = {"errors.js"} & shared
    for root, own in needs.items():
        # Threads start late and the bundle's own page is no part of a model: these have copies of the little they need.
        outside = shared if root in ("load.js", "worker.js") else set()
        added = [m for m in own if m.name not in outside]
        merged[root] = _root(modules[root], added, outside)
        public.update(t for m in added for _, t in m.imports if t in outside)
    names = ", ".join(variable_of(m.name) for m in common if m.name in public)
    merged[COMMON] = f"{functions_of(common)}export {{ {names} }};\n"
    return merged


def _without_scripts(modules: Iterable[Module]) -> list[Module]:
    """The modules that are no root, name none, and import only such."""
    kept: dict[str, Module] = {}
    for m in modules:
        below = all(target in kept or target in STABLE_NAMES for _, target in m.imports)
        if below and m.name not in ROOTS and not any(f"'./{root}'" in m.body for root in ROOTS):
            kept[m.name] = m
    return list(kept.values())


def exported_names(source: str) -> list[str]:
    """The names that a module exports."""
    return [name for name, _ in parse_module("", source).exports]


def parse_module(name: str, text: str) -> Module:
    """Raises InternalError for an unsupported form of import or export."""
    text = strip_types(text)
    imports = tuple(
        (space or f"{{{','.join(members.replace(' as ', ':').replace(',', ' ').split())}}}", target)
        for members, space, target in _IMPORT.findall(text)
    )
    again = _EXPORT_FROM.findall(text)
    exports = [(local, local) for local in _EXPORT.findall(text)]
    exports += [(public, f"{variable_of(target)}.{was or public}") for was, public, target in again]
    body = _EXPORT.sub("", _EXPORT_FROM.sub("", _IMPORT.sub("", text)))
    if (other := _OTHER.search(body)) is not None and name not in STABLE_NAMES:
        raise InternalError(f"runtime-js/{name}: no way to merge {other[0]!r}")
    return Module(
        name,
        imports + tuple(("", target) for _, _, target in again),
        tuple(exports),
        body.strip(),
    )


def needs_of(root: str, modules: Mapping[str, Module]) -> list[Module]:
    """The modules that `root` depends on, each after those that it imports, and `root` last."""
    needed: dict[str, Module] = {}

    def visit(name: str, importers: tuple[str, ...]) -> None:
        if name in importers:
            raise InternalError(f"runtime-js: imports form a cycle: {' -> '.join((*importers, name))}")
        if name in needed or name in STABLE_NAMES:
            return
        if name not in modules:
            raise InternalError(f"runtime-js/{importers[-1]} refers to {name}, which does not exist")
        for _, target in modules[name].imports:
            visit(target, (*importers, name))
        needed[name] = modules[name]

    visit(root, ())
    return list(needed.values())


def _root(root: Module, own: list[Module], outside: Collection[str]) -> str:
    imported = dict.fromkeys(variable_of(t) for m in own for _, t in m.imports if t in outside)
    head = f"import {{ {', '.join(imported)} }} from './{COMMON}';\n" if imported else ""
    stable = [(pattern, t) for m in own for pattern, t in m.imports if t in STABLE_NAMES]
    head += "".join(f"import {pattern} from './{t}';\n" for pattern, t in stable)
    names = ", ".join(name for name, _ in root.exports)
    return head + functions_of(own) + (f"export const {{ {names} }} = {variable_of(root.name)};\n" if names else "")


def functions_of(modules: Iterable[Module], stable: Collection[str] = ()) -> str:
    """The modules as functions that run once, in order. Of STABLE_NAMES, whose imports are others' to write, `stable`
    are variables, too."""
    blocks = []
    for m in modules:
        bindings = ",".join(
            f"{p}={variable_of(t)}" for p, t in m.imports if p and (t in stable or t not in STABLE_NAMES)
        )
        results = ",".join(name if name == value else f"{name}:{value}" for name, value in m.exports)
        inner = "\n".join((*([f"const {bindings};"] if bindings else []), m.body, f"return {{{results}}};"))
        blocks.append(f"const {variable_of(m.name)}=(()=>{{{minify_script(inner)}}})();\n")
    return "".join(blocks)


def variable_of(name: str) -> str:
    """Holds the exports of a module."""
    return f"${name.removesuffix('.js')}"
