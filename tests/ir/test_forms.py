"""Forms of results: made with the loops of a kernel, kept until a schedule, verified against the loops."""

from __future__ import annotations

from dataclasses import replace

import onnx
import pytest
from convolutions import Case, always
from nests import matrix_product, pointwise, sum_of_rows
from onnx import TensorProto
from onnx_models import model, node, random
from webnn_compile.costs import CPU_COSTS
from webnn_compile.dtypes import F32, F64, I8, I16, I32, U8
from webnn_compile.errors import InternalError
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.forms import Contraction, Form, Map, Reduction, Transform, form_of
from webnn_compile.ir.nodes import Buffer, Const, Load, Var
from webnn_compile.ir.printer import print_kernel
from webnn_compile.ir.verify import verify_kernel
from webnn_compile.passes.narrow_types import narrow_types
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.pipeline.lowered import Lowered
from webnn_compile.schedule.schedule_cpu import schedule_cpu
from webnn_compile.schedule.schedule_simt import schedule_simt
from webnn_compile.target import WASM_PLAIN, GpuTarget
from webnn_compile.tensor.winograd_matrices import winograd

FLOATS = Contraction(F32, F32, F32)
ZERO_POINTS = ["x", "w", "x_zero", "w_zero"]
CONSTANTS = {"w": random((8, 4, 3, 3)), "m": random((8, 5)), "s": random((3, 8))}
INTEGERS = {
    "w": random((8, 5)).astype("int8"),
    "x_zero": random(()).astype("uint8"),
    "w_zero": random((5,)).astype("int8"),
}


def lowered(proto: onnx.ModelProto) -> Lowered:
    made = lower_model(run_graph_passes(import_model(proto)))
    for k in made.kernels:
        verify_kernel(k, "build_kernel")
    return made


def one(op: str, *names: str, shape: tuple[int, ...] = (3, 8), **attributes: object) -> onnx.ModelProto:
    weights = {name: CONSTANTS[name] for name in names}
    return model([node(op, ["x", *names], ["y"], **attributes)], {"x": shape}, ["y"], weights, opset=13)


def whole_numbers() -> onnx.ModelProto:
    return model([node("MatMulInteger", ZERO_POINTS, ["y"])], {"x": (3, 8)}, ["y"], INTEGERS, dtype=TensorProto.UINT8)


@pytest.mark.parametrize(
    ("proto", "form"),
    [
        (one("Add", "s"), Map()),
        (one("ReduceSum"), Reduction("+", F32)),
        (one("ReduceMax"), Reduction("max_nan", F32)),
        (one("MatMul", "m"), FLOATS),
        (one("Conv", "w", shape=(1, 4, 6, 5)), FLOATS),
        (whole_numbers(), Contraction(I16, I8, I32)),
        (model([node("MatMul", ["x", "x"], ["y"])], {"x": (4, 4)}, ["y"], dtype=TensorProto.DOUBLE),
         Contraction(F64, F64, F64)),
    ],
)  # fmt: skip
def test_the_form_of_an_operator(proto: onnx.ModelProto, form: Form) -> None:
    assert (form,) in [k.forms for k in lowered(proto).kernels]


def test_an_operand_less_a_zero_point_is_computed() -> None:
    i, j, k, zero = Var("i", 2), Var("j", 3), Var("k", 4), Buffer("zero", (2,), I32)
    a, b = Load(Buffer("a", (2, 4), I16), (i, k)).cast(I32), Load(Buffer("b", (4, 3), I8), (k, j)).cast(I32)
    forms = [form_of("+", (i, j), (k,), x * b, Const(0)) for x in (a, a - Load(zero, (i,)))]
    assert forms == [Contraction(I16, I8, I32), Contraction(I32, I8, I32)]


def test_device_types() -> None:
    kernel = next(k for k in lowered(whole_numbers()).kernels if isinstance(k.forms[0], Contraction))
    narrowed = narrow_types(kernel, {}).kernel
    assert narrowed.forms == (Contraction(I32, I32, I32),)
    verify_kernel(narrowed, "narrow_types")


