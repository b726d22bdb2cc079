"""How the compiler in a page starts, and how its calls end: aborts, limits, lost files, workers that die."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from digits import MODEL as DIGITS
from hostile_models import HOSTILE
from onnx import TensorProto, helper, numpy_helper
from page_compiler import CSP, HEADERS, choose, compile_chosen, open_compiler_page
from playwright.sync_api import Page
from server import Fault, Site, serve


def test_an_abort_ends_what_is_under_way_and_the_next_call_starts_anew(opened: Page) -> None:
    choose(opened, DIGITS)
    ended = opened.evaluate(
        """async () => {
          globalThis.compiler ??= await openCompiler();
          await compiler.compile(chosen());
          const stop = new AbortController();
          const phases = [];
          const onProgress = ({ phase }) => { phases.push(phase); if (phase === 'optimise') stop.abort('enough'); };
          const aborted = compiler.compile(chosen(), { signal: stop.signal, onProgress }).catch((reason) => reason);
          const next = compiler.compile(chosen());
          return [await aborted, phases, (await next).files.size > 0];
        }"""
    )
    assert ended == ["enough", ["import", "optimise"], True]


def test_limits_end_the_worker_and_the_next_call_starts_anew(opened: Page, small: Path, tmp_path: Path) -> None:
    """A model of products no two of which are alike, minutes of work."""
    count = 1500
    sizes = [4 + i * 37 % 61 for i in range(count + 1)]
    nodes = [helper.make_node("MatMul", [f"v{i}", f"w{i}"], [f"v{i + 1}"]) for i in range(count)]
    ones = [np.ones((sizes[i], sizes[i + 1]), np.float32) for i in range(count)]
    weights = [numpy_helper.from_array(array, f"w{i}") for i, array in enumerate(ones)]
    x = helper.make_tensor_value_info("v0", TensorProto.FLOAT, [3, sizes[0]])
    y = helper.make_tensor_value_info(f"v{count}", TensorProto.FLOAT, [3, sizes[-1]])
    onnx.save(helper.make_model(helper.make_graph(nodes, "hostile", [x], [y], weights)), tmp_path / "hostile.onnx")
    choose(opened, tmp_path / "hostile.onnx")
    opened.evaluate("async () => { globalThis.compiler ??= await openCompiler(); }")
    start = time.monotonic()
    late = compile_chosen(opened, {"maxSeconds": 1})
    assert time.monotonic() - start < 3
    assert (late["name"], late["kind"]) == ("CompileError", "input")
    assert re.match(r"maxSeconds 1: compiling took longer; it was at \w+: allow more", late["message"])
    memory = compile_chosen(opened, {"compileMemory": 1_000_000})
    assert memory["kind"] == "input"
    assert "--compile-memory allows 976.6 KiB" in memory["message"]
    choose(opened, small)
    assert compile_chosen(opened, {"targets": ["webgl"], "maxSeconds": 600})["value"] > 3


def with_text(model: Path, size: int, out: Path) -> Path:
    """The model with a description of so many bytes, which no estimate of its constants counts."""
    proto = onnx.load(model)
    proto.doc_string = "x" * size
    onnx.save(proto, out)
    return out


def test_memory_is_given_back_by_ending_the_worker(opened: Page, small: Path, tmp_path: Path) -> None:
    choose(opened, with_text(small, 200 * 2**20, tmp_path / "text.onnx"))
    more = compile_chosen(opened, {"targets": ["webgl"], "compileMemory": 10**6})
    assert (more["name"], more["kind"]) == ("CompileError", "input")
    expected = r"--compile-memory 976\.6 KiB: compiling took \d{3}(\.\d)? MiB, and 512 MiB more .*; it was at import:"
    assert re.match(expected, more["message"])
    choose(opened, small)
    heap = compile_chosen(opened, {"targets": ["webgl"], "compileMemory": 10**6}, "[made.report.heapBytes]")
    assert heap["value"][0] < 2**27


@pytest.fixture(scope="module")
def narrow(site_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The compiler without half a GiB of its own, so that small models exceed a limit."""
    folder = tmp_path_factory.mktemp("narrow") / "site"
    shutil.copytree(site_folder, folder)
    worker = folder / "compile/worker.js"
    script = worker.read_text()
    assert script.count("started + growth") == 1
    worker.write_text(script.replace("started + growth", "started + growth - 2 ** 29"))
    with serve(folder, headers=HEADERS) as served:
        yield served


@pytest.mark.fresh_page
def test_the_limit_of_memory_holds_for_every_part_of_the_compiler(page: Page, narrow: Site, tmp_path: Path) -> None:
    """Functions that multiply, in code that is not Python's, and loops whose iterations are added one by one, so deep
    that the interpreter does not survive the error."""
    open_compiler_page(page, narrow)
    for name in ("inlined", "unrolled"):
        onnx.save(HOSTILE[name](), tmp_path / f"{name}.onnx")
        choose(page, tmp_path / f"{name}.onnx")
        ended = compile_chosen(page, {"compileMemory": 8 * 2**20})
        assert (ended["name"], ended["kind"]) == ("CompileError", "input"), ended
        assert re.match("--compile-memory .*: compiling took ", ended["message"])


