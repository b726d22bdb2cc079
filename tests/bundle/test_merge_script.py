"""The runtime as one classic script: modules by their imports, workers by their names."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest
from test_merge_modules import SOURCES as MODULES
from webnn_compile.bundle.link_runtime import read_runtime
from webnn_compile.bundle.merge_script import merge_page, merge_script
from webnn_compile.errors import InternalError

SOURCES = MODULES | {
    "create_worker.js": "export const createWorker = () => new Worker(import.meta.url);\n",
    "create_script_worker.js": "export const createWorker = () => [import.meta.url, import.meta.source()];\n",
    "load.js": MODULES["load.js"].replace("workers.wasm", "createWorker")
    + "import { createWorker } from './create_worker.js';\n",
}

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="no Node.js to run scripts")


def run(script: str, result: str, world: str = "") -> Any:
    """The value of an expression in a global scope with a classic script, as data; `world` are properties of that."""
    program = (
        f"const world = {{ console, Error, {world} }}; world.globalThis = world; require('vm').createContext(world);\n"
        f"const value = require('vm').runInContext({json.dumps(script)} + ';' + {json.dumps(result)}, world);\n"
        "Promise.resolve(value).then((v) => console.log(JSON.stringify(v ?? null)));"
    )
    done = subprocess.run(["node", "-"], input=program, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_node
def test_modules_do_what_they_did() -> None:
    script = merge_script(SOURCES, ("load.js", "errors.js"))
    page = "document: {}, Promise, name: 'webnn-compile ./worker.js'"  # a page may have any name
    assert run(script, "$runtime({}).$load.load(true)", page) == "wasm errors x"
    assert run(script, "$runtime({}).$errors.who()", page) == "errors"
    assert run(script, "Object.keys($runtime({}))", page) == ["$load", "$errors"]


@needs_node
def test_where_the_script_lies_takes_the_place_of_import_meta() -> None:
    script = merge_script(SOURCES, ("load.js",))
    meta = "{ url: 'here', source: () => 'text' }"
    assert run(script, f"$runtime({meta}).$load.worker()", "document: {}") == ["here", "text"]


@needs_node
@pytest.mark.parametrize(("name", "result"), [("worker", "globalThis.result"), ("thread", "globalThis.thread")])
def test_a_worker_is_what_its_name_says(name: str, result: str) -> None:
    script = merge_script(SOURCES, ("load.js",))
    world = f"name: 'webnn-compile ./{name}.js'"
    assert run(script, f"String($runtime({{}})) + typeof {result}", world) == (
        "undefinedobject" if name == "worker" else "undefinedstring"
    )
    assert run(script, "typeof $runtime({})", "name: 'constructor'") == "object"


@needs_node
def test_the_page_finds_the_model() -> None:
    script = merge_page(SOURCES, "tiny")
    assert run(f"var tiny = {{ load: 7 }};{script}", "globalThis.page") == ["errors", 7]


@needs_node
def test_results_are_not_hidden_by_names_of_the_page() -> None:
    """Modules of workers, too, lie around the block of the page, where short names of many go on with capitals."""
    own = "".join(f"const own{n} = {n};\n" for n in range(60))
    every = ", ".join(f"own{n}" for n in range(60))
    text = f"{SOURCES['load.js']}{own}export const count = () => [{every}].length;\n"
    errors = f"{SOURCES['errors.js']}export const kind = 'kind';\n"
    script = merge_script(SOURCES | {"load.js": text, "errors.js": errors}, ("load.js", "errors.js"))
    result = "(({ $load, $errors }) => [$load.count(), $errors.who(), $errors.kind])($runtime({}))"
    assert run(script, result, "document: {}") == [60, "errors", "kind"]


def test_a_class_around_the_page_has_a_name_of_its_own() -> None:
    wasm = SOURCES["wasm.js"] + "class Map {}\nexport const map = new Map();\n"
    load = SOURCES["load.js"] + "export const other = new Map();\n"
    with pytest.raises(InternalError, match="the name of class Map"):
        merge_script(SOURCES | {"wasm.js": wasm, "load.js": load}, ("load.js",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("export const load = () => import(name);\n", r"'import\(' has no place in a classic script"),
        ("export const load = '</script>';\n", r"'</script' has no place in a script inside a page"),
        ("export const load = '<!--';\n", "'<!--' has no place"),
    ],
)
def test_what_a_classic_script_cannot_be_is_refused(text: str, message: str) -> None:
    with pytest.raises(InternalError, match=message):
        merge_script(SOURCES | {"load.js": text}, ("load.js",))


@needs_node
def test_the_runtime_itself() -> None:
    sources = read_runtime()
    script = merge_script(sources, ("load_script.js", "errors.js"))
    assert "/**" not in script
    page = "document: {}, URL, AbortController, TextDecoder, WebAssembly"
    assert run(script, "Object.keys($runtime({}).$load_script)", page) == ["load", "cacheOf"]
    subprocess.run(["node", "--check", "-"], input=merge_page(sources, "tiny"), text=True, check=True)
