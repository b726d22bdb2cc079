"""The oracle for pages: every promise settles, with the right results or with an error that a user can read."""

from __future__ import annotations

import contextlib
import functools
import shutil
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from compiled import PAGES
from fuzz.case import Case, Outcome
from fuzz.draw_page import SILENCE, PageCase, draw_page
from fuzz.page_inputs import AFTER_DISPOSE, EITHER, RIGHT, WRONG
from onnx_models import model, node, random
from playwright.sync_api import Browser, Page, sync_playwright
from server import ISOLATION, Site, serve
from webnn_compile.driver.build import build
from webnn_compile.driver.options import Options
from webnn_compile.rpc.browsers import BrowserMissing, launch

WEIGHTS = {"w": random((1024,), 1), "b": random((1024,), 2)}
PATIENCE = 20_000
"""Milliseconds after which a promise that has not settled counts as one that never does."""
CODES = {
    "DownloadError": {"network", "http", "html", "stalled"},
    "IntegrityError": {"length", "altered"},
    "UnsupportedError": {"abi", "backend", "limits", "simd", "compile", "memory"},
    "WorkerError": {"start", "crash"},
    "RunError": {"trap", "device", "disposed"},
    "DeviceLostError": {"lost"},
}
ARGUMENTS = {"TypeError", "RangeError"}
OF_A_SIGNAL = {"AbortError", "TimeoutError"}
NOT_PLAIN = (
    "undefined (",
    "of undefined",
    "of null",
    "is not a function",
    "is not iterable",
    "is undefined",
    "is null",
    "Cannot convert",
    "can't convert",
    "serialize",
)
"""Parts of messages that the browser makes where a mistake was not looked for."""
SCRIPT = """async ([options, calls, patience]) => {
  globalThis.good = () => new Float32Array(1024).fill(2);
  const plain = (value) => {
    if (value?.output instanceof Float32Array) return { output: [...value.output] };
    return { other: typeof value };
  };
  const settle = (make) => Promise.race([
    (async () => make())().then(plain, (error) => ({
      name: error?.name, code: error?.code, message: String(error?.message),
      typed: !(error?.name in bundle) || error instanceof bundle[error.name],
    })),
    new Promise((resolve) => setTimeout(resolve, patience, { name: 'never' })),
  ]);
  let model;
  const answers = [await settle(async () => { model = await (0, eval)(`bundle.load(${options})`); })];
  answers[0].backend = model?.backend;
  globalThis.model = model;
  for (const call of model ? calls : []) answers.push(await settle(() => (0, eval)(`(${call})`)));
  return answers;
}"""


def check_page(case: Case, phase: Callable[[str], None]) -> Outcome:
    """Opens a page, puts the faults into place, loads, calls; then the same page loads without faults."""
    drawn = draw_page(case)
    phase(f"start {drawn.browser}")
    try:
        browser = _browser(drawn.browser)
    except BrowserMissing as error:
        return Outcome("no browser", details=str(error))
    site = _site(drawn.bundle, drawn.isolated)
    site.faults.clear()
    page = browser.new_page()
    try:
        phase("page")
        _open(page, site)
        site.faults.update(drawn.faults)  # type: ignore[arg-type]
        calls = [c.given[0] for c in drawn.calls] + ["model.run({ input: good() })", drawn.last, AFTER_DISPOSE]
        answers = page.evaluate(SCRIPT, [load_options(drawn), calls, PATIENCE])
        why = judge(drawn, answers)
        if drawn.faults and not why:
            site.faults.clear()
            site.release.set()
            if str(answers[0].get("message")).startswith("the script of the backend"):
                _open(page, site)  # a document remembers a script that it failed to import
            mended = replace(drawn, parts=tuple(p for p in drawn.parts if p.what == "option" and p.wanted == RIGHT))
            why = judge(mended, page.evaluate(SCRIPT, [load_options(mended), calls[-3:], PATIENCE]))
    finally:
        site.release.set()
        page.close()
        site.release = threading.Event()
    loaded = "loads" if answers[0].get("backend") else answers[0].get("name", "?")
    return Outcome("fault" if why else f"{drawn.browser}: {loaded}", *(why or ("",)))


def _open(page: Page, site: Site) -> None:
    page.goto(site.url + "blank.html")
    page.wait_for_selector("html[data-ready]", state="attached")


