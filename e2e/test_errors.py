"""Every way to fail has its own plain error, in a worker and without one."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import open_page, outcome
from playwright.sync_api import Page
from server import Fault, Site, serve

FILE_FAULTS: list[tuple[str, Fault, str, str, str]] = [
    ("weights-*.bin", "truncate", "IntegrityError", "length", "is not the file that was compiled: expected"),
    ("weights-*.bin", "extend", "IntegrityError", "length", "bytes, got more"),
    ("weights-*.bin", "alter", "IntegrityError", "altered", "its sha256 is not"),
    ("weights-*.bin", "html", "DownloadError", "html", "the server sent HTML for http"),
    ("weights-*.bin", "missing", "DownloadError", "http", "the server answered 404 for http"),
    ("weights-*.bin", "refuse", "DownloadError", "network", "could not fetch http"),
    ("weights-*.bin", "break", "DownloadError", "network", "http"),
    ("relaxed-*.wasm", "truncate", "IntegrityError", "length", "is not the file that was compiled: expected"),
    ("relaxed-*.wasm", "alter", "IntegrityError", "altered", "its sha256 is not"),
    ("relaxed-*.wasm", "html", "DownloadError", "html", "the server sent HTML for http"),
    ("relaxed-*.wasm", "missing", "DownloadError", "http", "the server answered 404 for http"),
]


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_faulty_files(page: Page, site: Site, worker: bool) -> None:
    open_page(page, site)
    script = """
      const promise = bundle.load({ worker: argument });
      await promise.catch((error) => { if (!(error instanceof bundle[error.name])) throw Error('wrong class'); });
      return promise;
    """
    for file, fault, name, code, message in FILE_FAULTS:
        site.faults = {file: fault}
        result = outcome(page, script, worker)
        assert (file, fault, result.get("name"), result.get("code")) == (file, fault, name, code), result
        assert message in result["message"]
        assert file.split("*")[0] in result["message"]
    site.faults = {}
    assert "value" in outcome(page, "return (await bundle.load({ worker: argument })).backend", worker)


def test_no_simd(page: Page, site: Site) -> None:
    open_page(page, site)
    page.evaluate("() => { WebAssembly.validate = () => false }")
    assert outcome(page, "return bundle.load()") == {
        "name": "UnsupportedError",
        "code": "simd",
        "message": "this browser lacks WebAssembly SIMD, which the model needs (the bundle has: relaxed, plain); "
        "Chrome 91, Firefox 89, Safari 16.4 and later have it",
    }


def test_no_memory(page: Page, site: Site) -> None:
    open_page(page, site)
    page.evaluate("() => { WebAssembly.Memory = function () { throw new RangeError('too much') } }")
    result = outcome(page, "return bundle.load({ worker: false })")
    assert (result["name"], result["code"]) == ("UnsupportedError", "memory")
    assert result["message"] == (
        "the 1 MiB of memory that the model needs could not be allocated: RangeError: too much"
    )


def test_outside_a_secure_context_lengths_are_checked_and_info_says_so(page: Page, site: Site) -> None:
    open_page(page, site)
    page.evaluate("() => Object.defineProperty(crypto, 'subtle', { value: undefined })")
    result = outcome(page, "return (await bundle.load({ worker: false })).info().integrity")
    assert result["value"].startswith("length only: crypto.subtle is missing")
    site.faults["weights-*.bin"] = "truncate"
    assert outcome(page, "return bundle.load({ worker: false })")["code"] == "length"


def test_unknown_backend(page: Page, site: Site) -> None:
    open_page(page, site)
    assert outcome(page, "return bundle.load({ backend: 'webgpu' })") == {
        "name": "UnsupportedError",
        "code": "backend",
        "message": "this bundle has no backend \"webgpu\"; it has: wasm, or 'auto'",
    }


def test_csp_without_wasm(page: Page, tiny_folder: Path) -> None:
    policy = "default-src 'self'; script-src 'self'; worker-src 'self'"
    with serve(tiny_folder / "bundle", headers={"Content-Security-Policy": policy}) as site:
        page.goto(site.url)
        page.get_by_text("UnsupportedError: the browser refused to compile").wait_for()
        assert "'wasm-unsafe-eval'" in page.locator("#status").inner_text()


@pytest.mark.parametrize("fault", ["missing", "html"])
def test_worker_script_not_there(page: Page, site: Site, fault: Fault) -> None:
    open_page(page, site)
    site.faults["worker_*.js"] = fault
    result = outcome(page, "return bundle.load()")
    assert (result["name"], result["code"]) == ("WorkerError", "start")
    assert "is its script beside model.js" in result["message"]


def test_worker_forbidden_by_csp(page: Page, tiny_folder: Path) -> None:
    policy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'none'"
    with serve(tiny_folder / "bundle", headers={"Content-Security-Policy": policy}) as site:
        page.goto(site.url)
        page.get_by_text("WorkerError: the worker did not start").wait_for()
        assert "worker-src 'self'" in page.locator("#status").inner_text()


def test_dying_worker_rejects_pending_and_later_runs(page: Page, site: Site) -> None:
    open_page(page, site)
    script = """
      const Original = Worker;
      let worker;
      globalThis.Worker = class extends Original {
        constructor(...all) { super(...all); worker = this; }
      };
      const model = await bundle.load();
      worker.postMessage(null);  // no message of ours: its handler throws
      const run = () => outcome(model.run({ input: new Float32Array(1024) }));
      const pending = await run();
      return [pending, await run()];
    """
    for result in outcome(page, script)["value"]:
        assert (result["name"], result["code"]) == ("WorkerError", "crash")
        assert "load the model again" in result["message"]


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_trap_in_the_compiled_code(page: Page, site: Site, worker: bool) -> None:
    open_page(page, site)
    script = """
      const model = await bundle.load({ worker: argument });
      const run = (value) => outcome(model.run({ input: new Float32Array(1024).fill(value) }));
      return [await run(NaN), await run(1), await outcome(model.profile({ input: new Float32Array(1024) }))];
    """
    for result in outcome(page, script, worker)["value"]:
        assert (result["name"], result["code"]) == ("RunError", "trap")
        assert "the compiled model stopped" in result["message"]


def test_trap_while_loading(page: Page, site: Site) -> None:
    open_page(page, site)
    script = """
      const { instantiate } = WebAssembly;
      WebAssembly.instantiate = async (...given) => {
        const { exports } = await instantiate(...given);
        return { exports: { ...exports, run: () => { throw new WebAssembly.RuntimeError('unreachable'); } } };
      };
      return bundle.load({ worker: false, warmup: true });
    """
    message = "the compiled model stopped: unreachable; load it again"
    assert outcome(page, script) == {"name": "RunError", "code": "trap", "message": message}


BAD_INPUTS = [
    ("{}", "TypeError", 'input "input" is missing; expected EXPECTED'),
    ("undefined", "TypeError", "run expects one object with an array for each input name, got undefined"),
    ("new Float32Array(1024)", "TypeError", "run expects one object"),
    ("{ input: new Float32Array(1024), x: 1 }", "TypeError", 'the model has no input "x"; inputs: "input": EXPECTED'),
    ("{ input: new Float64Array(1024) }", "TypeError", 'input "input": expected EXPECTED, got Float64Array'),
    ("{ input: [1, 2] }", "TypeError", 'input "input": expected EXPECTED, got a plain array'),
    ("new Map()", "TypeError", "run expects one object with an array for each input name, got Map"),
    (
        "{ input: { data: new Float32Array(1024), shap: [1, 1024] } }",
        "TypeError",
        'input "input" has no property "shap"; it has: data, shape',
    ),
    ("{ input: null }", "TypeError", 'input "input": expected EXPECTED, got null'),
    ("{ input: new Float32Array(5) }", "RangeError", 'input "input": expected EXPECTED, got length 5'),
    (
        "{ input: { [Symbol.toStringTag]: 'Float32Array', length: 1024, buffer: new ArrayBuffer(4096) } }",
        "TypeError",
        'input "input": expected EXPECTED, got an object',
    ),
]


def test_wrong_inputs_say_what_was_expected(page: Page, site: Site) -> None:
    open_page(page, site)
    calls = ", ".join(f"await outcome(model.run({inputs}))" for inputs, _, _ in BAD_INPUTS)
    results = outcome(page, f"const model = await bundle.load(); return [{calls}]")["value"]
    for (_, name, message), result in zip(BAD_INPUTS, results, strict=True):
        assert result["name"] == name
        expected = message.replace("EXPECTED", "a Float32Array of length 1024 (float32, shape [1, 1024])")
        assert result["message"].startswith(expected)


BAD_OPTIONS = [
    ("{ threads: 0 }", "RangeError", "threads: expected 'auto' or a whole number from 1, got 0"),
    ("{ worker: 'no' }", "TypeError", "worker: expected true or false, got string"),
    ("{ onProgress: 1 }", "TypeError", "onProgress: expected a function, got number"),
    (
        "{ bakend: 'wasm' }",
        "TypeError",
        'load has no option "bakend"; it has: backend, threads, worker, warmup, device, onProgress, signal, '
        "timeout, cache, verify, canaries, onCanaries",
    ),
    ("'./bundle/'", "TypeError", "load expects an object of options, got string"),
    ("null", "TypeError", "load expects an object of options, got null"),
    ("{ signal: new AbortController() }", "TypeError", "signal: expected an AbortSignal, got AbortController"),
    ("{ signal: null }", "TypeError", "signal: expected an AbortSignal, got null"),
    (
        "{ signal: { [Symbol.toStringTag]: 'AbortSignal' } }",
        "TypeError",
        "signal: expected an AbortSignal, got an object",
    ),
    ("{ timeout: -1 }", "RangeError", "timeout: expected milliseconds from 0, got -1"),
    ("{ timeout: NaN }", "RangeError", "timeout: expected milliseconds from 0, got NaN"),
    ("{ timeout: '30 s' }", "RangeError", "timeout: expected milliseconds from 0, got 30 s"),
]


def test_wrong_options(page: Page, site: Site) -> None:
    open_page(page, site)
    calls = ", ".join(f"await outcome(bundle.load({options}))" for options, _, _ in BAD_OPTIONS)
    results = outcome(page, f"return [{calls}]")["value"]
    assert [(r["name"], r["message"]) for r in results] == [(name, message) for _, name, message in BAD_OPTIONS]


BAD_RUN_OPTIONS = [
    ("run", "null", "TypeError", "run expects an object of options, got null"),
    ("run", "5", "TypeError", "run expects an object of options, got number"),
    ("run", "{ outputs: 'array' }", "TypeError", 'run has no option "outputs"; it has: output, into, signal'),
    ("run", "{ into: 5 }", "TypeError", "into expects an object of outputs, got number"),
    ("run", "{ into: [] }", "TypeError", "into expects an object of outputs, got a plain array"),
    ("run", "{ into: new Map() }", "TypeError", "into expects an object of outputs, got Map"),
    ("run", "[]", "TypeError", "run expects an object of options, got a plain array"),
    ("run", "{ into: { y: 0 } }", "TypeError", 'into has no output "y"; it has: output'),
    ("run", "{ into: { output: [] } }", "TypeError", 'into: output "output" needs a Float32Array, got Array'),
    (
        "run",
        "{ into: { output: new Float32Array(1023) } }",
        "RangeError",
        'into: output "output" has 1024 elements, and the array has room for 1023',
    ),
    ("run", "{ signal: 1 }", "TypeError", "signal: expected an AbortSignal, got number"),
    ("profile", "null", "TypeError", "profile expects an object of options, got null"),
    ("profile", "{ output: 'array' }", "TypeError", 'profile has no option "output"; it has: signal, repeat'),
    ("profile", "{ signal: {} }", "TypeError", "signal: expected an AbortSignal, got an object"),
    ("profile", "{ repeat: 0 }", "RangeError", "repeat: expected a whole number from 1, got 0"),
]


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_wrong_options_of_a_run(page: Page, site: Site, worker: bool) -> None:
    open_page(page, site)
    calls = ", ".join(
        f"await outcome(model.{method}({{ input: new Float32Array(1024) }}, {options}))"
        for method, options, _, _ in BAD_RUN_OPTIONS
    )
    script = f"const model = await bundle.load({{ worker: argument }}); return [{calls}]"
    results = outcome(page, script, worker)["value"]
    assert [(r["name"], r["message"]) for r in results] == [(name, message) for *_, name, message in BAD_RUN_OPTIONS]
