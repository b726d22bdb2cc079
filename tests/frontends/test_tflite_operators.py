"""Each operator of TFLite computes what LiteRT does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import webnn_compile
from tflite_models import Result, Row, file_of, interpreted, litert, with_newer_codes, written
from tflite_rows import ROWS
from webnn_compile.errors import UnsupportedError
from webnn_compile.frontends.tflite.convert import convert
from webnn_compile.frontends.tflite.operators import OPERATORS
from webnn_compile.frontends.tflite.read_model import read_model


@pytest.mark.parametrize("row", ROWS, ids=[r.id for r in ROWS])
def test_operator(row: Row) -> None:
    file = file_of(row)
    expected = interpreted(file, row.feeds)
    model = webnn_compile.compile(file)
    results = list(model.run(row.named).values())
    assert len(results) == len(expected)
    for got, want in zip(results, expected, strict=True):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        error = np.abs(got.astype(np.float64) - want.astype(np.float64)).max(initial=0)
        assert error <= row.tolerance * max(
            1.0, float(np.abs(want.astype(np.float64)).max(initial=0)) if row.tolerance < 1 else 1
        )


@pytest.mark.parametrize("row", ROWS, ids=[r.id for r in ROWS])
def test_operators_by_the_newer_field_of_their_codes(row: Row) -> None:
    file = file_of(row)
    assert convert(read_model(with_newer_codes(file))) == convert(read_model(file))


def test_results_of_operators_by_the_newer_field_of_their_codes() -> None:
    """The product is that of LiteRT, not a sum (operator 0)."""
    row = next(row for row in ROWS if row.kind == "MUL")
    file = with_newer_codes(file_of(row))
    (want,), (got,) = interpreted(file, row.feeds), webnn_compile.compile(file).run(row.named).values()
    np.testing.assert_array_equal(got, want)


def test_merged_directions() -> None:
    """The results of both, one after the other; LiteRT's own differ from run to run."""
    apart = next(row for row in ROWS if row.kind == "BIDIRECTIONAL_SEQUENCE_LSTM")
    merged = replace(apart, fields={**apart.fields, "mergeOutputs": True}, results=(Result(),))
    (got,) = webnn_compile.compile(file_of(merged)).run(merged.named).values()
    both = interpreted(file_of(apart), apart.feeds)
    np.testing.assert_allclose(got, np.concatenate(both, axis=2), atol=1e-5)


@pytest.mark.parametrize("target", ["native", "wasm"])
@pytest.mark.parametrize("kind", ["RNN", "SVDF"])
def test_steps_go_on_from_the_run_before(kind: str, target: str) -> None:
    """As those of an interpreter that is not reset. Without states they are inputs and outputs."""
    row = next(row for row in ROWS if row.kind == kind)
    interpreter = litert.Interpreter(model_content=file_of(row))
    interpreter.allocate_tensors()
    (given,), (made,) = interpreter.get_input_details(), interpreter.get_output_details()
    model = webnn_compile.compile(file_of(row), target=target)
    for number in range(6):
        data = np.random.default_rng(number).normal(size=given["shape"]).astype(np.float32)
        interpreter.set_tensor(given["index"], data)
        interpreter.invoke()
        (got,) = model.run({"operand_0": data}).values()
        np.testing.assert_allclose(got, interpreter.get_tensor(made["index"]), atol=1e-5)
    apart = webnn_compile.compile(file_of(row), states=())
    assert [spec.name for spec in apart.program.inputs] == ["operand_0", "past.operand_4"]


@pytest.mark.parametrize(
    ("kind", "changed", "message"),
    [
        ("LSTM", {"kernelType": 0}, "its kernel type FULL is not supported: convert the model with steps of"),
        ("SVDF", {"rank": 0}, "6 filters of rank 0: the rank has to be a divisor of their number"),
        ("SVDF", {"rank": 4}, "6 filters of rank 4: the rank has to be a divisor of their number"),
    ],
)
def test_steps_that_are_refused(kind: str, changed: dict[str, int], message: str) -> None:
    row = next(row for row in ROWS if row.kind == kind)
    with pytest.raises(UnsupportedError, match=message):
        webnn_compile.compile(written(replace(row, fields={**row.fields, **changed}), [r.shape for r in row.results]))


def test_every_operator_has_a_row() -> None:
    """Operators with subgraphs, and of sparse constants, are in test_tflite_files."""
    assert {row.kind for row in ROWS} == OPERATORS.keys() - {"IF", "WHILE", "DENSIFY"}
