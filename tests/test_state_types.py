"""States of each element type, on targets that have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import webnn_compile
from drivers import need_driver
from onnx import TensorProto as T
from onnx import helper
from state_rows import Row
from webnn_compile.errors import UnsupportedError


def of_type(row: Row, code: int) -> Row:
    """A row whose floats are of another type."""

    def retyped(
        specs: Mapping[str, tuple[int, tuple[int | str, ...]]],
    ) -> dict[str, tuple[int, tuple[int | str, ...]]]:
        return {name: (code, shape) for name, (_, shape) in specs.items()}

    def arrays(given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {n: (a * 4).astype(helper.tensor_dtype_to_np_dtype(code)) for n, a in given.items()}

    return replace(
        row,
        inputs=retyped(row.inputs),
        outputs=retyped(row.outputs),
        given=lambda generator, rows: arrays(row.given(generator, rows)),
        constants=arrays(row.constants),
    )


BEHIND = Row(
    "rows, and a sum",
    (
        helper.make_node("Concat", ["p", "x"], ["p2"], name="append", axis=1),
        helper.make_node("Add", ["h", "d"], ["h2"], name="add"),
        helper.make_node("Neg", ["p2"], ["y"], name="neg"),
    ),
    {"x": (T.FLOAT, (2, "S")), "p": (T.FLOAT, (2, "P")), "h": (T.FLOAT, (2, 3))},
    {"y": (T.FLOAT, (2, "N")), "p2": (T.FLOAT, (2, "P + S")), "h2": (T.FLOAT, (2, 3))},
    {"p": "p2", "h": "h2"},
    lambda generator, rows: {"x": generator.standard_normal((2, rows)).astype(np.float32)},
    {"d": np.array([1.5, -2, 0.25], np.float32)},
    {"S": (1, 3), "P": (0, 20)},
)


@pytest.mark.parametrize("target", ["native", "wasm", "webgpu", "webgl"])
@pytest.mark.parametrize("dtype", ["FLOAT16", "DOUBLE", "INT8", "INT32", "INT64"])
def test_states_of_other_types(dtype: str, target: str) -> None:
    """Halves are kept as float32, as values between operators are; what GPUs lack is refused there."""
    need_driver(target)
    row = of_type(BEHIND, getattr(T, dtype))
    if dtype == "DOUBLE" and target.startswith("webg"):
        with pytest.raises(UnsupportedError, match="state 'p' is float64, which GPUs lack; compile for a target of"):
            webnn_compile.compile(row.model, target, dims=row.dims, states=row.pairs)
        return
    model: Any = webnn_compile.compile(row.model, target, dims=row.dims, states=row.pairs)
    for given, results, states in row.runs(5):
        np.testing.assert_array_equal(model.run(given)["y"], results["y"])
        saved = model.save_state()
        for name, want in states.items():
            assert saved[name].dtype == (np.float32 if dtype == "FLOAT16" else want.dtype)
            np.testing.assert_array_equal(saved[name], want)
    model.load_state(saved)
    np.testing.assert_array_equal(model.save_state()["p"], saved["p"])