def test_an_aborted_or_closed_call_ends_whenever_that_is(opened: Page, small: Path) -> None:
    choose(opened, small)
    ended = opened.evaluate(
        """async () => {
          const own = await openCompiler();
          const order = [];
          const stop = new AbortController();
          const first = own.compile(chosen()).then(() => order.push('compiled'));
          const waits = own.compile(chosen(), { signal: stop.signal }).catch((reason) => order.push(reason));
          stop.abort('no longer wanted');
          await Promise.all([first, waits]);
          const found = [];
          for (let turns = 0; turns < 4; turns++) {
            const soon = new AbortController();
            const call = outcome(own.describe(chosen(), { signal: soon.signal }).catch((reason) => reason));
            for (let i = 0; i < turns; i++) await null;
            soon.abort('soon');
            found.push((await call).value);
          }
          for (let turns = 0; turns < 4; turns++) {
            const short = await openCompiler();
            const call = outcome(short.describe(chosen()));
            for (let i = 0; i < turns; i++) await null;
            short.close();
            found.push((await call).message);
          }
          own.close();
          return [order, found];
        }"""
    )
    assert ended == [["no longer wanted", "compiled"], ["soon"] * 4 + ["the compiler was closed"] * 4]


def test_a_worker_that_dies_is_started_again_and_says_so(opened: Page, small: Path) -> None:
    choose(opened, small)
    ended = opened.evaluate(
        """async () => {
          const Own = Worker;
          const workers = [];
          globalThis.Worker = class extends Own { constructor(...given) { super(...given); workers.push(this); } };
          const restarts = [];
          const own = await openCompiler({ onRestart: (reason) => restarts.push(reason) });
          globalThis.Worker = Own;
          const lost = outcome(own.compile(chosen(), {
            onProgress: () => workers[0].dispatchEvent(new ErrorEvent('error', { message: 'out of memory' })),
          }));
          const next = own.compile(chosen());
          const found = [await lost, restarts, (await next).files.size > 0];
          own.close();
          return [...found, await outcome(own.compile(chosen()))];
        }"""
    )
    died = "the compiler's worker died: out of memory; it is started again"
    assert ended == [
        {"name": "CompileError", "kind": "crash", "message": died},
        ["out of memory"],
        True,
        {"name": "CompileError", "kind": "crash", "message": "the compiler was closed"},
    ]


@pytest.mark.parametrize(
    ("file", "fault", "message"),
    [
        ("*/files.json", "missing", "the server answered 404"),
        ("*/files.json", "html", "is no list of files"),
        ("*/pyodide.asm.wasm", "missing", "the server answered 404"),
        ("*/pyodide.asm.wasm", "html", "is not the file that was built"),
        ("*/python_stdlib.zip", "truncate", "is not the file that was built"),
        ("*/compiler-*.zip", "alter", "is not the file that was built"),
        ("*/worker.js", "missing", "the compiler does not start"),
    ],
)
def test_a_compiler_that_does_not_arrive_is_an_error(
    page: Page, site: Site, file: str, fault: Fault, message: str
) -> None:
    page.goto(f"{site.url}compile.html")
    page.wait_for_selector("html[data-ready]", state="attached")
    site.faults[file] = fault
    try:
        ended = page.evaluate("() => outcome(openCompiler())")
    finally:
        site.faults.clear()
    assert (ended["name"], ended["kind"]) == ("CompileError", "start")
    assert message in ended["message"]
    assert "again" not in ended["message"]
    assert "value" in page.evaluate("() => outcome(openCompiler().then(() => true))")


def test_modules_of_weights_in_fewer_bits_that_do_not_arrive(page: Page, site: Site, small: Path) -> None:
    """They are fetched with the first call whose options name such weights, and again after a failure."""
    page.goto(f"{site.url}compile.html")
    page.wait_for_selector("html[data-ready]", state="attached")
    choose(page, small)
    site.faults["quantizer-*.zip"] = "missing"
    try:
        assert "value" in compile_chosen(page)
        ended = compile_chosen(page, {"weights": "int8"})
    finally:
        site.faults.clear()
    assert (ended["name"], ended["kind"]) == ("CompileError", "start")
    message = "the modules of weights in fewer bits cannot be had: the server answered 404"
    assert ended["message"].startswith(message)
    assert "value" in compile_chosen(page, {"weights": "int8"})


@pytest.mark.fresh_page
def test_it_starts_where_trusted_types_are_required(page: Page, site_folder: Path, small: Path) -> None:
    policy = f"{CSP}; require-trusted-types-for 'script'; trusted-types webnn-compile"
    with serve(site_folder, headers={"Content-Security-Policy": policy}) as strict:
        page.goto(f"{strict.url}compile.html")
        page.wait_for_selector("html[data-ready]", state="attached")
        choose(page, small)
        assert "value" in compile_chosen(page)
