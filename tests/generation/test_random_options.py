"""SampleToken of random logits and options, those at the ends of their ranges among them, against the reference."""

from __future__ import annotations

import numpy as np
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import Array
from op_table import Case, make_model
from webnn_compile.generation.ports import BY_COUNT, BY_MASS, COUNTS, DRAWS, OPTIONS
from webnn_compile.generation.sample import Sampling, sample

LEAST_MARGIN = 1e-4
NUMBERS = {
    "float32": (np.nan, np.inf, -np.inf, 3e38, 1e-40, -0.0),
    "float16": (np.nan, np.inf, -np.inf, 6e4, 1e-7, -0.0),
}


def model(size: int, kind: str, target: str) -> webnn_compile.CompiledModel:
    inputs = (np.zeros(size, kind), np.zeros(4, np.float32), np.zeros(3, np.int32), np.zeros(size, np.uint8))
    results = (np.zeros(1, np.int32), np.zeros(1, np.float32))
    row = Case(
        "any",
        "SampleToken",
        (*inputs, *[np.array(True)] * 3),
        {},
        1,
        outputs=2,
        expected=results,
        domain="webnn_compile",
    )
    return webnn_compile.compile(make_model(row), target)


def logits(draw: np.random.Generator, size: int, kind: str) -> Array:
    """Numbers of few digits or many, some with others among them, few or most."""
    x = (draw.normal(size=size) * draw.choice([0.01, 1, 3, 30])).astype(kind)
    if draw.random() < 0.3:
        x = np.round(x)
    for number in NUMBERS[kind]:
        if draw.random() < 0.12:
            x[draw.random(size) < draw.choice([0.05, 0.9])] = number
    return x


def options(draw: np.random.Generator, size: int) -> Sampling:
    return Sampling(
        float(draw.choice([0, 1e-30, 0.3, 1, 2, 50, 1e30])),
        int(draw.choice([0, 1, 2, 5, 40, size, 2 * size])),
        float(draw.choice([1, 0.9, 0.5, 0.1, 1e-9, 0])),
        float(draw.choice([0, 0, 0.05, 0.5, 1])),
        float(draw.choice([1, 1, 1.2, 0.8])),
        int(draw.integers(0, 2**32)),
    )


@pytest.mark.parametrize(("target", "sizes"), [("native", 8), ("wasm", 4), ("webgpu", 2), ("webgl", 2)])
def test_random_options(target: str, sizes: int) -> None:
    need_driver(target)
    draw, clear = np.random.default_rng(7), 0
    for size in map(int, draw.integers(1, 700, sizes)):
        kind = str(draw.choice(["float32", "float16"]))
        compiled = model(size, kind, target)
        for _ in range(40):
            x, seen = logits(draw, size, kind), (draw.random(size) < 0.3).astype(np.uint8)
            sampling, position = options(draw, size), int(draw.integers(0, 2**20))
            want = sample(x, seen, sampling, position)
            if want.margin < LEAST_MARGIN:
                continue
            clear += 1
            given = sampling.inputs(position)
            flags = (given[DRAWS], given[BY_COUNT], given[BY_MASS])
            arrays = (x, given[OPTIONS], given[COUNTS], seen, *flags)
            got = compiled.run({f"x{i}": a for i, a in enumerate(arrays)})
            assert got["y0"].tolist() == [want.token], sampling
            np.testing.assert_allclose(got["y1"], [want.logprob], rtol=1e-4, atol=1e-4)
    assert clear > 30 * sizes