@pytest.mark.parametrize("rows", [4, 13])
def test_transforms_and_products_of_bands(rows: int) -> None:
    """A kernel of bands has the form of each of its results; the last band, of one row, is a transform, too."""
    proto = Case((1, 16, rows, 16), 16).proto
    costs = replace(CPU_COSTS, band=5_000, fewest_tiles=1)
    made = lower_model(run_graph_passes(import_model(proto)), choose=always((2, 2)), costs=costs)
    (kernel,) = (k for k in made.kernels if k.outputs == 3)
    verify_kernel(kernel, "build_kernel")
    tile = winograd(2)
    inputs, results = (tuple(tuple(map(float, line)) for line in m) for m in (tile.input, tile.output))
    assert kernel.forms == (Transform(inputs, inputs), FLOATS, Transform(results, results))


def test_a_matrix_has_as_many_rows_as_results() -> None:
    made = lower_model(
        run_graph_passes(import_model(Case((1, 4, 5, 3), 8).proto)), choose=always((4, 4)), costs=CPU_COSTS
    )
    forms = [f for k in made.kernels for f in k.forms if isinstance(f, Transform)]
    assert [(len(f.rows), len(f.columns)) for f in forms] == [(6, 6), (4, 3)]


def test_a_schedule_takes_forms_off() -> None:
    for nest in (pointwise(3, 8), matrix_product(4, 8, 8), sum_of_rows(3, 64)):
        for made in (schedule_cpu(nest.kernel, WASM_PLAIN), schedule_simt(nest.kernel, GpuTarget("t"))):
            assert made.forms == ()
            verify_kernel(made, "schedule_cpu")
        with pytest.raises(InternalError, match=f"kernel {nest.kernel.name} has 0 forms for 1 results"):
            schedule_cpu(replace(nest.kernel, forms=()), WASM_PLAIN)


def test_a_kernel_prints_its_forms() -> None:
    tile = winograd(4)
    rows = tuple(tuple(map(float, line)) for line in tile.output)
    forms = (Map(), Reduction("max", I32), Contraction(U8, I8, I32), Transform(rows, rows))
    text = print_kernel(replace(pointwise(3).kernel, forms=forms))
    assert text.splitlines()[0].partition(" -> ")[2] == (
        "1 by map, reduction by max in int32, contraction of uint8 and int8 in int32, "
        "transform by matrices of 4 x 6 and 4 x 6"
    )


MATRIX = ((1.0, 2.0), (3.0, 4.0))


@pytest.mark.parametrize("form", [Map(), Reduction("+", F32), Contraction(F32, I8, F32), Transform(MATRIX, MATRIX)])
def test_a_form_of_other_loops(form: Form) -> None:
    kernel = matrix_product(4, 8, 8).kernel
    verify_kernel(kernel, "build_kernel")
    with pytest.raises(InternalError, match=r"is a .*, but its loops are a contraction of float32"):
        verify_kernel(replace(kernel, forms=(form,)), "build_kernel")
    with pytest.raises(InternalError, match="2 forms for 1 results"):
        verify_kernel(replace(kernel, forms=(FLOATS, form)), "build_kernel")
    with pytest.raises(InternalError, match="forms of a naive kernel are left"):
        verify_kernel(kernel, "schedule_cpu")


def test_a_form_of_other_matrices() -> None:
    proto = Case((1, 4, 5, 5), 8).proto
    made = lower_model(run_graph_passes(import_model(proto)), choose=always((2, 2)))
    kernel = next(k for k in made.kernels if isinstance(k.forms[0], Transform))
    verify_kernel(kernel, "build_kernel")
    with pytest.raises(InternalError, match="is a transform by matrices of 2 x 2 and 2 x 2, but its loops"):
        verify_kernel(replace(kernel, forms=(Transform(MATRIX, MATRIX),)), "build_kernel")
