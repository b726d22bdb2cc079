"""The runtime in few files: a browser discovers modules level by level, by the imports of those it has, and each level
is a round trip to the server, in the page and again in the worker."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..errors import InternalError
from .files import STABLE_NAMES
from .minify_script import Names, capital_words, minify_scripts
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
_CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
_OTHER = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Module:
    """`imports`: a file, and the names of its exports by those that they have here, or the variable of all its exports.
    `exports` are of its own; `again`: names, and of which file's exports they are. `body`: the rest."""

    name: str
    imports: tuple[tuple[str, Mapping[str, str] | str], ...]
    exports: tuple[str, ...]
    again: Mapping[str, tuple[str, str]]
    body: str

    @property
    def targets(self) -> Iterator[str]:
        """The files that it imports."""
        yield from (target for target, _ in self.imports)
        yield from (target for target, _ in self.again.values())


def merge_modules(sources: Mapping[str, str]) -> dict[str, str]:
    """Equivalent sources in fewer modules: ENTRIES and the scripts that modules name, each with the modules that it
    alone imports, COMMON and SHARED. Files that are no modules, or that are not imported, stay as they are.

    All modules of a file share its scope, in which they have different short names; what a module exports are variables
    of the file, by one name in all files. InternalError for an unsupported form of import or export, and for an import
    of what a module does not export.
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
    variables = Variables(every)
    elsewhere = {name for own in files.values() for name in variables.imported(own)}
    merged = {name: text for name, text in sources.items() if name not in every}
    for file, own in files.items():
        public = [m for m in own if places.get(m.name) == file]
        names = sorted({name for m in public for name in variables.made(m)} & elsewhere)
        if own or file == COMMON:
            merged[file] = _file(file, own, needs.get(file, own), places, names, variables)
    return merged


class Variables:
    """Exports of modules as variables of files: `A` in each file that has or imports the export, shortest for those
    that most modules import. Other variables begin with small letters, where these are enough."""

    def __init__(self, modules: Mapping[str, Module]) -> None:
        self._modules = modules
        uses: Counter[tuple[str, str]] = Counter()
        for m in modules.values():
            uses.update(key for key in map(self._origin, self._imports(m)) if key is not None)
            uses.update({(m.name, name): 0 for name in m.exports})
        ranked = sorted(uses, key=lambda key: (-uses[key], key))
        self._names = dict(zip(ranked, capital_words(), strict=False))
        self.modules = {variable: name for (name, _), variable in self._names.items()}
        """The module that has a variable's value."""

    def _origin(self, export: tuple[str, str]) -> tuple[str, str] | None:
        """The module and the name there of what others may export again; None for what no module has."""
        name, exported = export
        if (m := self._modules.get(name)) is None:
            return None
        if exported in m.again:
            return self._origin(m.again[exported])
        return export if exported in m.exports else None

    def _imports(self, m: Module) -> Iterator[tuple[str, str]]:
        for target, members in m.imports:
            if not isinstance(members, str):
                yield from ((target, name) for name in members.values())
            elif target in self._modules:
                own = self._modules[target]
                yield from ((target, name) for name in (*own.exports, *own.again))

    def exported(self, name: str) -> dict[str, str]:
        """The variables of a module's exports."""
        m = self._modules[name]
        origins = {exported: self._origin((name, exported)) for exported in (*m.exports, *m.again)}
        return {exported: self._names[origin] for exported, origin in origins.items() if origin is not None}

    def object_of(self, name: str) -> str:
        """An expression, the exports of a module by name."""
        return f"{{{','.join(f'{name}:{variable}' for name, variable in self.exported(name).items())}}}"

    def made(self, m: Module) -> list[str]:
        """The variables that a module has values for."""
        return [self._names[m.name, name] for name in m.exports]

    def imported(self, modules: Sequence[Module]) -> list[str]:
        """The variables that modules read and do not make, nor modules before them."""
        inside = {m.name for m in modules}
        origins = {origin for m in modules for origin in map(self._origin, (*self._imports(m), *m.again.values()))}
        return sorted(self._names[origin] for origin in origins if origin is not None and origin[0] not in inside)

    def locals_of(self, m: Module) -> dict[str, str]:
        """The variables that names of imports stand for in a module."""
        found = {}
        for target, members in m.imports:
            if not isinstance(members, str):
                for local, name in members.items():
                    if (origin := self._origin((target, name))) is not None:
                        found[local] = self._names[origin]
                    elif target in self._modules:
                        raise InternalError(f"runtime-js/{m.name}: {target} exports no {name}")
        return found


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
        below = all(t in places or t in STABLE_NAMES for t in m.targets)
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
    m = parse_module("", source)
    return [*m.exports, *m.again]


