"""Names with content hashes, and references between the runtime's files that follow them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from node_programs import parse_modules
from webnn_compile.bundle.link_runtime import keep_parts, link_runtime, read_runtime
from webnn_compile.errors import InternalError


def test_a_change_below_renames_all_above() -> None:
    sources = {"a.js": "import './b.js';\n", "b.js": "import './c.js';\n", "c.js": "1;\n", "d.js": "2;\n"}
    before = link_runtime(sources)
    after = link_runtime(sources | {"c.js": "3;\n"})
    assert before["a.js"].data.decode() == f"import './{before['b.js'].name}';\n"
    assert [name for name in sources if before[name].name != after[name].name] == ["a.js", "b.js", "c.js"]


def test_worker_urls_and_stable_names() -> None:
    text = "new Worker(new URL('./b.js', import.meta.url));\nimport './model.js';\n"
    linked = link_runtime({"a.js": text, "b.js": "1;\n"})
    assert linked["a.js"].data.decode() == text.replace("b.js", linked["b.js"].name)


def test_type_comments_are_left_out() -> None:
    source = """// Kept.
/** @typedef {number} N */

/**
 * Doubles.
 * @param {N} x
 */
export const twice = (x) => 2 * /** @type {N} */ (x); // kept
export const half = (x) => /** @type {N} */ (x.y + 1) / (2);
export const first = (x, i) => [/** @type {N} */ (x.of(i)[2 * i]), new /** @type {N} */ (x.kind(i))(i)];
"""
    text = link_runtime({"a.js": source})["a.js"].data.decode()
    plain = "export const twice = (x) => 2 * x; // kept\nexport const half = (x) => (x.y + 1) / (2);\n"
    plain += "export const first = (x, i) => [x.of(i)[2 * i], new (x.kind(i))(i)];\n"
    assert text == "// Kept.\n\n" + plain


def test_cycle_and_missing_module_are_refused() -> None:
    with pytest.raises(InternalError, match=r"imports form a cycle: a\.js -> b\.js -> a\.js"):
        link_runtime({"a.js": "import './b.js';", "b.js": "import './a.js';"})
    with pytest.raises(InternalError, match=r"a\.js refers to b\.js, which does not exist"):
        link_runtime({"a.js": "import './b.js';"})


def test_linked_runtime_refers_only_to_what_is_there() -> None:
    linked = link_runtime(read_runtime())
    names = {file.name for file in linked.values()} | {"model.js"}
    for file in linked.values():
        assert set(re.findall(r"'\./([^']+)'", file.data.decode())) <= names


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node.js: cannot parse JavaScript")
def test_linked_scripts_parse(tmp_path: Path) -> None:
    scripts = [file for file in link_runtime(read_runtime()).values() if file.name.endswith(".js")]
    for file in scripts:
        (tmp_path / file.name).write_bytes(file.data)
        assert b"/**" not in file.data
    parse_modules(tmp_path, [file.name for file in scripts])


def test_sections_are_left_out_where_they_are_not_needed() -> None:
    """Sections inside others, too."""
    sources = read_runtime()
    with_states, without = (keep_parts(sources, ["wasm"], ["finite", *parts]) for parts in (["states"], []))
    marks = re.compile(r"^ *// </?states>", re.MULTILINE)
    named = {name for name, text in sources.items() if marks.search(text)}
    assert {"load.js", "start_wasm.js", "errors.js", "model.d.ts", "verify_runs.js"} <= named
    for name in named:
        assert not marks.search(with_states[name] + without[name])
        assert len(without[name]) < len(with_states[name]) < len(sources[name])
    assert "StateFullError" in with_states["errors.js"]
    assert "StateFullError" not in without["errors.js"]