def load_options(drawn: PageCase) -> str:
    """The argument of `load`, with a short timeout where there are faults: a script that is empty never answers."""
    given = [part.given[0] for part in drawn.options]
    wrong = {part.given[0] for part in drawn.options if part.wanted == WRONG}
    if drawn.faults and not any(g.startswith("timeout") for g in wrong):
        given = [*(g for g in given if not g.startswith("timeout")), f"timeout: {SILENCE}"]
    return f"{{ {', '.join(given)} }}"


def judge(drawn: PageCase, answers: list[dict[str, Any]]) -> tuple[str, str] | None:
    """The fault in the answers to loading, to the calls, and to a last run, `dispose` and a run after it."""
    calls = [c.given[0] for c in drawn.calls]
    names = ["load", *calls, "a last run", drawn.last, "a run after dispose"]
    wanted = [EITHER, *(c.wanted for c in drawn.calls), RIGHT, EITHER, WRONG]
    load = _of_load(drawn, answers[0])
    details = f"{load_options(drawn)}\n{drawn}\n" + "\n".join(
        f"{n}: {_short(a)}" for n, a in zip(names, answers, strict=False)
    )
    if load:
        return f"{drawn.browser}: load {load}", details
    for name, answer, want in list(zip(names, answers, wanted, strict=False))[1:]:
        who = "a call" if name in calls else name
        why = _of_error(answer, arguments=True) if "name" in answer else _of_value(answer, want)
        if not why and "name" in answer and want == RIGHT and not drawn.faults:
            why = f"is refused: {answer['name']}"
        if why:
            return f"{drawn.browser}: {who} {why}", f"{name}\n{details}"
    return None


def _short(answer: dict[str, Any]) -> str:
    return str(answer | ({"output": [*answer["output"][:4], "..."]} if "output" in answer else {}))


def _of_load(drawn: PageCase, answer: dict[str, Any]) -> str:
    wanted = [part.wanted for part in drawn.options]
    if "name" not in answer:
        return "takes an option that is wrong" if WRONG in wanted else ""
    if not drawn.faults and all(w == RIGHT for w in wanted):
        return f"fails without a reason: {answer['name']}"
    return _of_error(answer, arguments=any(w != RIGHT for w in wanted))


def _of_error(answer: dict[str, Any], *, arguments: bool) -> str:
    name, code, message = (answer.get(key) for key in ("name", "code", "message"))
    if name == "never":
        return "never settles"
    if message == "a getter of the page":
        return ""
    if name in CODES:
        if code not in CODES[name] or not answer["typed"]:
            return f"gives a {name} with the code {code}"
    elif not (arguments and (name in ARGUMENTS or name in OF_A_SIGNAL)):
        return f"gives a {name}"
    if not message or len(message) < 10 or any(p in message for p in NOT_PLAIN):
        return f"gives a {name} without a plain message: {message}"
    return ""


def _of_value(answer: dict[str, Any], want: str) -> str:
    """An odd argument may be taken, if the results are those of a good one."""
    if want == RIGHT or "output" in answer:
        expected = np.maximum(2 * WEIGHTS["w"] + WEIGHTS["b"], 0)
        if not np.allclose(answer.get("output", np.nan), expected, rtol=0, atol=1e-5):
            return "gives wrong results"
    return ""


@functools.cache
def _browser(name: str) -> Browser:
    """One for this process, as long as that lives."""
    return _held().enter_context(launch(_playwright(), name))  # type: ignore[arg-type]


@functools.cache
def _playwright() -> Any:
    return _held().enter_context(sync_playwright())


@functools.cache
def _site(bundle: str, isolated: bool) -> Site:
    """A site with a model for one target or for all: output = relu(input * w + b), all of [1024]."""
    folder = Path(_held().enter_context(tempfile.TemporaryDirectory()))
    shutil.copytree(PAGES, folder, dirs_exist_ok=True)
    nodes = [node("Mul", ["input", "w"], ["m"]), node("Add", ["m", "b"], ["a"]), node("Relu", ["a"], ["output"])]
    onnx.save(model(nodes, {"input": [1024]}, ["output"], WEIGHTS), folder / "page.onnx")
    targets = ("wasm",) if bundle == "wasm" else ("webgpu", "webgl", "wasm")
    options = Options(targets=targets, cache=False, processes=1)
    build(folder / "page.onnx", folder / "bundle", options, lambda *_: None, lambda _: None)
    return _held().enter_context(serve(folder, headers=ISOLATION if isolated else None))


@functools.cache
def _held() -> contextlib.ExitStack:
    stack = contextlib.ExitStack()
    Finalize(None, stack.close, exitpriority=1)  # a process of multiprocessing skips what atexit holds
    return stack
