"""Each operation of ML programs against NumPy: those of a family are outputs of one model, which is compiled once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import coreml_rows
import numpy as np
import pytest
import webnn_compile
from coreml_models import Name, Program
from coreml_rows import Row, X
from webnn_compile.frontends.coreml.operators import OPERATORS

FAMILIES = [
    coreml_rows.elementwise,
    coreml_rows.products,
    coreml_rows.movement,
    coreml_rows.selection,
    coreml_rows.images,
    coreml_rows.recurrent,
    coreml_rows.compression,
]
ELSEWHERE = {"cond", "while_loop"}
"""Operations with blocks, in tests of their own."""


def add(program: Program, row: Row, feeds: dict[str, np.ndarray]) -> list[Name]:
    """Adds the operation of a row. In `values` texts name arguments."""

    def own(argument: Any) -> Any:
        if isinstance(argument, X):
            name = f"in_{len(feeds)}"
            feeds[name] = argument.data
            # Inputs of programs are float32 or int32: others are cast from these.
            dtype = str(argument.data.dtype)
            if dtype in ("float32", "int32"):
                return program.input(name, dtype, argument.data.shape)
            feeds[name] = argument.data.astype(np.int32)
            wide = program.input(name, "int32", argument.data.shape)
            return program.op("cast", [(dtype, argument.data.shape)], x=wide, dtype=dtype)[0]
        if isinstance(argument, list) and argument and isinstance(argument[0], X):
            return [own(a) for a in argument]
        return argument

    arguments = {key: own(a) for key, a in row.arguments.items()}
    if "values" in arguments:
        names = arguments.pop("values")
        arguments["values"] = [arguments[n] for n in names]
        for n in set(names):
            del arguments[n]
    return program.op(row.kind, [(str(w.dtype), w.shape) for w in row.want], **arguments)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_operations(family: Callable[[], list[Row]]) -> None:
    program, feeds, expected = Program(), {}, {}
    for row in family():
        for name, want in zip(add(program, row, feeds), row.want, strict=True):
            program.output(name)
            expected[name] = (row, want)
    results = webnn_compile.compile(program.bytes()).run(feeds)
    wrong = []
    for name, (row, want) in expected.items():
        got = results[name]
        if got.shape != want.shape or got.dtype != want.dtype or not np.allclose(got, want, rtol=2e-5, atol=2e-5):
            wrong.append(f"{row.kind} {row.note}: {got.dtype}{got.shape} for {want.dtype}{want.shape}\n{got}\n{want}")
    assert not wrong, "\n".join(wrong)


def test_every_operation_has_a_row() -> None:
    assert {row.kind for family in FAMILIES for row in family()} | ELSEWHERE == set(OPERATORS)


@pytest.mark.parametrize("x", [(1, 2, 3), (-9, 2, 1)])
def test_branches_and_loops(x: tuple[float, ...]) -> None:
    """Doubles until the sum is 100 or more, where the sum is positive; else negates."""
    program = Program()
    v = program.input("x", "float32", (3,))
    (total,) = program.op("reduce_sum", [("float32", ())], x=v, axes=[0])
    (is_positive,) = program.op("greater", [("bool", ())], x=total, y=0.0)
    (chosen,) = program.op("cond", [("float32", (3,))], pred=is_positive)
    operation = program.block.operations[-1]
    yes, no = program.inner(), program.inner()
    names = yes.op("while_loop", [("float32", (3,)), ("int32", ())], loop_vars=[v, yes.const(0)])
    test, body = yes.inner(), yes.inner()
    a, _ = test.input("a", "float32", (3,)), test.input("n", "int32", ())
    (sum_,) = test.op("reduce_sum", [("float32", ())], x=a, axes=[0])
    test.block.outputs.extend(test.op("less", [("bool", ())], x=sum_, y=100.0))
    b, n = body.input("b", "float32", (3,)), body.input("m", "int32", ())
    body.block.outputs.extend(
        [*body.op("add", [("float32", (3,))], x=b, y=b), *body.op("add", [("int32", ())], x=n, y=1)]
    )
    yes.block.outputs.append(names[0])
    no.block.outputs.extend(no.op("mul", [("float32", (3,))], x=v, y=-1.0))
    assert len(operation.blocks) == 2
    program.output(chosen)
    want = np.array(x, np.float32)
    if want.sum() > 0:
        while want.sum() < 100:
            want = want + want
    else:
        want = -want
    got = webnn_compile.compile(program.bytes()).run({"x": np.array(x, np.float32)})[chosen]
    np.testing.assert_allclose(got, want, rtol=1e-6)
