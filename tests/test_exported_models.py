"""Networks as PyTorch exports them, with sizes that vary, on every target against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
import webnn_compile
from drivers import need_driver
from effort import effort_of, network_runs
from exported import FOLDER, LEAST, MODELS, MOST, NEXT, ODD, dims, feeds, path_of, results
from onnx_models import assert_close

TOLERANCE = 1e-4


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.function is test_agrees_with_onnxruntime_at_every_size:
        effort = effort_of(metafunc.config)
        runs = [(m, t) for m in MODELS for t in webnn_compile.TARGETS if network_runs(m, t, effort)]
        metafunc.parametrize(("model", "target"), runs, ids=[f"{m}-{t}" for m, t in runs])


def test_agrees_with_onnxruntime_at_every_size(model: str, target: str) -> None:
    need_driver(target)
    compiled = webnn_compile.compile(path_of(model), target, dims=dims(model), states=())
    for sizes in (LEAST, ODD, NEXT, MOST, ODD):
        given = feeds(model, sizes)
        assert_close(compiled.run(given), results(model, given), TOLERANCE)


@pytest.mark.parametrize("model", [m for m in MODELS if m.startswith("cached")])
def test_a_cache_handed_back_replaces_the_tokens_before(model: str) -> None:
    compiled = webnn_compile.compile(path_of(model), dims=dims(model), states=())
    given = feeds(model, LEAST | {"length": 12})
    whole = compiled.run(given)
    cache = {name: a for name, a in given.items() if name.startswith("past")}
    for i in range(12):
        made = compiled.run({"tokens": given["tokens"][:, i : i + 1], "states": given["states"], **cache})
        np.testing.assert_allclose(made["logits"][:, 0], whole["logits"][:, i], rtol=0, atol=1e-4)
        cache = {name: made[name.replace("past", "present")] for name in cache}
    for name, a in cache.items():
        np.testing.assert_allclose(a, whole[name.replace("past", "present")], rtol=0, atol=1e-5)


def test_files_are_small() -> None:
    files = list(FOLDER.glob("*.onnx"))
    assert all(f.stat().st_size < 200_000 for f in files)
    assert sum(f.stat().st_size for f in files) < 1_000_000