def parse_module(name: str, text: str) -> Module:
    """Raises InternalError for an unsupported form of import or export."""
    text = strip_types(text)
    imports = tuple((target, space or _members(members)) for members, space, target in _IMPORT.findall(text))
    again = {public: (target, was or public) for was, public, target in _EXPORT_FROM.findall(text)}
    exports = tuple(_EXPORT.findall(text))
    body = _EXPORT.sub("", _EXPORT_FROM.sub("", _IMPORT.sub("", text)))
    if (other := _OTHER.search(body)) is not None and name not in STABLE_NAMES:
        raise InternalError(f"runtime-js/{name}: no way to merge {other[0]!r}")
    return Module(name, imports, exports, again, body.strip())


def _members(text: str) -> dict[str, str]:
    """Names of exports by those that an import gives them."""
    members = (member.split(" as ") for member in text.replace("\n", " ").split(",") if member.strip())
    return {member[-1].strip(): member[0].strip() for member in members}


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
        for target in modules[name].targets:
            visit(target, (*importers, name))
        needed[name] = modules[name]

    visit(root, ())
    return list(needed.values())


def _file(
    file: str,
    own: Sequence[Module],
    needs: Sequence[Module],
    places: Mapping[str, str],
    public: Sequence[str],
    variables: Variables,
) -> str:
    """The modules, with imports from where others lie, and of all other files that `needs` lie in, which come in the
    same round trip; exports are those of a script, and `public`, the variables that other files import."""
    inside = {m.name for m in own}
    outside = variables.imported(own)
    lines = []
    later = [m.name for m in needs if m.name in places and m.name not in inside]
    found = {name: places[variables.modules[name]] for name in outside}
    for other in sorted({*found.values(), *(places[name] for name in later)}):
        names = [name for name in outside if found[name] == other]
        lines.append(f"import {{{','.join(names)}}} from './{other}';\n" if names else f"import './{other}';\n")
    for m in own:
        for target, members in m.imports:
            if target in STABLE_NAMES:
                pattern = f"* as {members}" if isinstance(members, str) else f"{{ {_pattern(members, ' as ')} }}"
                lines.append(f"import {pattern} from './{target}';\n")
    lines.append(scope_of(own, variables, taken=outside))
    names = list(public)
    # model.js has the classes of errors from COMMON.
    for script in (file, *(["errors.js"] if file == COMMON else [])):
        if any(m.name == script for m in own):
            exported = variables.exported(script).items()
            names += [f"{made} as {name}" for name, made in exported if script == file or name[0].isupper()]
    if names:
        lines.append(f"export {{{','.join(names)}}};\n")
    return "".join(lines)


def _pattern(members: Mapping[str, str], between: str) -> str:
    return ", ".join(name if name == local else f"{name}{between}{local}" for local, name in members.items())


def scope_of(
    modules: Iterable[Module],
    variables: Variables,
    stable: Collection[str] = (),
    around: Iterable[Module] = (),
    taken: Iterable[str] = (),
) -> str:
    """The modules one after the other in one scope, where variables hold what they export. Of STABLE_NAMES, whose
    imports are others' to write, `stable` are variables, too. `around` are the modules of the scope around it, and
    `taken` variables from outside of it that are read there."""
    parts, outer = (tuple(_parts(some, variables, stable)) for some in (modules, around))
    return f"{minify_scripts(parts, outer, frozenset(taken))}\n"


def _parts(modules: Iterable[Module], variables: Variables, stable: Collection[str]) -> Iterator[tuple[str, Names]]:
    """Each module's script, with the variables that its names stand for."""
    for m in modules:
        bindings = []
        for target, members in m.imports:
            if target in stable:
                pattern = members if isinstance(members, str) else f"{{{_pattern(members, ':')}}}"
                bindings.append(f"{pattern}={variable_of(target)}")
            elif isinstance(members, str) and target not in STABLE_NAMES:
                bindings.append(f"{members}={variables.object_of(target)}")
        names = dict(zip(m.exports, variables.made(m), strict=True))
        # Classes keep their names, which users see.
        classes = {name: names.pop(name) for name in _CLASS.findall(m.body) if name in names}
        behind = [f"{variable}={name}" for name, variable in classes.items()]
        declared = (f"const {','.join(items)};" if items else "" for items in (bindings, behind))
        source = f"\n{m.body}\n".join(declared)
        names |= variables.locals_of(m) | {variable: variable for variable in classes.values()}
        yield source, tuple(names.items())


def variable_of(name: str) -> str:
    """Holds the exports of a module."""
    return f"${name.removesuffix('.js')}"
