"""The runtime as one classic script, for pages and workers that take no ES modules.

import { x } from './a.js'  ->  a function that runs once, of which x is a result
import.meta                 ->  $meta, a parameter: where the script lies, and its own source
a worker's script           ->  the same script, in a worker of that name
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..errors import InternalError
from .merge_modules import functions_of, needs_of, parse_module, variable_of

RUNTIME = "$runtime"
"""A function of `$meta` (runtime-js/script/create_script_worker.js), whose results are the exports of the modules asked
for; undefined in a worker of the runtime's own, where it does that worker's work."""

_WORKERS = ("worker.js", "thread.js")
_META = re.compile(r"\bimport\.meta\b")
_MODULES_ONLY = re.compile(r"\bimport ?\(|\bimport\.meta\b|^(?:import|export)\b", re.MULTILINE)
_ENDS_ELEMENT = re.compile(r"<(?:/script|!--)", re.IGNORECASE)


def merge_script(sources: Mapping[str, str], roots: tuple[str, ...]) -> str:
    """RUNTIME, with the exports of `roots` by variable. InternalError for what only ES modules can do."""
    modules = {n: parse_module(n, text) for n, text in _for_scripts(sources).items() if n.endswith(".js")}
    common = needs_of(_WORKERS[0], modules)[:-1]
    shared = {m.name for m in common}
    cases = []
    for name in _WORKERS:
        own = functions_of(m for m in needs_of(name, modules) if m.name not in shared)
        cases.append(f"'webnn-compile ./{name}'(){{\n{own}}},\n")
    done = set(shared)
    others = []
    for root in roots:
        needed = [m for m in needs_of(root, modules) if m.name not in done]
        others.append(functions_of(needed))
        done.update(m.name for m in needed)
    return _checked(
        f"function {RUNTIME}($meta) {{\n{functions_of(common)}"
        f"const workers = {{\n__proto__: null,\n{''.join(cases)}}};\n"
        # The name of a page's window is what others have set.
        "const role = typeof document === 'undefined' && workers[globalThis.name];\n"
        f"if (role) return void role();\n{''.join(others)}"
        f"return {{ {', '.join(map(variable_of, roots))} }};\n}}\n"
    )


def merge_page(sources: Mapping[str, str], model: str) -> str:
    """The bundle's own page as a classic script, beside which `model`, an expression, has the model's exports."""
    modules = {n: parse_module(n, text) for n, text in sources.items() if n.endswith(".js")}
    page = functions_of(needs_of("page.js", modules), stable=("model.js",))
    return _checked(f"(() => {{\n'use strict';\nconst {variable_of('model.js')} = {model};\n{page}}})();\n")


def _for_scripts(sources: Mapping[str, str]) -> dict[str, str]:
    return {**sources, "create_worker.js": sources["create_script_worker.js"]}


def _checked(script: str) -> str:
    text = _META.sub("$meta", script)
    if found := _MODULES_ONLY.search(text):
        raise InternalError(f"runtime-js: {found[0]!r} has no place in a classic script")
    if found := _ENDS_ELEMENT.search(text):
        raise InternalError(f"runtime-js: {found[0]!r} has no place in a script inside a page")
    return text
