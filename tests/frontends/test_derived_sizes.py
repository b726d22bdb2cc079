"""Sizes that need no option, since they follow from others."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import webnn_compile
from onnx_models import Array, assert_close, onnxruntime_results, random
from webnn_compile.errors import InputError, UnsupportedError
from webnn_compile.frontends.model_inputs import DimLike, model_inputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.ir.sizes import shown

OPEN = "total"
"""The size that no option states."""

DIMS: dict[str, DimLike] = {"batch": 1, "past": (0, 9), "seq": (1, 4)}
SCORES = "(float[batch, seq, 3] q, float[batch, past, 3] k, {mask}) => (y)"
ALL = """
    all = Concat <axis = 1> (k, q)
    turned = Transpose <perm = [0, 2, 1]> (all)
    scores = MatMul (q, turned)
"""
COUNT = """
    sizes = Shape <start = 1, end = 2> (all)
    size = Squeeze (sizes)
    positions = Range (zero, size, step)
"""
NUMBERS = "int64 zero = {0}, int64 step = {1}, int64[1] first = {0}, int64[1] second = {1}, int64[1] flat = {-1}"

MODELS = {
    "added to scores": (
        f"float[batch, seq, {OPEN}] m",
        f"{ALL} y = Add (scores, m)",
    ),
    "cut to what scores have": (
        f"float[batch, seq, {OPEN}] m",
        f"{ALL} sizes = Shape <start = 2> (scores) cut = Slice (m, first, sizes, two) y = Add (scores, cut)",
    ),
    "gathered by positions": (
        f"float[batch, {OPEN}] m",
        f"{ALL} {COUNT} g = Gather <axis = 1> (m, positions) u = Unsqueeze (g, second) y = Add (scores, u)",
    ),
    "gathered by positions and the number of the batch": (
        f"float[batch, {OPEN}] m",
        f"""{ALL} {COUNT}
            rows = Shape <end = 1> (q)
            shape = Concat <axis = 0> (rows, sizes)
            last = Expand (positions, shape)
            count = Squeeze (rows)
            numbers = Range (zero, count, step)
            column = Unsqueeze (numbers, second)
            row = Expand (column, shape)
            a = Unsqueeze (row, two)
            b = Unsqueeze (last, two)
            indices = Concat <axis = -1> (a, b)
            g = GatherND (m, indices)
            u = Unsqueeze (g, second)
            y = Add (scores, u)""",
    ),
    "gathered from all rows behind one another": (
        f"float[batch, {OPEN}] m",
        f"""{ALL} {COUNT}
            rows = Shape <end = 1> (q)
            count = Squeeze (rows)
            row = Range (zero, count, step)
            length = Shape <start = 1> (m)
            start = Mul (row, length)
            a = Unsqueeze (start, second)
            indices = Add (a, positions)
            one = Reshape (m, flat)
            g = Gather (one, indices)
            u = Unsqueeze (g, second)
            y = Add (scores, u)""",
    ),
    "read at the first place, too": (
        f"float[batch, {OPEN}] m",
        f"""{ALL} {COUNT}
            g = Gather <axis = 1> (m, positions)
            u = Unsqueeze (g, second)
            one = Gather <axis = 1> (m, first)
            v = Unsqueeze (one, second)
            s = Add (scores, u)
            y = Add (s, v)""",
    ),
}  # fmt: skip


def parsed(mask: str, body: str) -> onnx.ModelProto:
    head = f'<ir_version: 10, opset_import: ["" : 18]> g {SCORES.replace("{mask}", mask)}'
    return onnx.parser.parse_model(f"{head} <{NUMBERS}, int64[1] two = {{2}}> {{ {body} }}")


def declared(proto: onnx.ModelProto, text: str) -> onnx.ModelProto:
    """The model with `text` in place of the open size."""
    for d in (d for i in proto.graph.input for d in i.type.tensor_type.shape.dim if d.dim_param == OPEN):
        d.dim_param = text
    return proto


def feeds(proto: onnx.ModelProto, **sizes: int) -> dict[str, Array]:
    given = {v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in proto.graph.input}
    return {
        name: random([sizes[d] if isinstance(d, str) else d for d in shape], i)
        for i, (name, shape) in enumerate(given.items())
    }


def shape_of(proto: onnx.ModelProto, name: str, **dims: DimLike) -> str:
    graph = import_model(proto, model_inputs(dims=dims))
    return next(shown(v.shape) for v in graph.inputs if v.name == name)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("batch", [1, (1, 3)])
def test_a_mask_is_as_long_as_what_it_masks(name: str, batch: DimLike) -> None:
    proto = parsed(*MODELS[name])
    shape = shape_of(proto, "m", **DIMS | {"batch": batch})
    assert shape.endswith("past + seq]"), shape
    compiled = webnn_compile.compile(proto, dims=DIMS | {"batch": batch})
    for past, seq in ((0, 1), (9, 4), (3, 2)):
        given = feeds(proto, batch=1 if batch == 1 else 2, past=past, seq=seq, total=past + seq)
        assert_close(compiled.run(given), onnxruntime_results(proto, given))
    with pytest.raises(InputError, match=r"input 'm': expected float32\[.*past \+ seq\].* \(.*past is 3 by input 'k'"):
        compiled.run(feeds(proto, batch=1, past=3, seq=2, total=6))


def test_sizes_that_are_fixed_fix_it() -> None:
    assert shape_of(parsed(*MODELS["gathered by positions"]), "m", batch=2, past=5, seq=1) == "[2, 6]"


def test_an_option_comes_before_what_follows() -> None:
    proto = parsed(*MODELS["gathered by positions"])
    assert shape_of(proto, "m", **DIMS, total=(1, 20)) == "[1, total]"
    with pytest.raises(UnsupportedError, match="broadcast only where past \\+ seq and total are equal"):
        import_model(parsed(*MODELS["added to scores"]), model_inputs(dims={**DIMS, "total": (1, 20)}))


def test_a_size_from_which_nothing_follows_stays_free() -> None:
    proto = parsed(f"float[batch, {OPEN}] m", f"{ALL} s = ReduceSum (m) y = Add (scores, s)")
    with pytest.raises(InputError, match=r"free dimensions:\n  m: declared \[batch, total\]\n"):
        import_model(proto, model_inputs(dims=DIMS))
    assert shape_of(proto, "m", **DIMS, total=(1, 20)) == "[1, total]"


def test_a_number_follows() -> None:
    proto = parsed(f"float[batch, 1, {OPEN}] m", f"{ALL} s = Add (q, m) y = Add (s, s)")
    assert shape_of(proto, "m", **DIMS) == "[1, 1, 3]"


def test_sizes_follow_one_after_another() -> None:
    proto = parsed("float[batch, seq, one] m, float[batch, two] n", f"{ALL} a = Add (scores, m) y = Add (a, n)")
    assert shape_of(proto, "m", **DIMS) == "[1, seq, past + seq]"
    assert shape_of(proto, "n", **DIMS) == "[1, past + seq]"


def test_a_declared_size_that_contradicts_the_model_is_not_taken() -> None:
    """Exporters that trace one new token declare a mask of past + 1."""
    proto = declared(parsed(*MODELS["added to scores"]), "past + 1")
    assert shape_of(proto, "m", **DIMS) == "[1, seq, past + seq]"
    assert shape_of(proto, "m", **DIMS | {"seq": 1}) == "[1, 1, past + 1]"
    compiled = webnn_compile.compile(proto, dims=DIMS)
    given = {"q": random((1, 2, 3)), "k": random((1, 3, 3), 1), "m": random((1, 2, 5), 2)}
    assert_close(compiled.run(given), onnxruntime_results(declared(proto, "past_and_seq"), given))


def test_a_declared_size_that_fits_is_taken() -> None:
    proto = declared(parsed(*MODELS["gathered by positions"]), "past + 7")
    assert shape_of(proto, "m", **DIMS) == "[1, past + 7]"
    half = declared(parsed(f"float[batch, {OPEN}] m", f"{ALL} s = ReduceSum (m) y = Add (scores, s)"), "frames / 2")
    assert shape_of(half, "m", **DIMS, frames=30) == "[1, 15]"


def test_an_error_that_no_size_mends_is_that_of_the_model_as_declared() -> None:
    proto = declared(parsed(f"float[batch, seq, {OPEN}] m", f"{ALL} s = Add (scores, m) y = Add (s, q)"), "past + 1")
    with pytest.raises(UnsupportedError, match="past \\+ seq and past \\+ 1 are equal"):
        import_model(proto, model_inputs(dims=DIMS))


def test_a_table_that_is_too_short_for_some_sizes() -> None:
    """A slice of it ends where the table does, so ranges are needed with which none is cut."""
    proto = parsed(
        "float[9, 3] table",
        f"""{ALL} sizes = Shape <start = 1, end = 2> (all) begin = Shape <start = 1, end = 2> (k)
            rows = Slice (table, begin, sizes, first) y = Add (q, rows)""",
    )
    with pytest.raises(UnsupportedError, match=r"; give ranges by --dim with which past \+ seq is at most 9\n"):
        import_model(proto, model_inputs(dims=DIMS))
    compiled = webnn_compile.compile(proto, dims=DIMS | {"past": (0, 5)})
    given = feeds(proto, batch=1, past=5, seq=4)
    assert_close(compiled.run(given), onnxruntime_results(proto, given))


def test_a_size_follows_from_one_branch() -> None:
    proto = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["" : 18]>
        g (bool c, float[length] x, float[others] z) => (y) {
          y = If (c) <then_branch = a () => (t) { t = Add (x, z) }, else_branch = b () => (e) { e = Exp (x) }>
        }"""
    )
    compiled = webnn_compile.compile(proto, dims={"length": (1, 5)})
    x, z = random((3,)), random((3,), 1)
    for c in (True, False):
        given: dict[str, Array] = {"c": np.array(c), "x": x, "z": z}
        assert_close(compiled.run(given), onnxruntime_results(proto, given))
