"""The runtime in few files: same exports, same behaviour, names that do not meet."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from node_programs import parse_modules
from webnn_compile.bundle.link_runtime import read_runtime
from webnn_compile.bundle.merge_modules import COMMON, IMPORTED_LATER, SHARED, merge_modules
from webnn_compile.errors import InternalError

SOURCES = {
    "errors.js": "const name = 'errors';\nexport class Fault extends Error {}\nexport const who = () => name;\n",
    "backends.js": "// All.\nexport const wasm = () => import('./wasm.js').then(({ start }) => start);\n"
    "export const other = () => import('./other.js').then(({ start }) => start);\n"
    "export const third = () => import('./third.js').then(({ start }) => start);\n",
    "wasm.js": "import { who, Fault as F } from './errors.js';\nconst name = 'wasm';\n"
    "export async function start() {\n  return `${name} ${who()} ${new F('x').message}`;\n}\n",
    "other.js": "import { who } from './errors.js';\nimport { deep } from './deep.js';\n"
    "const name = 'other';\nexport const start = () => `${name} ${who()} ${deep()}`;\n",
    "third.js": "import { deep } from './deep.js';\nimport { plain } from './plain.js';\n"
    "export const start = () => `third ${deep()} ${plain}`;\n",
    "deep.js": "import { own } from './own.js';\nconst name = 'deep';\nexport const deep = () => `${name} ${own}`;\n",
    "own.js": "export const own = 'own';\n",
    "plain.js": "export const plain = 'plain';\n",
    "options.js": "import { Fault } from './errors.js';\nconst name = 'options';\n"
    "export function check(ok) {\n  if (!ok) throw new Fault(name);\n}\n",
    "load.js": "import * as backends from './backends.js';\nimport * as workers from './workers.js';\n"
    "import {\n  check,\n} from './options.js';\n"
    "export const load = async (ok, backend = 'wasm') => {\n  check(ok);\n  return (await backends[backend]())();\n};\n"
    "export const worker = workers.wasm;\n",
    "workers.js": "export const wasm = () => new Worker(new URL('./worker.js', import.meta.url));\n"
    "export const thread = () => new Worker(new URL('./thread.js', import.meta.url));\n",
    "worker.js": "import { start } from './wasm.js';\nimport { serve } from './serve.js';\nserve(start);\n",
    "serve.js": "export const serve = (start) => {\n  globalThis.result = start();\n};\n",
    "thread.js": "import { who } from './errors.js';\nglobalThis.thread = who();\n",
    "page.js": "import { who } from './errors.js';\nimport { load } from './model.js';\n"
    "globalThis.page = [who(), load];\n",
    "isolate.js": "self.alone = true;\n",
    "page.css": "body {}\n",
}


def node(folder: Path, script: str) -> str:
    """The output of a module that imports from the merged files."""
    (folder / "main.mjs").write_text(script)
    done = subprocess.run(["node", "main.mjs"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def merged(tmp_path: Path) -> Path:
    for name, text in merge_modules(SOURCES).items():
        (tmp_path / name.replace(".js", ".mjs")).write_text(text.replace(".js'", ".mjs'"))
    return tmp_path


def test_files() -> None:
    made = merge_modules(SOURCES)
    scripts = {"load.js", "wasm.js", "other.js", "third.js", "worker.js", "thread.js", "page.js", "isolate.js"}
    assert set(made) == {COMMON, SHARED, *scripts, "page.css"}
    assert made["isolate.js"] == SOURCES["isolate.js"]
    assert "class Fault" in made[COMMON]
    assert "class Fault" not in made["load.js"]
    assert "'options'" in made[COMMON]
    assert "throw" not in made["load.js"]


def test_a_backend_alone_has_what_no_other_needs() -> None:
    made = merge_modules(SOURCES)
    for text, file in (("'plain'", "third.js"), ("'deep'", SHARED), ("'own'", SHARED), ("'errors'", COMMON)):
        # Threads and the bundle's page have copies.
        assert {name for name in made if text in made[name]} - {"thread.js", "page.js"} == {file}
    one = "export const third = () => import('./third.js').then(({ start }) => start);\n"
    workers = "export const thread = () => new Worker(new URL('./thread.js', import.meta.url));\n"
    made = merge_modules(SOURCES | {"backends.js": one, "workers.js": workers})
    assert SHARED not in made
    assert "'plain'" in made[COMMON]


def test_a_script_names_all_files_that_it_needs() -> None:
    """Files that only its own files import come in the same round trip."""
    made = merge_modules(SOURCES | {"worker.js": SOURCES["worker.js"].replace("wasm.js", "other.js")})
    assert f"import './{SHARED}';\n" in made["worker.js"]
    assert "import {" in made["worker.js"].replace(f"import './{SHARED}';\n", "")
    assert SHARED not in made["wasm.js"]
    assert "import" not in made["thread.js"]


def test_what_names_a_worker_is_not_in_what_workers_import() -> None:
    """Names have hashes of what they import."""
    named = SOURCES["options.js"] + "export const url = () => new URL('./worker.js', import.meta.url);\n"
    made = merge_modules(SOURCES | {"options.js": named})
    assert "./worker.js" in made["load.js"]
    assert "./worker.js" not in made[COMMON]


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node.js to run modules")
def test_merged_modules_do_what_they_did(merged: Path) -> None:
    script = (
        "import { load } from './load.mjs';\nimport { Fault } from './runtime.mjs';\nconsole.log(await load(true));"
        "console.log(await load(true, 'other'), '-', await load(true, 'third'));"
    )
    script += "try { await load(false); } catch (e) { console.log(e.message, e instanceof Fault); }"
    assert node(merged, script) == "wasm errors x\nother errors deep own - third deep own plain\noptions true"
    assert "globalThis.result" in (merged / "worker.mjs").read_text()
    assert node(merged, "import './worker.mjs';\nconsole.log(await globalThis.result);") == "wasm errors x"
    assert node(merged, "import './thread.mjs';\nconsole.log(globalThis.thread);") == "errors"


def test_comments_and_spaces_are_left_out() -> None:
    text = "// First.\n\nexport const load = () => {\n  // Inner.\n  return 1; // one\n};\n"
    text += "export const url = 'http://a'; // it's gone\nexport const odd = '; // kept';\n"
    assert merge_modules(SOURCES | {"load.js": text})["load.js"].splitlines() == [
        "let N=()=>{return 1},I='http://a',R='; // kept';",
        "export {N as load,I as url,R as odd};",
    ]


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node.js to run modules")
def test_imports_are_variables_of_the_file_whatever_hides_their_names(tmp_path: Path) -> None:
    sources = SOURCES | {
        "again.js": "export { own as mine } from './own.js';\nexport { plain } from './plain.js';\n",
        "load.js": "import * as all from './again.js';\nimport { mine as own } from './again.js';\n"
        "import { who } from './errors.js';\nexport { plain as simple } from './again.js';\n"
        "const hidden = (who) => [who, own];\n"
        "export const load = ({ own }) => ({ own, all, who: who(), hidden: hidden(own) });\n"
        "export const same = () => ({ own });\n",
    }
    for name, text in merge_modules(sources).items():
        (tmp_path / name.replace(".js", ".mjs")).write_text(text.replace(".js'", ".mjs'"))
    script = "import { load, same, simple } from './load.mjs';\n"
    script += "console.log(JSON.stringify([load({ own: 1 }), same(), simple]));"
    assert json.loads(node(tmp_path, script)) == [
        {"own": 1, "all": {"mine": "own", "plain": "plain"}, "who": "errors", "hidden": [1, "own"]},
        {"own": "own"},
        "plain",
    ]


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node.js to run modules")
def test_what_is_exported_again_has_a_name_that_nothing_else_has(tmp_path: Path) -> None:
    """Short names of many variables go on with capital letters, which variables of exports have."""
    own = "".join(f"const own{n} = {n};\n" for n in range(60))
    every = ", ".join(f"own{n}" for n in range(60))
    text = f"export {{ plain }} from './plain.js';\n{own}export const load = () => [{every}].length;\n"
    sources = SOURCES | {"load.js": text, "thread.js": "globalThis.thread = 1;\n"}
    sources["load.js"] += "import * as workers from './workers.js';\nimport * as backends from './backends.js';\n"
    sources["load.js"] += "export const all = [workers, backends];\n"
    for name, made in merge_modules(sources).items():
        (tmp_path / name.replace(".js", ".mjs")).write_text(made.replace(".js'", ".mjs'"))
    script = "import { load, plain } from './load.mjs';\nconsole.log(load(), plain);"
    assert node(tmp_path, script) == "60 plain"


@pytest.mark.parametrize(("name", "text"), [("Reader", "class Reader {}\n"), ("Map", "")])
def test_classes_of_one_file_with_one_name_are_refused(name: str, text: str) -> None:
    """A class of the other module, and one of the page, which the other module means."""
    own = f"class {name} {{}}\nexport const own = new {name}();\n"
    deep = f"import {{ own }} from './own.js';\n{text}export const deep = () => [own, new {name}()];\n"
    with pytest.raises(InternalError, match=f"the name of class {name}"):
        merge_modules(SOURCES | {"deep.js": deep, "own.js": own})


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node.js to run modules")
def test_the_entry_keeps_its_place(merged: Path) -> None:
    (merged / "model.mjs").write_text("export const load = 7;\n")
    assert node(merged, "import './page.mjs';\nconsole.log(globalThis.page);") == "[ 'errors', 7 ]"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("options.js", "import './wasm.js';\n", "no way to merge"),
        ("options.js", "export default 1;\n", "no way to merge"),
        ("options.js", "import { lost } from './errors.js';\n", r"options\.js: errors\.js exports no lost"),
        ("wasm.js", "import { load } from './load.js';\nexport const start = load;\n", "form a cycle"),
        ("wasm.js", "import { x } from './lost.js';\nexport const start = x;\n", r"wasm\.js refers to lost\.js"),
    ],
)
def test_what_cannot_be_merged_is_refused(name: str, text: str, message: str) -> None:
    sources = SOURCES | {name: text}
    if "cycle" in message:
        sources["load.js"] = "import { start } from './wasm.js';\nexport const load = start;\n"
    with pytest.raises(InternalError, match=message):
        merge_modules(sources)


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node.js: cannot parse JavaScript")
def test_the_runtime_itself(tmp_path: Path) -> None:
    sources = read_runtime()
    for name in ("load_script.js", "create_script_worker.js"):  # of classic scripts
        del sources[name]
    made = merge_modules(sources)
    scripts = [name for name in made if name.endswith(".js")]
    backends = [f"{part}{backend}.js" for part in ("backend_", "worker_") for backend in ("wasm", "webgl", "webgpu")]
    later = ["check_launches.js", "kept_files.js", "start_threads.js", "take_next.js", "verify_runs.js"]
    others = [*later, "isolate.js", "load.js", "page.js", "thread.js"]
    assert sorted(scripts) == sorted([*others, COMMON, SHARED, *backends])
    for name in scripts:
        (tmp_path / name).write_text(made[name])
    parse_modules(tmp_path, scripts)


def test_a_worker_imports_no_script_later() -> None:
    """Bundlers emit a worker as one chunk, and vite before version 8 rejects code splitting there."""
    made = merge_modules(read_runtime())
    waiting = [name for name in made if name.startswith("worker_")]
    assert len(waiting) == 3
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        assert not IMPORTED_LATER.search(made[name]), name
        waiting += {*re.findall(r"(?:from|import) ?'\./(\w+\.js)'", made[name])} - seen
    assert {COMMON, SHARED} < seen
