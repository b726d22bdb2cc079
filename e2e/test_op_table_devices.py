"""Every row of the operator table on the browser's WebGPU and WebGL 2: one page for all, one bundle for each row."""

from __future__ import annotations

import base64
import importlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import PAGES, ROOT
from device_artifacts import tiny_device_artifact
from devices import DEVICES
from effort import ROWS_IN_BROWSERS, effort_of, every_nth_row, row_runs
from harness import open_page
from op_table import Case, check, feeds, make_model, reference
from playwright.sync_api import Browser, Page
from server import Site, serve
from shared_pages import SharedPages
from webnn_compile.bundle import Artifact, render_bundle
from webnn_compile.driver.build_device import DeviceBuild
from webnn_compile.driver.optimise_model import import_graph, optimise_model
from webnn_compile.driver.options import Options
from webnn_compile.driver.targets import TARGETS
from webnn_compile.driver.work import Work
from webnn_compile.frontends.model_inputs import ModelInputs
from webnn_compile.pipeline.weights import Weights
from webnn_compile.system.cache import open_cache

FAMILIES = sorted(p.stem for p in (ROOT / "tests" / "op_cases").glob("*.py") if not p.stem.startswith("_"))
TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def browser(shared_pages: SharedPages) -> Browser:
    return shared_pages.browser("chromium")


@pytest.fixture(scope="module", params=DEVICES)
def backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("rows")
    shutil.copytree(PAGES, made, dirs_exist_ok=True)
    shutil.copy(ROOT / "runtime-js" / "values" / "dtypes.js", made)
    (made / "rows").mkdir()
    return made


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[Site]:
    with serve(folder) as served:
        yield served


@pytest.fixture(scope="module")
def rows_page(browser: Browser, site: Site, folder: Path, backend: str) -> Iterator[Page]:
    add_bundle(folder, tiny_device_artifact(backend), "first.js")
    page = browser.new_page()
    open_page(page, site, "rows.html")
    yield page
    page.close()


def add_bundle(folder: Path, artifact: Artifact, entry: str) -> None:
    """Its files, all named by their content but for the entry."""
    for file in render_bundle(artifact):
        path = folder / "rows" / (entry if file.name == "model.js" else file.name)
        if file.name == "model.js" or not path.exists():
            path.write_bytes(file.data)


def compile_row(case: Case, backend: str) -> Artifact:
    shapes = {name: a.shape for name, a in feeds(case).items()}
    options = Options(ModelInputs(shapes), targets=(backend,), fast_math=False)
    work = Work("row", options, open_cache(), lambda _: None)
    weights, target = Weights(), TARGETS[backend]
    lowered = target.lower(optimise_model(import_graph(make_model(case), work), work), work)
    made = target.bundle(lowered, weights, work)
    assert isinstance(made, DeviceBuild)
    inputs, outputs = (tuple(p.spec for p in ports) for ports in (made.program.inputs, made.program.outputs))
    return Artifact("row", inputs, outputs, weights.blob(), (made.artifact,))


def disagreement(case: Case, answer: dict[str, Any], backend: str) -> str | None:
    """Why the answer is not what the row asks for."""
    if any(a.dtype == np.int64 and (abs(a) > 2**31 - 1).any() for a in feeds(case).values()):
        return None if answer.get("name") == "RangeError" else f"integers beyond int32 were taken: {answer}"
    if "outputs" not in answer:
        return f"{answer['name']}: {answer['message']}"
    if answer["backend"] != backend:
        return f"it ran on {answer['backend']}"
    expected = reference(case)
    found = [
        np.frombuffer(base64.b64decode(output["data"]), want.dtype).reshape(output["shape"])
        for output, want in zip(answer["outputs"], expected, strict=True)
    ]
    try:
        check(found, expected, max(case.tolerance, TOLERANCE))
    except AssertionError as error:
        return " ".join(str(error).split())[:300]
    return None


@pytest.mark.parametrize("family", FAMILIES)
def test_rows(rows_page: Page, folder: Path, backend: str, family: str, pytestconfig: pytest.Config) -> None:
    effort = effort_of(pytestconfig)
    family_cases: list[Case] = importlib.import_module(f"op_cases.{family}").CASES
    here = [case for case in family_cases if every_nth_row(case.id, ROWS_IN_BROWSERS[effort])]
    cases = [case for case in here or family_cases[:1] if row_runs(case.id, backend, effort)]
    rows = []
    for i, case in enumerate(cases):
        entry = f"{backend}_{family}_{i}.js"
        add_bundle(folder, compile_row(case, backend), entry)
        inputs = {name: base64.b64encode(a.tobytes()).decode() for name, a in feeds(case).items()}
        rows.append({"entry": entry, "inputs": inputs})
    answers = rows_page.evaluate("([backend, rows]) => runRows(backend, rows)", [backend, rows])
    wrong = {
        case.id: why
        for case, answer in zip(cases, answers, strict=True)
        if (why := disagreement(case, answer, backend)) is not None
    }
    assert wrong == {}
