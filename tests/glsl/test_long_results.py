"""Results that several launches write into one texture, a part each, at sizes of real models, against onnxruntime."""

from __future__ import annotations

import pytest
import webnn_compile
from drivers import need_driver
from long_results import MODELS
from onnx_models import assert_close, onnxruntime_results


@pytest.mark.parametrize("name", MODELS)
def test_every_part_is_kept(name: str) -> None:
    need_driver("webgl")
    case = MODELS[name]()
    compiled = webnn_compile.compile(case.proto, "webgl", dims=dict(case.dims))
    for given in case.feeds:
        assert_close(compiled.run(given), onnxruntime_results(case.proto, given), 1e-4)
