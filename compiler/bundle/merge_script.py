"""The runtime as one classic script, for pages and workers that take no ES modules.

import { x } from './a.js'  ->  a variable of the script, whose value is x
import('./a.js')            ->  a promise of the same
import.meta                 ->  $meta, a parameter: where the script lies, and its own source
a worker's script           ->  the same script, in a worker of that name
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from ..errors import InternalError
from .merge_modules import ALONE, IMPORTED_LATER, Module, Variables, needs_of, parse_module, scope_of, variable_of

RUNTIME = "$runtime"
"""A function of `$meta` (runtime-js/script/create_script_worker.js), whose results are the exports of the modules asked
for; undefined in a worker of the runtime's own, where it does that worker's work."""

_WORKER = re.compile(r"\bWorker\(new URL\('\./(\w+\.js)'")
_META = re.compile(r"\bimport\.meta\b")
_MODULES_ONLY = re.compile(r"\bimport ?\(|\bimport\.meta\b|^(?:import|export)\b", re.MULTILINE)
_ENDS_ELEMENT = re.compile(r"<(?:/script|!--)", re.IGNORECASE)


def merge_script(sources: Mapping[str, str], roots: tuple[str, ...]) -> str:
    """RUNTIME, with the exports of `roots` by variable. InternalError for what only ES modules can do."""
    modules = {n: parse_module(n, text) for n, text in _for_scripts(sources).items() if n.endswith(".js")}
    variables = Variables(modules)
    modules = {n: _at_once(m, variables) for n, m in modules.items()}
    page = {m.name: m for root in roots for m in needs_of(root, modules)}
    workers = sorted({name for m in page.values() for name in _WORKER.findall(m.body)})
    common = {m.name: m for name in workers if name not in ALONE for m in needs_of(name, modules)[:-1]}
    cases = []
    for name in workers:
        own = scope_of((m for m in needs_of(name, modules) if m.name not in common), variables, around=common.values())
        cases.append(f"'webnn-compile ./{name}'(){{\n{own}}},\n")
    others = {m.name: m for root in roots for m in needs_of(root, modules) if m.name not in common}
    read = [variable for root in roots for variable in variables.exported(root).values()]
    page_scope = scope_of(others.values(), variables, around=common.values(), taken=read)
    results = ", ".join(f"{variable_of(root)}: {variables.object_of(root)}" for root in roots)
    return _checked(
        f"function {RUNTIME}($meta) {{\n{scope_of(common.values(), variables)}"
        f"const workers = {{\n__proto__: null,\n{''.join(cases)}}};\n"
        # The name of a page's window is what others have set.
        "const role = typeof document === 'undefined' && workers[globalThis.name];\n"
        # Names in the block may be those of others above.
        f"if (role) return void role();\n{{\n{page_scope}return {{ {results} }};\n}}\n}}\n"
    )


def merge_page(sources: Mapping[str, str], model: str) -> str:
    """The bundle's own page as a classic script, beside which `model`, an expression, has the model's exports."""
    modules = {n: parse_module(n, text) for n, text in sources.items() if n.endswith(".js")}
    page = scope_of(needs_of("page.js", modules), Variables(modules), stable=("model.js",))
    return _checked(f"(() => {{\n'use strict';\nconst {variable_of('model.js')} = {model};\n{page}}})();\n")


def _for_scripts(sources: Mapping[str, str]) -> dict[str, str]:
    return {**sources, "create_worker.js": sources["create_script_worker.js"]}


def _at_once(m: Module, variables: Variables) -> Module:
    """With what it imports later imported as all else."""
    later = IMPORTED_LATER.findall(m.body)
    body = IMPORTED_LATER.sub(lambda call: f"Promise.resolve({variables.object_of(call[1])})", m.body)
    return replace(m, imports=(*m.imports, *((target, {}) for target in later)), body=body)


def _checked(script: str) -> str:
    text = _META.sub("$meta", script)
    if found := _MODULES_ONLY.search(text):
        raise InternalError(f"runtime-js: {found[0]!r} has no place in a classic script")
    if found := _ENDS_ELEMENT.search(text):
        raise InternalError(f"runtime-js: {found[0]!r} has no place in a script inside a page")
    return text
