"""The runtime in few files: a browser discovers modules level by level, by the imports of those it has, and each level
is a round trip to the server, in the page and again in the worker."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import InternalError
from .files import STABLE_NAMES
from .minify_script import minify_script
from .strip_types import strip_types

COMMON = "runtime.js"
"""The modules of the page and of every backend, without those that name a script, whose name depends on this."""

SHARED = "shared.js"
"""Modules of several backends and not of all."""

BACKENDS = "backends.js"
"""The module that names the script of each backend."""

ENTRIES = ("load.js", "page.js")
"""Files that others import. Other scripts are those that a module names, by `import('./name.js')` or the URL of a
worker."""

ALONE = ("thread.js", "page.js")
"""Threads start late, and the bundle's own page is no part of a model: these have copies of the little they need."""

_NAMED = re.compile(r"(?<=')\./(\w+\.js)(?=')")
IMPORTED_LATER = re.compile(r"\bimport\('\./(\w+\.js)'\)")
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
    """Equivalent sources in fewer modules: ENTRIES and the scripts that modules name, each with the modules that it
    alone imports, COMMON and SHARED. Files that are no modules, or that are not imported, stay as they are.

    A module becomes a function that runs once, so names in different modules do not collide, and those in it are short
    ones. InternalError for an unsupported form of import or export.
    """
    modules = {name: parse_module(name, text) for name, text in sources.items() if name.endswith(".js")}
    needs = _needs_of_scripts(modules)
    places = _place(needs)
    every = {m.name: m for own in needs.values() for m in own}
    files: dict[str, list[Module]] = {COMMON: [], SHARED: []}
    for file in files:
        files[file] = [m for m in every.values() if places.get(m.name) == file]
    for script, own in needs.items():
        files[script] = [m for m in own if script in ALONE or places.get(m.name, script) == script]
    # model.js has the classes of errors from there.
    imported = {"errors.js"}
    for own in files.values():
        inside = {m.name for m in own}
        imported.update(t for m in own for _, t in m.imports if t not in inside)
    merged = {name: text for name, text in sources.items() if name not in every}
    for file, own in files.items():
        public = [m.name for m in own if m.name in imported and places.get(m.name) == file]
        if own or file == COMMON:
            merged[file] = _file(own, needs.get(file, own), places, public, modules.get(file))
    return merged


def _needs_of_scripts(modules: Mapping[str, Module]) -> dict[str, list[Module]]:
    """The modules that each script depends on, by its name."""
    needs: dict[str, list[Module]] = {}
    waiting = [entry for entry in ENTRIES if entry in modules]
    while waiting:
        script = waiting.pop()
        if script not in needs:
            needs[script] = needs_of(script, modules)
            waiting += [name for m in needs[script] for name in _NAMED.findall(m.body) if name in modules]
    return dict(sorted(needs.items()))


def _place(needs: Mapping[str, list[Module]]) -> dict[str, str]:
    """The file of each module. Those that are not here lie in each of the scripts that need them: they name a script,
    or import what does, and names have hashes of what a file imports."""
    modules = {m.name: m for own in needs.values() for m in own}
    later = set(IMPORTED_LATER.findall(modules[BACKENDS].body)) if BACKENDS in modules else set()
    names = {script: {m.name for m in own} for script, own in needs.items() if script not in ALONE}
    places = {script: script for script in needs}
    for m in {m.name: m for script in names for m in needs[script]}.values():
        below = all(t in places or t in STABLE_NAMES for _, t in m.imports)
        if m.name in needs or not below or _NAMED.search(m.body):
            continue
        scripts = [script for script, own in names.items() if m.name in own]
        users = {backend for backend in later if any(backend in names[script] for script in scripts)}
        if "load.js" in scripts or users == later:
            places[m.name] = COMMON
        elif len(users) > 1:
            places[m.name] = SHARED
        else:
            places[m.name] = next((backend for backend in users if backend in scripts), scripts[0])
    return places


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


def _file(
    own: Sequence[Module],
    needs: Sequence[Module],
    places: Mapping[str, str],
    public: Sequence[str],
    script: Module | None,
) -> str:
    """The modules, with imports from where others lie, and of all other files that `needs` lie in, which come in the
    same round trip; exports are those of `script`, and what modules of other files import."""
    inside = {m.name for m in own}
    outside = dict.fromkeys(t for m in own for _, t in m.imports if t not in inside and t not in STABLE_NAMES)
    lines = []
    later = [m.name for m in needs if m.name in places and m.name not in inside]
    for file in sorted({places[name] for name in (*outside, *later)}):
        names = [variable_of(target) for target in outside if places[target] == file]
        lines.append(f"import {{ {', '.join(names)} }} from './{file}';\n" if names else f"import './{file}';\n")
    stable = [imported for m in own for imported in m.imports if imported[1] in STABLE_NAMES]
    lines += [f"import {p if p.startswith('{') else f'* as {p}'} from './{t}';\n" for p, t in stable]
    lines.append(functions_of(own))
    if public:
        lines.append(f"export {{ {', '.join(map(variable_of, public))} }};\n")
    if script is not None and script.exports:
        names = [name for name, _ in script.exports]
        lines.append(f"export const {{ {', '.join(names)} }} = {variable_of(script.name)};\n")
    return "".join(lines)


def functions_of(modules: Iterable[Module], stable: Collection[str] = ()) -> str:
    """The modules as functions that run once, in order. Of STABLE_NAMES, whose imports are others' to write, `stable`
    are variables, too."""
    blocks = []
    for m in modules:
        bindings = ",".join(
            f"{p}={variable_of(t)}" for p, t in m.imports if p and (t in stable or t not in STABLE_NAMES)
        )
        results = ",".join(name if name == value else f"{name}:{value}" for name, value in m.exports)
        inner = "\n".join((*([f"const {bindings};"] if bindings else []), m.body, f"return {{{results}}}"))
        blocks.append(f"{variable_of(m.name)}=(()=>{{{minify_script(inner)}}})()")
    together = ",\n".join(blocks)
    return f"const {together};\n" if blocks else ""


def variable_of(name: str) -> str:
    """Holds the exports of a module."""
    return f"${name.removesuffix('.js')}"
